"""Spaces of a task, and checks of what a user hands in."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from gymnasium import logger
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space
from jax import Array

from saddle.errors import SaddleError
from saddle.seeds import check_seeds
from saddle.tasks.spec import TaskSpec


def action_space(task: Any) -> Space[Any]:
    """[-1, 1] in every direction, in the task's `action_dtype` if it has one, else in float32; or
    the choices.
    """
    choices = task.spec.choices
    if len(choices) == 1:
        return Discrete(choices[0])
    if choices:
        return MultiDiscrete(choices)
    return Box(-1.0, 1.0, (task.spec.action_dim,), getattr(task, "action_dtype", np.float32))


def observation_space(task: Any) -> Box:
    """Within the task's `obs_bounds` if it has some, else unbounded. float64 as in the
    reference.
    """
    if not hasattr(task, "obs_bounds"):
        return Box(-np.inf, np.inf, (task.spec.obs_dim,), np.float64)
    low, high = task.obs_bounds()
    return Box(low, high, dtype=np.float64)


def check_scene(task: Any, render_mode: str | None) -> None:
    """A task that can be drawn has a member `top_view`; another one has no render mode."""
    if render_mode is not None and not hasattr(task, "top_view"):
        raise SaddleError(f"{task.spec.name} has no scene to draw; make it without a render_mode")


def check_choices(action: Any, shape: tuple[int, ...], choices: tuple[int, ...]) -> np.ndarray:
    """The choices as int32 of that shape, or one line that says what is wrong with them.

    A single choice may come without an axis of its own, as Gymnasium's Discrete draws it.
    """
    given = np.asarray(action)
    if len(choices) == 1 and given.shape == shape[:-1]:
        given = given[..., None]
    if given.dtype.kind not in "iu":
        raise SaddleError(f"a choice must be a whole number, not {given.dtype}")
    if given.shape != shape:
        raise SaddleError(f"an action must have shape {shape}, this one has {given.shape}")
    if (given < 0).any() or (given >= np.array(choices)).any():
        raise SaddleError(f"a choice must be 0 or more and below {list(choices)}, not {action}")
    return given.astype(np.int32)


def check_action_of(spec: TaskSpec, action: Any, worlds: tuple[int, ...] = ()) -> np.ndarray:
    """What a user hands in for one world, or for so many, as the task takes it."""
    shape = (*worlds, spec.action_dim)
    if spec.choices:
        return check_choices(action, shape, spec.choices)
    return check_action(action, shape)


def check_action(action: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The action as float32 of that shape, or one line that says what is wrong with it."""
    try:
        given = np.asarray(action)
    except ValueError:
        raise SaddleError(
            f"an action must be an array of shape {shape}; this one is ragged"
        ) from None
    if given.dtype.kind not in "fiu":
        raise SaddleError(f"an action must hold real numbers, not {given.dtype}")
    if given.shape != shape:
        raise SaddleError(f"an action must have shape {shape}, this one has {given.shape}")
    with np.errstate(over="ignore"):
        action = given.astype(np.float32)
    if not np.isfinite(action).all():
        raise SaddleError(
            "an action must be finite, this one holds NaN or infinity; check the policy that "
            "made it"
        )
    return action


def check_render_mode(render_mode: str | None, known: Sequence[str]) -> str | None:
    """The render mode itself, if it is one that we have."""
    if render_mode is not None and render_mode not in known:
        raise SaddleError(
            f"unknown render_mode {render_mode!r}; use {' or '.join(map(repr, known))} or None"
        )
    return render_mode


def renders(mode: str | None) -> bool:
    """Whether there is a render mode; without one, render() warns."""
    if mode is None:
        logger.warn(
            "render() draws nothing without a render mode: make the environment with "
            "render_mode='rgb_array'"
        )
    return mode is not None


def check_count(count: int, what: str) -> int:
    """A positive whole number."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise SaddleError(f"{what} must be a whole number of at least 1, not {count!r}")
    return int(count)


def spread_seeds(seed: int | Sequence[int], count: int) -> list[int]:
    """One seed per world: one number is the first world's and the others count up, or there is one
    for each.
    """
    seeds = list(seed) if isinstance(seed, Sequence | np.ndarray) else [seed]
    if len(seeds) == 1:
        check_seeds(seeds)
        seeds = [int(seeds[0]) + i for i in range(count)]
    if len(seeds) != count:
        raise SaddleError(
            f"there are {count} worlds but {len(seeds)} seeds: give one seed, or one for each"
        )
    check_seeds(seeds)
    return seeds


def world_keys(seeds: Sequence[int]) -> Array:
    """One PRNG key per seed: reset(seed=s) is task.reset(jax.random.key(s)). -> [N]."""
    check_seeds(seeds)
    return jax.vmap(jax.random.key)(np.asarray(seeds, np.uint32))
