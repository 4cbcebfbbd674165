"""Env steps per second of the tasks, auto-reset and observations included, and how that compares to
MuJoCo C.
"""

import os
import platform
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from saddle import policies
from saddle.bench import engine as yardstick
from saddle.bench import scan
from saddle.errors import SaddleError
from saddle.tasks import HostTask, Task, TaskSpec, known_spec, make, names
from saddle.tasks.registry import entry
from saddle.tasks.velocity import engines

STEPS = 200  # env steps of every world in one timed call
REPEATS = 5  # timed calls; their median counts
SECONDS = 2.0  # of MuJoCo C per task


@dataclass(frozen=True)
class Result:
    """One task inside JAX. Bytes are per world; ratios are to MuJoCo C on one core, None without
    it.
    """

    task: str
    random: float  # env steps/s under random actions
    scripted: float | None
    """Env steps/s under the scripted policy, which seeks contacts; None where there is none."""
    mujoco: float | None  # env steps/s of MuJoCo C on one core under random actions
    ratio: float | None
    ratio_scripted: float | None  # to the same MuJoCo rate
    compile_s: float
    state_bytes: float
    peak_bytes: float | None


def chosen(tasks: tuple[str, ...], engine: str | None) -> tuple[str, ...]:
    """The tasks to measure: those, or all; with an engine all that have it."""
    if engine is not None:
        engines.check(engine)
    found = tasks or names()
    if engine is not None and not tasks:
        found = tuple(name for name in found if has_engine(name, engine))
    for name in found:
        entry(name)
        if engine is not None and not has_engine(name, engine):
            raise SaddleError(
                f"{name} has no choice of engines; leave --engine out, or name a velocity task"
            )
    return found


def has_engine(name: str, engine: str) -> bool:
    """Whether the task of that name can be made with that engine, as far as it says so before it is
    made.
    """
    spec = known_spec(name)
    return spec is not None and engine in spec.engines


def measure_named(name: str, worlds: int, engine: str | None) -> Any:
    """All numbers of the task of that name, by whatever steps its worlds."""
    from saddle.bench import host, velocity

    try:
        task = make(name) if engine is None else make(name, engine=engine)
        if isinstance(task, engines.NativeTask):
            return velocity.native(task, worlds)
        if isinstance(task, HostTask):
            return host.measure(name, task, worlds)
        if task.spec.engines:
            return velocity.mjx(task, worlds)
        return measure(name, task, worlds)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise SaddleError(
            f"{worlds} worlds of {name} do not fit in memory; use fewer --worlds"
        ) from None


def measure(name: str, task: Task, worlds: int) -> Result:
    """All numbers of one task inside JAX. name: how it was asked for."""
    draw = _random_actions(task.spec)
    state = scan.staggered(task, worlds)
    random = scan.rate(task, state, draw, STEPS, REPEATS)
    scripted = None
    if hasattr(task, "scripted"):
        steer = jax.vmap(policies.scripted(task), (0, None))
        scripted = scan.rate(task, state, steer, STEPS, REPEATS).steps_per_second
    mujoco = None
    if hasattr(task, "mjcf") and yardstick.available():
        mujoco = yardstick.steps_per_second(task, state, SECONDS)
    return Result(
        task=name,
        random=random.steps_per_second,
        scripted=scripted,
        mujoco=mujoco,
        ratio=mujoco and random.steps_per_second / mujoco,
        ratio_scripted=mujoco and scripted and scripted / mujoco,
        compile_s=random.compile_s,
        state_bytes=scan.state_bytes(state) / worlds,
        peak_bytes=None if random.peak_bytes is None else random.peak_bytes / worlds,
    )


def _random_actions(spec: TaskSpec) -> scan.Act:
    """Uniform actions of all worlds."""

    def draw(obs: Array, key: Array) -> Array:
        shape = (obs.shape[0], spec.action_dim)
        if spec.choices:
            return jax.random.randint(key, shape, 0, jnp.array(spec.choices))
        return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)

    return draw


def settings(worlds: int) -> dict[str, Any]:
    """What the numbers depend on: the machine, versions, and how much is timed."""
    device = jax.devices()[0]
    kind = device.device_kind
    if device.platform == "cpu":  # where JAX just says "cpu"
        kind = platform.processor() or platform.machine()
    return {
        "platform": device.platform,
        "device": kind,
        "cores": os.cpu_count(),
        "jax": jax.__version__,
        "mujoco": yardstick.version(),
        "worlds": worlds,
        "steps": STEPS,
        "repeats": REPEATS,
    }
