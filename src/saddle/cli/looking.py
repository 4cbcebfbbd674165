"""Verbs that look before anything is trained: at the tasks, at this machine, at one task, and at
the physics.
"""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from saddle.cli.environment import EnvironmentOptions
from saddle.cli.options import TASK, Engine, Json, Surroundings, Tasks, flag


def tasks(as_json: Json = False) -> None:
    """List the tasks: sizes, episode length, what is constrained, the published cost limits.

    Those of installed packages are loaded for that, and listed with where they come from.
    """
    from saddle.verbs.tasks import tasks

    tasks(as_json)


def doctor(as_json: Json = False) -> None:
    """Say what this machine can do, and what to install for the rest."""
    from saddle.verbs.doctor import doctor

    doctor(as_json)


def check(
    task: Annotated[Positional[str], TASK],
    environment: Surroundings = EnvironmentOptions(),
    quick: Annotated[bool, flag("Do not measure how long a frontier takes here.")] = False,
    as_json: Json = False,
) -> int:
    """Look at a task before training on it: sizes, costs, seeds, speed, and what a random policy
    meets.

    A line for each thing that would make a training wrong or slow says what to do. Exits with 1
    where it would be wrong.
    """
    from saddle.verbs.check import check

    return check(environment.applied_to(task), quick, as_json)


def parity(
    golden: Annotated[
        Path | None,
        arg(
            metavar="DIR",
            help="Folder of reference transitions.",
            help_behavior_hint="(default: Saddle's own)",
        ),
    ] = None,
    tasks: Tasks = (),
    precision: Annotated[
        Literal["float32", "float64"], arg(help="Arithmetic of the replay.")
    ] = "float32",
    as_json: Json = False,
    markdown: Annotated[bool, flag("Print the tables of docs/explanation/parity.md.")] = False,
    engine: Engine = None,
) -> int:
    """Replay reference transitions step by step and report the errors. Exits with 1 when a
    tolerance is missed.
    """
    from saddle.verbs.parity import parity

    return parity(golden, sum(tasks, ()), precision, as_json, markdown, engine)
