"""Which engine steps a velocity task: MuJoCo C on the host, or MJX inside JAX on its own code or on Warp."""

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import jax

from saddle.errors import SaddleError
from saddle.extras import install
from saddle.tasks.task import Task, TaskSpec
from saddle.tasks.velocity import models
from saddle.tasks.velocity.bodies import BODIES

if TYPE_CHECKING:
    from saddle.tasks.velocity.native import NativeWorlds

ENGINES = ("native", "mjx-jax", "mjx-warp")


@dataclass(frozen=True)
class HostTask:
    """A task whose worlds step on the host: it has a spec, but nothing for JAX to trace."""

    spec: TaskSpec
    engine: str = "native"

    def reset(self, key: Any) -> NoReturn:
        """Not here."""
        self._refuse()

    def step(self, state: Any, action: Any) -> NoReturn:
        """Not here."""
        self._refuse()

    def info(self, state: Any) -> NoReturn:
        """Not here."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        name = self.spec.name
        raise SaddleError(
            f"{name} with engine 'native' steps outside JAX: use saddle.tasks.host_worlds({name!r}, worlds), "
            "or make it with engine='mjx-jax'"
        )


def make(name: str, engine: str | None = None, **options: Any) -> Task:
    """The velocity task of that name on an engine of ENGINES; None takes the best one here. Options are MJX's."""
    engine = default() if engine is None else engine
    if engine not in ENGINES:
        raise SaddleError(f"unknown engine {engine!r}; {name} runs on {', '.join(ENGINES)}")
    if engine == "native":
        return HostTask(BODIES[name].spec, **options)
    check(engine)
    from saddle.tasks.velocity.mjx import MjxTask

    return MjxTask(BODIES[name], "jax" if engine == "mjx-jax" else "warp", **options)


def default() -> str:
    """MuJoCo C without a GPU or without MJX, Warp with both, and MJX's own code where Warp is missing."""
    if jax.default_backend() == "cpu" or not _found("mujoco.mjx"):
        return "native"
    return "mjx-warp" if _found("warp") and jax.default_backend() == "gpu" else "mjx-jax"


def check(engine: str) -> None:
    """Complain where an engine cannot run on this machine."""
    models.mujoco()
    if engine != "native" and not _found("mujoco.mjx"):
        raise SaddleError(f"engine {engine!r} needs MJX: run {install('mjx')}")
    if engine == "mjx-warp" and not _found("warp"):
        raise SaddleError(f"engine 'mjx-warp' needs Warp: run {install('cuda')}, or use 'mjx-jax' or 'native'")


def host_worlds(name: str, worlds: int, threads: int | None = None) -> "NativeWorlds":
    """Worlds of a velocity task on MuJoCo C, stepped on the host; threads: all cores unless given."""
    if name not in BODIES:
        raise SaddleError(f"{name} steps inside JAX and has no host form; there is one for {', '.join(BODIES)}")
    check("native")
    from saddle.tasks.velocity.native import NativeWorlds

    return NativeWorlds(BODIES[name], worlds, threads)


def on_host(task: Task) -> bool:
    """Do the task's worlds step outside JAX? Then `host_worlds` makes them."""
    return isinstance(task, HostTask)


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
