"""Which engine steps a velocity task: MuJoCo C on the host, or MJX inside JAX on its own code or on
Warp.
"""

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import jax

from saddle.errors import SaddleError
from saddle.extras import install
from saddle.tasks.spec import TaskSpec
from saddle.tasks.velocity import models
from saddle.tasks.velocity.bodies import BODIES
from saddle.tasks.velocity.body import ENGINES, Body

if TYPE_CHECKING:
    from saddle.tasks.velocity.native import NativeWorlds


@dataclass(frozen=True)
class NativeTask:
    """A velocity task on MuJoCo C: a HostTask, with nothing for JAX to trace."""

    body: Body
    engine: ClassVar[str] = "native"

    @property
    def spec(self) -> TaskSpec:
        """The body's."""
        return self.body.spec

    def worlds(self, n: int, threads: int | None = None) -> "NativeWorlds":
        """N worlds, stepped on the host; threads: all cores unless given."""
        check(self.engine)
        from saddle.tasks.velocity.native import NativeWorlds

        return NativeWorlds(self.body, n, threads)


def make(name: str, engine: str | None = None, **options: Any) -> Any:
    """The velocity task of that name on an engine of ENGINES; None takes the best one here. Options
    are MJX's.
    """
    engine = default() if engine is None else engine
    if engine not in ENGINES:
        raise SaddleError(f"unknown engine {engine!r}; {name} runs on {', '.join(ENGINES)}")
    if engine == "native":
        return NativeTask(BODIES[name], **options)
    check(engine)
    from saddle.tasks.velocity.mjx import MjxTask

    return MjxTask(BODIES[name], "jax" if engine == "mjx-jax" else "warp", **options)


def default() -> str:
    """MuJoCo C without a GPU or without MJX, Warp with both, and MJX's own code where Warp is
    missing.
    """
    if jax.default_backend() == "cpu" or not _found("mujoco.mjx"):
        return "native"
    return "mjx-warp" if _found("warp") and jax.default_backend() == "gpu" else "mjx-jax"


def check(engine: str) -> None:
    """Complain where an engine cannot run on this machine."""
    models.mujoco()
    if engine != "native" and not _found("mujoco.mjx"):
        raise SaddleError(f"engine {engine!r} needs MJX: run {install('mjx')}")
    if engine == "mjx-warp" and not _found("warp"):
        raise SaddleError(
            f"engine 'mjx-warp' needs Warp: run {install('cuda')}, or use 'mjx-jax' or 'native'"
        )


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
