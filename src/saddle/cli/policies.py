"""Verbs that do something with a trained policy: list, play, evaluate, set its dial, export."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from saddle import references
from saddle.cli.environment import EnvironmentOptions
from saddle.cli.options import TASK, Json, LimitSets, Surroundings, flag

Multipliers = Annotated[
    tuple[float, ...],
    arg(
        name="lambda",
        metavar="L ...",
        help="Set the policy's dial to this multiplier; with several constraints one of each.",
        help_behavior_hint="",
    ),
]


def policies(as_json: Json = False) -> None:
    """List the trained policies that come with a checkout of Saddle: how each was trained, and what
    it does.

    Their names stand for their paths in 'play --policy', 'evaluate' and 'train --from'.
    """
    from saddle.verbs.policies import policies

    policies(as_json)


def play(
    task: Annotated[Positional[str], TASK],
    policy: Annotated[
        str | None,
        arg(
            metavar="POLICY",
            help="'random', 'scripted', or the path of a policy.",
            help_behavior_hint="(default: scripted where the task has that, else random)",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        arg(
            metavar="FILE",
            help="Picture to write: .png, .gif or .mp4.",
            help_behavior_hint="(default: TASK.png)",
        ),
    ] = None,
    seed: Annotated[int, arg(metavar="N", help="Seed of the world and of a random policy.")] = 0,
    steps: Annotated[
        int | None,
        arg(
            metavar="N", help="Env steps to play.", help_behavior_hint="(default: a whole episode)"
        ),
    ] = None,
    lidar: Annotated[bool, flag("Draw the lidar readings around the robot.")] = False,
    multipliers: Multipliers = (),
    limit: Annotated[
        tuple[float, ...],
        arg(
            metavar="D ...",
            help="Set the policy's dial for this cost limit, as 'saddle dial' does.",
            help_behavior_hint="",
        ),
    ] = (),
    environment: Surroundings = EnvironmentOptions(),
) -> None:
    """Play one episode and draw it: a point task from above, with the robot's way; a velocity task
    from the side.

    Of other tasks reward and costs in time are drawn, and of environments what they draw of
    themselves, if they have the render mode 'rgb_array': a film takes that.
    """
    from saddle.verbs.play import play

    picture = out or Path(f"{references.last_part(task)}.png")
    play(environment.applied_to(task), policy, picture, seed, steps, lidar, multipliers, limit)


def evaluate(
    path: Annotated[
        Positional[Path], arg(metavar="DIR", help="A study or training, or the folder of a policy.")
    ],
    episodes: Annotated[int, arg(metavar="N", help="Episodes of each policy.")] = 100,
    limit: Annotated[
        tuple[float, ...],
        arg(
            metavar="D ...",
            help="Cost limit of each constraint.",
            help_behavior_hint="(default: each run's own)",
        ),
    ] = (),
    seed: Annotated[int, arg(metavar="N", help="Seed of the worlds.")] = 0,
    as_json: Json = False,
    task: Annotated[
        str | None,
        arg(
            metavar="TASK",
            help="Play them in another task of the same sizes.",
            help_behavior_hint="(default: their own)",
        ),
    ] = None,
    multipliers: Multipliers = (),
    environment: Surroundings = EnvironmentOptions(),
) -> None:
    """Play trained policies, by their mean and as trained: return, cost, and the share of violating
    episodes.
    """
    from saddle.verbs.evaluate import evaluate

    name = environment.applied_to_option(task)
    evaluate(path, episodes, limit, seed, as_json, name, multipliers)


def dial(
    path: Annotated[
        Positional[Path], arg(metavar="DIR", help="A study or training, or the folder of a policy.")
    ],
    limits: Annotated[
        LimitSets,
        arg(
            name="limit",
            metavar="D ...",
            help="Cost limits; with several constraints one of each, and --limit again for further "
            "sets.",
            help_behavior_hint="(required)",
        ),
    ] = (),
    episodes: Annotated[int, arg(metavar="N", help="Episodes at each setting.")] = 100,
    seed: Annotated[int, arg(metavar="N", help="Seed of the worlds.")] = 0,
    as_trained: Annotated[
        bool,
        arg(
            help="Play with the noise of training.",
            help_behavior_hint="(default: by the policy's mean)",
        ),
    ] = False,
    as_json: Json = False,
    task: Annotated[
        str | None,
        arg(
            metavar="TASK",
            help="Play in another task of the same sizes.",
            help_behavior_hint="(default: the policy's own)",
        ),
    ] = None,
    environment: Surroundings = EnvironmentOptions(),
) -> None:
    """Find where to set the dial of a policy that takes lambda as an input, for a cost limit: by
    playing, without training.

    An upper bound of the mean cost has to keep the limit. Limits that no setting keeps, and limits
    that do not bind, are said to be that.
    """
    from saddle.verbs.dial import dial

    name = environment.applied_to_option(task)
    dial(path, limits, episodes, seed, as_trained, name, as_json)


def export(
    path: Annotated[Positional[Path], arg(metavar="DIR", help="A study or training.")],
    out: Annotated[
        Path, arg(metavar="POLICY", help="Folder to write policy.npz and policy.json to.")
    ],
    run: Annotated[
        str | None,
        arg(metavar="RUN", help="Name of the run.", help_behavior_hint="(default: the only one)"),
    ] = None,
) -> None:
    """Write a trained policy as plain arrays, for use without Saddle."""
    from saddle.verbs.export import export

    export(path, out, run)
