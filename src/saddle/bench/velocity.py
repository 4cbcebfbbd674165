"""Env steps per second of the velocity tasks: MuJoCo C over threads beside one core of it, and
MJX.
"""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import Array

from saddle import machine
from saddle.bench import scan
from saddle.tasks.velocity import models
from saddle.tasks.velocity.engines import NativeTask
from saddle.tasks.velocity.native import NativeWorlds

SECONDS = 1.0  # of each measurement of MuJoCo C
ROUNDS = 7  # such measurements; the fastest counts, since a busy neighbour only ever slows one
WARM_UP = 30  # env steps after which a random policy's worlds look as they will go on to look
OVERHEAD_WORLDS = 64  # worlds at which the share of Python is measured
# As for the point tasks, but shorter: a step costs a thousand times as much.
MJX_STEPS = 20
MJX_REPEATS = 3


@dataclass(frozen=True)
class NativeResult:
    """One task on MuJoCo C under random actions, auto-reset and observations included. Rates are
    env steps/s.
    """

    task: str
    worlds: int
    engine: str
    mujoco: float  # MuJoCo C alone on one core: only its steps, from states of the same worlds
    one_thread: float
    all_threads: float
    threads: int
    ratio: float  # all_threads / mujoco
    overhead: float  # share of a step outside MuJoCo C, at OVERHEAD_WORLDS worlds and all threads


@dataclass(frozen=True)
class MjxResult:
    """One task on MJX under random actions. Bytes are per world."""

    task: str
    worlds: int
    engine: str
    random: float  # env steps/s
    compile_s: float
    state_bytes: float
    peak_bytes: float | None
    diverged: int  # worlds whose physics broke down while measuring


def native(task: NativeTask, worlds: int) -> NativeResult:
    """All numbers of one task on MuJoCo C."""
    threads = machine.cores_to_use()
    # What is compared is measured in turn, round by round: a neighbour that is busy for long then
    # slows all of it.
    alone = 0.0
    one_thread = 0.0
    all_threads = 0.0
    for _ in range(ROUNDS):
        alone = max(alone, _alone(task))
        one_thread = max(one_thread, _rate(_warm(task, worlds, 1)))
        all_threads = max(all_threads, _rate(_warm(task, worlds, threads)))
    shares = [_overhead(_warm(task, OVERHEAD_WORLDS, threads)) for _ in range(ROUNDS)]
    return NativeResult(
        task=task.spec.name,
        worlds=worlds,
        engine=task.engine,
        mujoco=alone,
        one_thread=one_thread,
        all_threads=all_threads,
        threads=threads,
        ratio=all_threads / alone,
        overhead=statistics.median(shares),
    )


def mjx(task: Any, worlds: int) -> MjxResult:
    """All numbers of one task on MJX."""
    state = scan.staggered(task, worlds)

    def draw(obs: Array, key: Array) -> Array:
        shape = (obs.shape[0], task.spec.action_dim)
        return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)

    found = scan.rate(task, state, draw, MJX_STEPS, MJX_REPEATS)
    return MjxResult(
        task=task.spec.name,
        worlds=worlds,
        engine=task.engine,
        random=found.steps_per_second,
        compile_s=found.compile_s,
        state_bytes=scan.state_bytes(state) / worlds,
        peak_bytes=None if found.peak_bytes is None else found.peak_bytes / worlds,
        diverged=found.diverged,
    )


def _warm(task: NativeTask, count: int, threads: int) -> NativeWorlds:
    """Worlds in the midst of things."""
    worlds = task.worlds(count, threads)
    worlds.reset(np.arange(count))
    draw = np.random.default_rng(0)
    for _ in range(WARM_UP):
        worlds.step(_actions(worlds, draw))
    return worlds


def _actions(worlds: NativeWorlds, draw: np.random.Generator) -> np.ndarray:
    return draw.uniform(-1, 1, (worlds.worlds, worlds.spec.action_dim)).astype(np.float32)


def _rate(worlds: NativeWorlds) -> float:
    """Env steps per second of `step`; drawing the actions is not counted."""
    draw = np.random.default_rng(1)
    spent = 0.0
    done = 0
    while spent < SECONDS:
        actions = _actions(worlds, draw)
        start = time.perf_counter()
        worlds.step(actions)
        spent += time.perf_counter() - start
        done += worlds.worlds
    return done / spent


def _overhead(worlds: NativeWorlds) -> float:
    """Share of `step` that is not spent in MuJoCo's threads."""
    inside = 0.0
    roll = worlds.physics.pool.rollout

    def timed(*args: Any, **options: Any) -> None:
        nonlocal inside
        start = time.perf_counter()
        roll(*args, **options)
        inside += time.perf_counter() - start

    worlds.physics.pool.rollout = timed
    draw = np.random.default_rng(1)
    spent = 0.0
    while spent < SECONDS:
        actions = _actions(worlds, draw)
        start = time.perf_counter()
        worlds.step(actions)
        spent += time.perf_counter() - start
    worlds.physics.pool.rollout = roll
    return 1 - inside / spent


def _alone(task: NativeTask) -> float:
    """Env steps per second of MuJoCo C on one core, and nothing else, from states that a random
    policy visits.
    """
    worlds = _warm(task, OVERHEAD_WORLDS, 1)
    draw = np.random.default_rng(1)
    mujoco = models.mujoco()
    model = worlds.physics.model
    data = mujoco.MjData(model)
    spent = 0.0
    done = 0
    while spent < SECONDS:
        actions = _actions(worlds, draw)
        for qpos, qvel, action in zip(worlds.qpos, worlds.qvel, actions, strict=True):
            data.qpos[:] = qpos
            data.qvel[:] = qvel
            data.ctrl[:] = action
            data.qacc_warmstart[:] = 0
            start = time.perf_counter()
            mujoco.mj_step(model, data, worlds.body.substeps)
            spent += time.perf_counter() - start
        done += worlds.worlds
        worlds.step(actions)
    return done / spent
