"""Totals of episodes: running ones, those that finished, and the window of recent ones that the
multiplier sees.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

WORST = 0.1  # share of episodes, those of the highest cost, that the tail's mean is taken over

# An episode is a vector [2 + m]: return, length, cost of each constraint.


class Window(NamedTuple):
    """The last finished episodes of one member, newest last."""

    episodes: Array  # [window, 2 + m]
    count: Array  # [] int32, how many entries at the end are real


def empty(window: int, m: int) -> Window:
    """No episode yet."""
    return Window(jnp.zeros((window, 2 + m)), jnp.zeros((), jnp.int32))


def push(window: Window, finished: Array, ended: Array) -> Window:
    """Take in finished [N, 2 + m] where ended [N], in order."""
    size = window.episodes.shape[0]
    real = jnp.concatenate([_real(window), ended])
    every = jnp.concatenate([window.episodes, finished])
    from_end = jnp.cumsum(real[::-1])[::-1]  # 1 for the newest
    place = jnp.where(real & (from_end <= size), size - from_end, size)
    kept = jnp.zeros_like(window.episodes).at[place].set(every, mode="drop")
    count = window.count + jnp.sum(ended, dtype=jnp.int32)
    return Window(kept, jnp.minimum(count, size))


def _real(window: Window) -> Bool[Array, " window"]:
    """Which entries of a window are episodes."""
    size = window.episodes.shape[0]
    return jnp.arange(size) >= size - window.count


def mean(window: Window) -> Array:
    """[2 + m]; NaN without an episode."""
    return _mean(window.episodes, _real(window)[:, None], window.count)


def finished_mean(finished: Array, ended: Array) -> Array:
    """[2 + m] over finished [N, 2 + m] where ended [N]; NaN without an episode."""
    return _mean(finished, ended[:, None], jnp.sum(ended))


def worst_mean(window: Window) -> Array:
    """Each cost's mean [m] over the tenth of the window's episodes in which it was highest, an
    episode in part where a tenth is not whole: CVaR at 90 %. NaN without an episode.
    """
    size = window.episodes.shape[0]
    costs = jnp.where(_real(window)[:, None], window.episodes[:, 2:], -jnp.inf)
    worst_first = -jnp.sort(-costs, axis=0)
    wanted = WORST * window.count
    weight = jnp.clip(wanted - jnp.arange(size), 0.0, 1.0)[:, None]
    total = jnp.sum(jnp.where(weight > 0, weight * worst_first, 0.0), 0)
    is_any = window.count > 0
    return jnp.where(is_any, total / jnp.maximum(wanted, WORST), jnp.nan)


def metrics(
    finished: Array, counted: Array, window: Window, recent: Array, limits: Array
) -> dict[str, Array]:
    """What an epoch's metrics say of episodes, of all members: of those that it finished, [M, N,
    2 + m] where counted [M, N], and of the windows, whose means are `recent` [M, 2 + m]. limits
    [M, m].
    """
    own = jax.vmap(finished_mean)(finished, counted)
    above = counted[..., None] & (finished[..., 2:] > limits[:, None])
    return {
        "return": own[:, 0],
        "length": own[:, 1],
        "cost": own[:, 2:],
        "episodes": jnp.sum(counted, 1),
        "window_return": recent[:, 0],
        "window_length": recent[:, 1],
        "window_cost": recent[:, 2:],
        "episodes_above": jnp.sum(above, 1, dtype=jnp.int32),
        "window_cvar": jax.vmap(worst_mean)(window),
    }


def _mean(
    episodes: Float[Array, "N numbers"], real: Bool[Array, "N 1"], count: Int[Array, ""]
) -> Float[Array, " numbers"]:
    """Over those that are real, which are `count`; NaN where none is."""
    is_any = count > 0
    total = jnp.sum(jnp.where(real, episodes, 0.0), 0)
    return jnp.where(is_any, total / jnp.maximum(count, 1), jnp.nan)
