"""The yardstick: MuJoCo C stepping the same worlds on one core, ten substeps per env step."""

import contextlib
import statistics
import time
from typing import Any

import jax
import numpy as np

from saddle.tasks import State
from saddle.tasks.point import body
from saddle.tasks.point.gremlins import ORBIT

mujoco: Any = None  # its compiled part has no types, and it may be missing
with contextlib.suppress(ImportError):
    import mujoco

LAYOUTS = 4  # worlds to average over; each is stepped for a share of the time
HEIGHT = 0.1  # m, of these targets


def available() -> bool:
    """Is MuJoCo installed?"""
    return mujoco is not None


def version() -> str | None:
    """MuJoCo's version, if it is installed."""
    return mujoco.__version__ if mujoco else None


def steps_per_second(task: Any, state: State, seconds: float) -> float:
    """Env steps per second of one core under random actions: the median over the first worlds of a
    fresh state.

    The task has a member `mjcf`, which gives a world as MuJoCo's model.
    """
    count = min(LAYOUTS, len(state.steps))
    rates = []
    for world in range(count):
        one = jax.tree.map(lambda leaf, world=world: leaf[world], state)
        model = mujoco.MjModel.from_xml_string(task.mjcf(one))
        rates.append(_rate(model, task.spec.episode_length, seconds / count))
    return statistics.median(rates)


def _rate(model: Any, episode: int, seconds: float) -> float:
    """Env steps per second of one world that is reset after each episode."""
    data = mujoco.MjData(model)
    advance = _advance_with_mocaps if model.nmocap else _advance
    actions = np.random.default_rng(0).uniform(-1, 1, (episode, model.nu))
    advance(model, data)  # the first step touches every page
    start = time.perf_counter()
    done = 0
    while time.perf_counter() - start < seconds:
        step = done % episode
        if step == 0:
            mujoco.mj_resetData(model, data)
        data.ctrl[:] = actions[step]
        advance(model, data)
        done += 1
    return done / (time.perf_counter() - start)


def _advance(model: Any, data: Any) -> None:
    mujoco.mj_step(model, data, body.SUBSTEPS)


def _advance_with_mocaps(model: Any, data: Any) -> None:
    """The gremlins' targets move before every substep."""
    for _ in range(body.SUBSTEPS):
        angle = data.time
        data.mocap_pos[:] = (ORBIT * np.sin(angle), ORBIT * np.cos(angle), HEIGHT)
        mujoco.mj_step(model, data)
