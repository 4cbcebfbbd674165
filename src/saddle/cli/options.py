"""Types of options that several verbs share, as the parser (tyro) reads them.

Each says how a value is called, what it is for and, where the default's text would not tell,
what happens without it.
"""

from typing import Annotated, Any, Literal

from tyro.conf import UseAppendAction, arg

from saddle.cli.environment import EnvironmentOptions


def flag(help: str, name: str | None = None) -> Any:
    """What a switch is for: off unless it is given, which needs no words."""
    return arg(name=name, help=help, help_behavior_hint="")


Json = Annotated[bool, flag("Print JSON instead of a table.", name="json")]

TASK = arg(
    metavar="TASK",
    help="A task's name, as 'saddle tasks' lists it, module:attribute of one's own, or gym:ID.",
)
Tasks = Annotated[
    # One tuple per --task, so that both `--task A B` and `--task A --task B` mean A and B
    UseAppendAction[tuple[tuple[str, ...], ...]],
    arg(
        name="task",
        metavar="TASK ...",
        help="Only these: names, or module:attribute.",
        help_behavior_hint="(default: all)",
    ),
]
Surroundings = Annotated[EnvironmentOptions, arg(name="")]
Engine = Annotated[
    Literal["native", "mjx-jax", "mjx-warp"] | None,
    arg(
        metavar="ENGINE",
        help="Of the velocity tasks: native (MuJoCo C), mjx-jax or mjx-warp. Alone, it means only "
        "these tasks.",
        help_behavior_hint="(default: the best one here)",
    ),
]

LimitSets = UseAppendAction[tuple[tuple[float, ...], ...]]
"""One tuple per --limit: a cost limit of each constraint."""

Start = Annotated[
    str | None,
    arg(
        name="from",
        metavar="POLICY",
        help="Begin from this exported policy.",
        help_behavior_hint="(default: random weights)",
    ),
]
Resume = Annotated[bool, flag("Go on from the last checkpoint in DIR.")]
LimitTime = Annotated[
    str | None,
    arg(
        metavar="TIME",
        help="Stop cleanly after, e.g., 9m.",
        help_behavior_hint="(default: never)",
    ),
]
Log = Annotated[
    tuple[Literal["tensorboard", "wandb", "mlflow"], ...],
    arg(
        metavar="{tensorboard,wandb,mlflow} ...",
        help="Also send every epoch's metrics there.",
        help_behavior_hint="",
    ),
]
