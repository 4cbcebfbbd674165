"""The command `saddle`: one small function per verb, no logic.

Everything heavy (JAX, MuJoCo, matplotlib) is imported inside the verbs, so that help and mistakes answer at once.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import FlagCreatePairsOff, Positional, UseAppendAction, arg
from tyro.extras import SubcommandApp

import saddle
from saddle.cli_study import imports, study
from saddle.errors import SaddleError

DESCRIPTION = """Constrained reinforcement-learning tasks, fast and faithful to Safety-Gymnasium.

'saddle VERB --help' explains one verb, 'saddle --version' prints the version."""

Json = Annotated[bool, arg(name="json", help="Print JSON instead of a table.", help_behavior_hint="")]
Tasks = Annotated[  # one tuple per --task, so that both `--task A B` and `--task A --task B` mean A and B
    UseAppendAction[tuple[tuple[str, ...], ...]],
    arg(name="task", metavar="TASK ...", help="Only these.", help_behavior_hint="(default: all)"),
]

Engine = Annotated[
    Literal["native", "mjx-jax", "mjx-warp"] | None,
    arg(
        metavar="ENGINE",
        help="Of the velocity tasks: native (MuJoCo C), mjx-jax or mjx-warp. Alone, it means only these tasks.",
        help_behavior_hint="(default: the best one here)",
    ),
]

app = SubcommandApp()
bench = SubcommandApp()


@app.command
def tasks(as_json: Json = False) -> None:
    """List the tasks: sizes, episode length, what is constrained, the study's cost limits."""
    from saddle import tasks_table

    tasks_table.show(as_json)


@app.command
def doctor(as_json: Json = False) -> None:
    """Say what this machine can do, and what to install for the rest."""
    from saddle import doctor

    doctor.show(as_json)


@app.command
def play(
    task: Annotated[Positional[str], arg(metavar="TASK", help="Name of the task, as 'saddle tasks' lists it.")],
    policy: Annotated[
        str | None,
        arg(
            metavar="POLICY",
            help="'random', 'scripted', or the path of a policy.",
            help_behavior_hint="(default: scripted; random for velocity tasks)",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        arg(metavar="FILE", help="Picture to write: .png, .gif or .mp4.", help_behavior_hint="(default: TASK.png)"),
    ] = None,
    seed: Annotated[int, arg(metavar="N", help="Seed of the world and of a random policy.")] = 0,
    steps: Annotated[
        int | None, arg(metavar="N", help="Env steps to play.", help_behavior_hint="(default: a whole episode)")
    ] = None,
    lidar: Annotated[bool, arg(help="Draw the lidar readings around the robot.", help_behavior_hint="")] = False,
) -> None:
    """Play one episode and draw it: a point task from above, with the robot's way; a velocity task from the side."""
    from saddle.play import play

    play(task, policy, out or Path(f"{task}.png"), seed, steps, lidar)


@app.command
def parity(
    golden: Annotated[
        Path | None,
        arg(metavar="DIR", help="Folder of reference transitions.", help_behavior_hint="(default: the repository's)"),
    ] = None,
    tasks: Tasks = (),
    precision: Annotated[Literal["float32", "float64"], arg(help="Arithmetic of the replay.")] = "float32",
    as_json: Json = False,
    markdown: Annotated[bool, arg(help="Print the tables of docs/parity.md.", help_behavior_hint="")] = False,
    engine: Engine = None,
) -> int:
    """Replay reference transitions step by step and report the errors. Exits with 1 when a tolerance is missed."""
    from saddle.parity import run

    return 0 if run(golden, sum(tasks, ()), precision, as_json, markdown, engine) else 1


@bench.command(name="tasks")
def bench_tasks(
    tasks: Tasks = (),
    worlds: Annotated[int, arg(metavar="N", help="Worlds stepped at once.")] = 512,
    as_json: Json = False,
    engine: Engine = None,
) -> None:
    """Measure env steps per second of each task, against MuJoCo C stepping the same worlds on one core."""
    from saddle.bench.tasks import run

    run(sum(tasks, ()), worlds, as_json, engine)


StudyDir = Annotated[Positional[Path], arg(metavar="STUDY", help="Directory of a study.")]
Limits = Annotated[  # one tuple per --limit, as with --task
    UseAppendAction[tuple[tuple[float, ...], ...]],
    arg(
        name="limit",
        metavar="D ...",
        help="Cost limits to look at.",
        help_behavior_hint="(default: those of the runs, and the study's)",
    ),
]
Published = Annotated[
    bool,
    arg(help="Smooth over linear lambda with frac 0.5, and take running maxima, as published.", help_behavior_hint=""),
]


@app.command
def analyze(study: StudyDir, limits: Limits = (), published: Published = False, as_json: Json = False) -> None:
    """Say what a study shows: lambda*, frontier, regimes, recommended limits, margins, and rules compared."""
    from saddle.analysis import verbs

    verbs.analyze(study, sum(limits, ()), published, as_json)


@app.command(name="compare-paper")
def compare_paper(study: StudyDir, as_json: Json = False) -> None:
    """Put a study's comparison of rules beside the published one, with a z-score per cell."""
    from saddle.analysis import verbs

    verbs.compare_paper(study, as_json)


@app.command
def figures(
    study: StudyDir,
    out: Annotated[Path, arg(metavar="DIR", help="Folder to write to; made if need be.")],
    limits: Limits = (),
    published: Published = False,
) -> None:
    """Draw every figure of a study (PDF and PNG) and write its tables (LaTeX, Markdown, CSV)."""
    from saddle.report.write import write

    write(study, out, sum(limits, ()), published)


app.command(bench, name="bench", help="Measure speed on this machine.")
app.command(study, name="study", help="Plan, run and look after studies.")
app.command(imports, name="import", help="Make a study of logs that other software wrote.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 good, 1 a check failed, 2 bad input, 130 interrupted."""
    try:
        code = _dispatch(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except SaddleError as error:
        print(f"saddle: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader went away (`saddle tasks | head`). Python flushes once more on exit: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return code


def _dispatch(argv: Sequence[str]) -> int:
    if list(argv) == ["--version"]:
        print(f"saddle {saddle.__version__}")
        return 0
    try:
        code = app.cli(prog="saddle", description=DESCRIPTION, args=argv or ["--help"], config=(FlagCreatePairsOff,))
    except SystemExit as stop:  # tyro leaves this way after printing help (0) or a usage error (2)
        return int(stop.code or 0)
    return code or 0
