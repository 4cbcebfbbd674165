"""Env steps per second of the tasks, auto-reset and observations included, and how that compares to MuJoCo C."""

import dataclasses
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from rich.table import Table

from saddle import policies
from saddle.bench import engine
from saddle.console import console
from saddle.errors import SaddleError
from saddle.tasks import State, Task, autoreset, make, names

STEPS = 200  # env steps of every world in one timed call
REPEATS = 5  # timed calls; their median counts
SECONDS = 2.0  # of MuJoCo C per task

Act = Callable[[Array, Array], Array]  # obs [N, obs_dim], key -> actions [N, action_dim]


@dataclass(frozen=True)
class Rate:
    """One task under one policy."""

    steps_per_second: float
    compile_s: float  # tracing and compiling the scanned step
    peak_bytes: int | None  # of device memory while stepping: arguments, results and temporaries, per world


@dataclass(frozen=True)
class Result:
    """One task. Bytes are per world; ratios are to MuJoCo C on one core, None without it."""

    task: str
    random: float  # env steps/s under random actions
    scripted: float  # env steps/s under the scripted policy, which seeks contacts
    mujoco: float | None  # env steps/s of MuJoCo C on one core under random actions
    ratio: float | None
    ratio_scripted: float | None  # to the same MuJoCo rate
    compile_s: float
    state_bytes: float
    peak_bytes: float | None


def run(tasks: tuple[str, ...] = (), worlds: int = 512, as_json: bool = False) -> None:
    """Measure and print. No tasks means all."""
    if worlds < 1:
        raise SaddleError(f"--worlds is {worlds}; it must be at least 1")
    chosen = [make(name) for name in tasks or names()]
    settings = _settings(worlds)
    results = [measure(task, worlds) for task in chosen]
    if as_json:
        print(json.dumps({"settings": settings, "tasks": [dataclasses.asdict(r) for r in results]}, indent=2))
    else:
        _print(settings, results)


def measure(task: Task, worlds: int) -> Result:
    """All numbers of one task."""
    name = task.spec.name
    steer = jax.vmap(policies.scripted(name), (0, None))
    draw = lambda obs, key: jax.random.uniform(key, (obs.shape[0], task.spec.action_dim), minval=-1.0, maxval=1.0)
    try:
        state = staggered(task, worlds)
        random = rate(task, state, draw)
        scripted = rate(task, state, steer)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise SaddleError(f"{worlds} worlds of {name} do not fit in memory; use fewer --worlds") from None
    mujoco = engine.steps_per_second(task, state, SECONDS) if engine.available() else None
    return Result(
        task=name,
        random=random.steps_per_second,
        scripted=scripted.steps_per_second,
        mujoco=mujoco,
        ratio=mujoco and random.steps_per_second / mujoco,
        ratio_scripted=mujoco and scripted.steps_per_second / mujoco,
        compile_s=random.compile_s,
        state_bytes=state_bytes(state) / worlds,
        peak_bytes=None if random.peak_bytes is None else random.peak_bytes / worlds,
    )


def staggered(task: Task, worlds: int) -> State:
    """Fresh worlds [worlds] with clocks spread over the whole episode, so that a steady share ends at every step."""
    state = jax.jit(lambda keys: autoreset.reset(task, keys))(jax.random.split(jax.random.key(0), worlds))
    clocks = jnp.arange(worlds, dtype=state.steps.dtype) * task.spec.episode_length // worlds
    return dataclasses.replace(state, steps=clocks)


def rate(task: Task, state: State, act: Act) -> Rate:
    """Compile STEPS scanned steps and time them REPEATS times."""

    def one(carry: tuple[State, Array], key: Array) -> tuple[tuple[State, Array], None]:
        state, seen = carry
        now, ended = autoreset.step(task, state, act(state.obs, key))
        # Every observation, reward and cost is read, or the compiler would not compute them.
        read = jnp.mean(now.obs) + jnp.mean(ended.obs) + jnp.mean(ended.reward) + jnp.mean(ended.cost)
        return (now, seen + read), None

    def chunk(state: State, key: Array) -> tuple[State, Array]:
        return jax.lax.scan(one, (state, jnp.zeros(())), jax.random.split(key, STEPS))[0]

    start = time.perf_counter()
    compiled = jax.jit(chunk).lower(state, jax.random.key(0)).compile()
    compile_s = time.perf_counter() - start
    state, _ = jax.block_until_ready(compiled(state, jax.random.key(1)))  # warm-up
    seconds = []
    for key in jax.random.split(jax.random.key(2), REPEATS):
        start = time.perf_counter()
        state, _ = jax.block_until_ready(compiled(state, key))
        seconds.append(time.perf_counter() - start)
    worlds = state.steps.shape[0]
    return Rate(worlds * STEPS / statistics.median(seconds), compile_s, _peak(compiled))


def state_bytes(state: State) -> int:
    """Memory of a batched state."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(jax.tree.map(_plain, state)))


def _plain(leaf: Array) -> Array:
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def _peak(compiled: Any) -> int | None:
    """Bytes that XLA plans for a call; None where the backend does not say."""
    stats = compiled.memory_analysis()
    if stats is None:
        return None
    used = stats.argument_size_in_bytes + stats.output_size_in_bytes + stats.temp_size_in_bytes
    return used - stats.alias_size_in_bytes


def _settings(worlds: int) -> dict[str, Any]:
    device = jax.devices()[0]
    return {
        "platform": device.platform,
        "device": device.device_kind if device.platform != "cpu" else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "jax": jax.__version__,
        "mujoco": engine.version(),
        "worlds": worlds,
        "steps": STEPS,
        "repeats": REPEATS,
    }


def _print(settings: dict[str, Any], results: list[Result]) -> None:
    title = "{worlds} worlds on {device} ({platform}, {cores} cores), jax {jax}, ".format(**settings)
    title += "median of {repeats} x {steps} steps".format(**settings)
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("task")
    columns = ("random steps/s", "scripted steps/s", "MuJoCo C steps/s", "ratio", "ratio scripted")
    for column in (*columns, "compile s", "state B/world", "peak B/world"):
        table.add_column(column, justify="right")
    for r in results:
        cells = [_short(r.random), _short(r.scripted), _short(r.mujoco), _times(r.ratio), _times(r.ratio_scripted)]
        table.add_row(r.task, *cells, f"{r.compile_s:.1f}", f"{r.state_bytes:.0f}", _short(r.peak_bytes))
    out = console()
    out.print(table)
    if engine.available():
        out.print(f"Ratios are to MuJoCo {settings['mujoco']} on one core under random actions, in this run.")
    else:
        out.print("No ratios: MuJoCo is not installed (pip install mujoco).")


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value >= 1e6 else f"{value:,.0f}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}x"
