"""The verbs `saddle bench ...`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from saddle.cli.environment import EnvironmentOptions
from saddle.cli.options import Engine, Json, Surroundings, Tasks
from saddle.learners import PPO, LearnerSettings, Precision


def bench_tasks(
    tasks: Tasks = (),
    worlds: Annotated[int, arg(metavar="N", help="Worlds stepped at once.")] = 512,
    as_json: Json = False,
    engine: Engine = None,
) -> None:
    """Measure env steps per second of each task, against MuJoCo C stepping the same worlds on one
    core.
    """
    from saddle.verbs.bench.tasks import bench_tasks

    bench_tasks(sum(tasks, ()), worlds, as_json, engine)


def bench_host(
    task: Annotated[
        Positional[str], arg(metavar="TASK", help="An environment: gym:ID or module:attribute.")
    ],
    environment: Surroundings = EnvironmentOptions(),
    worlds: Annotated[int, arg(metavar="N", help="Worlds stepped at once.")] = 64,
    as_json: Json = False,
) -> None:
    """Measure what an environment's worlds cost beyond its own steps: alone, and with a policy that
    collects.
    """
    from saddle.verbs.bench.host import bench_host

    bench_host(environment.applied_to(task), worlds, as_json)


def bench_learner(
    task: Annotated[
        str, arg(metavar="TASK", help="Name of the task, or module:attribute.")
    ] = "SafetyPointCircle1-v0",
    members: Annotated[int, arg(metavar="N", help="Runs in the population.")] = 1,
    epochs: Annotated[int, arg(metavar="N", help="Epochs to time, after one that compiles.")] = 3,
    stops: Annotated[
        Path | None,
        arg(
            metavar="STUDY",
            help="Replay how members of this study stopped, the others regrouped and not.",
            help_behavior_hint="(default: nobody stops)",
        ),
    ] = None,
    learner: LearnerSettings = PPO(),
    as_json: Json = False,
) -> None:
    """Measure training: env steps per second end to end, rollouts and updates apart, and memory.

    No member stops early here (--learner.target-kl 1e9), so that every epoch takes all its passes.
    With --stops members stop where those of a study did, in --epochs epochs spread evenly over it.
    --learner:NAME chooses another learner than ppo.
    """
    from saddle.verbs.bench.learner import bench_learner

    bench_learner(task, members, epochs, learner, as_json, stops)


def bench_study(
    tasks: Tasks = (),
    members: Annotated[int, arg(metavar="N", help="Runs in the population.")] = 250,
    epochs: Annotated[int, arg(metavar="N", help="Epochs to time, after one that compiles.")] = 10,
    precision: Annotated[tuple[Precision, ...], arg(help="Of the networks; one or more.")] = (
        "tf32",
        "bf16",
    ),
    learner: LearnerSettings = PPO(),
    out: Annotated[
        Path | None,
        arg(
            metavar="DIR",
            help="Folder to keep the studies in.",
            help_behavior_hint="(default: a temporary one)",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure training with everything on: env steps per second of a study with its store, metrics
    and checkpoints.

    Velocity tasks take the wide layout on an accelerator. No member stops early
    (--learner.target-kl 1e9), so that every epoch takes all its passes. With all eight tasks it
    also says how long the whole published study takes.
    """
    from saddle.verbs.bench.study import bench_study

    bench_study(sum(tasks, ()), members, epochs, precision, learner, out, as_json)
