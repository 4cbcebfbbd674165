"""Tasks by name."""

import difflib
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from saddle.errors import SaddleError
from saddle.tasks.point.button import Button
from saddle.tasks.point.circle import Circle
from saddle.tasks.point.goal import Goal
from saddle.tasks.point.push import Push
from saddle.tasks.task import Task
from saddle.tasks.velocity import engines
from saddle.tasks.velocity.bodies import BODIES

if TYPE_CHECKING:
    from saddle.tasks.velocity.native import NativeWorlds

_TASKS: dict[str, Callable[..., Task]] = {
    "SafetyPointCircle1-v0": Circle,
    "SafetyPointGoal1-v0": Goal,
    "SafetyPointButton1-v0": Button,
    "SafetyPointPush1-v0": Push,
    **{name: functools.partial(engines.make, name) for name in BODIES},
}


def names() -> tuple[str, ...]:
    """Every task's name, in the published order."""
    return tuple(_TASKS)


def make(name: str, **options: Any) -> Task:
    """The task of that name. Options are the task's own fields; an unknown name says which one is nearest.

    Velocity tasks take engine="native" (the default without a GPU), "mjx-jax" or "mjx-warp". With "native" the task
    has a spec only: its worlds step outside JAX, and `host_worlds` makes them.
    """
    _check(name)
    try:
        return _TASKS[name](**options)
    except TypeError as error:
        raise SaddleError(f"{name} does not take these options: {', '.join(options)} ({error})") from None


def host_worlds(name: str, worlds: int, threads: int | None = None) -> "NativeWorlds":
    """Worlds of a velocity task that step on the host, in MuJoCo C. threads: all cores unless given."""
    _check(name)
    return engines.host_worlds(name, worlds, threads)


def _check(name: str) -> None:
    if name not in _TASKS:
        raise SaddleError(f"unknown task {name!r}{_nearest(name)}; 'saddle tasks' lists them all")


def _nearest(name: str) -> str:
    lower = {known.lower(): known for known in _TASKS}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.4)
    return f"; did you mean {lower[close[0]]!r}?" if close else ""
