"""Env steps per second of the tasks, auto-reset and observations included, and how that compares to
MuJoCo C.
"""

import dataclasses
import json
import os
import platform
import sys
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from saddle import policies
from saddle.bench import engine as yardstick
from saddle.bench import scan
from saddle.console import console
from saddle.errors import SaddleError
from saddle.tables import Column, print_table
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
    scripted: (
        float | None
    )  # env steps/s under the scripted policy, which seeks contacts; None where there is none
    mujoco: float | None  # env steps/s of MuJoCo C on one core under random actions
    ratio: float | None
    ratio_scripted: float | None  # to the same MuJoCo rate
    compile_s: float
    state_bytes: float
    peak_bytes: float | None


# Columns of a result in the terminal: title -> field and form.
_COLUMNS = {
    "random steps/s": ("random", "{:,.0f}"),
    "scripted": ("scripted", "{:,.0f}"),
    "MuJoCo C": ("mujoco", "{:,.0f}"),
    "1 thread": ("one_thread", "{:,.0f}"),
    "all threads": ("all_threads", "{:,.0f}"),
    "ratio": ("ratio", "{:.2f}x"),
    "scripted ratio": ("ratio_scripted", "{:.2f}x"),
    "Python": ("overhead", "{:.1%}"),
    "compile s": ("compile_s", "{:.1f}"),
    "state B/world": ("state_bytes", "{:,.0f}"),
    "peak B/world": ("peak_bytes", "{:,.0f}"),
    "diverged": ("diverged", "{:d}"),
}


def run(
    tasks: tuple[str, ...] = (), worlds: int = 512, as_json: bool = False, engine: str | None = None
) -> None:
    """Measure, and print each result as soon as there is one. No tasks means all, or with an engine
    all that have it.

    As JSON the whole comes at the end; each result is then also a line on stderr, so that none is
    lost to a time limit.
    """
    if worlds < 1:
        raise SaddleError(f"--worlds is {worlds}; it must be at least 1")
    if engine is not None:
        engines.check(engine)
    chosen = tasks or tuple(name for name in names() if engine is None or has_engine(name, engine))
    for name in chosen:
        entry(name)
        if engine is not None and not has_engine(name, engine):
            raise SaddleError(
                f"{name} has no choice of engines; leave --engine out, or name a velocity task"
            )
    settings = _settings(worlds)
    if not as_json:
        _say(_title(settings))
    results = []
    for name in chosen:
        results.append(_measured(name, worlds, engine))
        if as_json:
            print(json.dumps(dataclasses.asdict(results[-1])), file=sys.stderr, flush=True)
        else:
            _say_result(results[-1], None if len(results) == 1 else results[-2])
    if as_json:
        print(
            json.dumps(
                {"settings": settings, "tasks": [dataclasses.asdict(r) for r in results]}, indent=2
            )
        )
    elif not yardstick.available() and any(isinstance(result, Result) for result in results):
        _say("No ratios: MuJoCo is not installed (pip install mujoco).")
    elif any(getattr(result, "ratio", None) is not None for result in results):
        _say(
            f"Ratios are to MuJoCo {settings['mujoco']} on one core under random actions, in this "
            f"run."
        )


def has_engine(name: str, engine: str) -> bool:
    """Whether the task of that name can be made with that engine, as far as it says so before it is
    made.
    """
    spec = known_spec(name)
    return spec is not None and engine in spec.engines


def _measured(name: str, worlds: int, engine: str | None) -> Any:
    from saddle.bench import host, velocity

    try:
        task = make(name) if engine is None else make(name, engine=engine)
        if isinstance(task, engines.NativeTask):
            return velocity.native(task, worlds)
        if isinstance(task, HostTask):
            return host.measure(name, task, worlds)
        return velocity.mjx(task, worlds) if task.spec.engines else measure(name, task, worlds)
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


def _settings(worlds: int) -> dict[str, Any]:
    device = jax.devices()[0]
    return {
        "platform": device.platform,
        "device": device.device_kind
        if device.platform != "cpu"
        else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "jax": jax.__version__,
        "mujoco": yardstick.version(),
        "worlds": worlds,
        "steps": STEPS,
        "repeats": REPEATS,
    }


def _title(settings: dict[str, Any]) -> str:
    words = "{worlds} worlds on {device} ({platform}, {cores} cores), jax {jax}, mujoco {mujoco}"
    return words.format(**settings)


def _say_result(result: Any, before: Any) -> None:
    """One row; a heading first where the columns change."""
    shown = {title: column for title, column in _COLUMNS.items() if hasattr(result, column[0])}
    columns = [Column("task", identifies=True, least=28)]
    cells = [result.task]
    for title, (field, form) in shown.items():
        value = getattr(result, field)
        columns.append(Column(title, right=True, least=14))
        cells.append("-" if value is None else form.format(value))
    first = type(before) is not type(result)
    if first:
        _say("")
    print_table(console(), columns, [cells], heading=first)


def _say(line: str) -> None:
    print(line, flush=True)
