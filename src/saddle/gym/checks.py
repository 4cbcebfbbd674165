"""Spaces of a task, and checks of what a user hands in."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from gymnasium import logger
from gymnasium.spaces import Box
from jax import Array

from saddle.errors import SaddleError
from saddle.seeds import check_seeds
from saddle.tasks import TaskSpec

# Bounds of the point robot's twelve sensor values: accelerometer (m/s^2; contacts give spikes of 1e2), velocimeter
# (m/s), gyro (rad/s), magnetometer. They are never clipped to these; the physics stays far inside.
POINT_SENSORS = np.repeat([1e4, 1e2, 1e2, 1.0], 3)


def action_space(spec: TaskSpec) -> Box:
    """[-1, 1] in every direction; float64 for the point robot and float32 for the others, as in the reference."""
    return Box(-1.0, 1.0, (spec.action_dim,), np.float64 if spec.name.startswith("SafetyPoint") else np.float32)


def observation_space(spec: TaskSpec) -> Box:
    """The point robot's sensors, then lidars in [0, 1]; unbounded for other tasks. float64 as in the reference."""
    if not spec.name.startswith("SafetyPoint"):
        return Box(-np.inf, np.inf, (spec.obs_dim,), np.float64)
    lidars = np.ones(spec.obs_dim - POINT_SENSORS.size)
    return Box(np.concatenate([-POINT_SENSORS, 0 * lidars]), np.concatenate([POINT_SENSORS, lidars]), dtype=np.float64)


def check_action(action: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The action as float32 of that shape, or one line that says what is wrong with it."""
    try:
        given = np.asarray(action)
    except ValueError:
        raise SaddleError(f"an action must be an array of shape {shape}; this one is ragged") from None
    if given.dtype.kind not in "fiu":
        raise SaddleError(f"an action must hold real numbers, not {given.dtype}")
    if given.shape != shape:
        raise SaddleError(f"an action must have shape {shape}, this one has {given.shape}")
    with np.errstate(over="ignore"):
        action = given.astype(np.float32)
    if not np.isfinite(action).all():
        raise SaddleError("an action must be finite, this one holds NaN or infinity; check the policy that made it")
    return action


def check_render_mode(render_mode: str | None, known: Sequence[str]) -> str | None:
    """The render mode itself, if it is one that we have."""
    if render_mode is not None and render_mode not in known:
        raise SaddleError(f"unknown render_mode {render_mode!r}; use {' or '.join(map(repr, known))} or None")
    return render_mode


def renders(mode: str | None) -> bool:
    """Whether there is a render mode; without one, render() warns."""
    if mode is None:
        logger.warn("render() draws nothing without a render mode: make the environment with render_mode='rgb_array'")
    return mode is not None


def check_count(count: int, what: str) -> int:
    """A positive whole number."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise SaddleError(f"{what} must be a whole number of at least 1, not {count!r}")
    return int(count)


def spread_seeds(seed: int | Sequence[int], count: int) -> list[int]:
    """One seed per world: one number is the first world's and the others count up, or there is one for each."""
    seeds = list(seed) if isinstance(seed, Sequence | np.ndarray) else [seed]
    if len(seeds) == 1:
        check_seeds(seeds)
        seeds = [int(seeds[0]) + i for i in range(count)]
    if len(seeds) != count:
        raise SaddleError(f"there are {count} worlds but {len(seeds)} seeds: give one seed, or one for each")
    check_seeds(seeds)
    return seeds


def world_keys(seeds: Sequence[int]) -> Array:
    """One PRNG key per seed: reset(seed=s) is task.reset(jax.random.key(s)). -> [N]."""
    check_seeds(seeds)
    return jax.vmap(jax.random.key)(np.asarray(seeds, np.uint32))
