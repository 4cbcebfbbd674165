"""Totals of episodes: running ones, those that finished, and the window of recent ones that the
multiplier sees.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

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
    real = jnp.concatenate([jnp.arange(size) >= size - window.count, ended])
    every = jnp.concatenate([window.episodes, finished])
    from_end = jnp.cumsum(real[::-1])[::-1]  # 1 for the newest
    place = jnp.where(real & (from_end <= size), size - from_end, size)
    kept = jnp.zeros_like(window.episodes).at[place].set(every, mode="drop")
    return Window(kept, jnp.minimum(window.count + jnp.sum(ended, dtype=jnp.int32), size))


def mean(window: Window) -> Array:
    """[2 + m]; NaN without an episode."""
    size = window.episodes.shape[0]
    real = (jnp.arange(size) >= size - window.count)[:, None]
    return _mean(window.episodes, real, window.count)


def finished_mean(finished: Array, ended: Array) -> Array:
    """[2 + m] over finished [N, 2 + m] where ended [N]; NaN without an episode."""
    return _mean(finished, ended[:, None], jnp.sum(ended))


def metrics(finished: Array, counted: Array, recent: Array) -> dict[str, Array]:
    """What an epoch's metrics say of episodes, of all members: of those that it finished, [M, N,
    2 + m] where counted [M, N], and of the windows' means [M, 2 + m].
    """
    own = jax.vmap(finished_mean)(finished, counted)
    return {
        "return": own[:, 0],
        "length": own[:, 1],
        "cost": own[:, 2:],
        "episodes": jnp.sum(counted, 1),
        "window_return": recent[:, 0],
        "window_length": recent[:, 1],
        "window_cost": recent[:, 2:],
    }


def _mean(episodes: Array, real: Array, count: Array) -> Array:
    return jnp.where(
        count > 0, jnp.sum(jnp.where(real, episodes, 0.0), 0) / jnp.maximum(count, 1), jnp.nan
    )
