"""Auto-reset, in one place: tasks never reset themselves."""

from typing import NamedTuple, TypeVar

import jax
import numpy as np
from jax import Array

from saddle.tasks.rare import patch_rare
from saddle.tasks.task import State, Task

S = TypeVar("S", bound=State)


class Stepped(NamedTuple):
    """What one batched step returns.

    `now` is what to act on next: worlds that ended have been reset and show their first
    observation. `ended` is the same step before any reset: its obs is the true final observation
    (bootstrap on it), and its reward, cost, terminated and truncated are those of the transition.
    """

    now: State
    ended: State


def reset(task: Task[S], keys: Array) -> S:
    """Fresh worlds, one per key. keys [N] -> state with leading axis N."""
    return jax.vmap(task.reset)(keys)


def clocks(episode_length: int, worlds: int) -> np.ndarray:
    """Steps [worlds] spread over an episode: worlds that begin there end one after the other, not
    all at once.
    """
    return np.arange(worlds) * episode_length // worlds


def step(task: Task[S], state: S, actions: Array, together: bool = False) -> Stepped:
    """Step N worlds and reset those that ended. actions [N, action_dim].

    `together` says that the worlds began together, so that in most steps none of them ends: then a
    GPU computes no reset that nobody needs. Results do not depend on it.
    """

    def restart(key: Array) -> S:
        return jax.vmap(lambda k: task.reset(jax.random.split(k)[0]))(key)

    def step_one(state: S, action: Array) -> Stepped:
        ended = task.step(state, action)
        over = ended.terminated | ended.truncated
        now = patch_rare(restart, over, ended.key, ended, seldom=together)
        return Stepped(now, ended)

    return jax.vmap(step_one)(state, actions)
