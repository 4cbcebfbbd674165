"""What collectors hand on. Axes: T steps, M members, W worlds of a member, m constraints."""

from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp
from jax import Array


class Decision(NamedTuple):
    """What one member does in its worlds at one step."""

    action: Array  # [W, action_dim]
    extras: Any  # arrays [W, ...] that its learner wants to find in the rollout again


class Agent(Protocol):
    """Whoever decides. A learner is one."""

    def act(self, actor: Any, obs: Array, key: Array) -> Decision:
        """What one member does in its worlds. obs [W, obs_dim], normalised; the key is this step's
        own.
        """
        ...


class Rollout(NamedTuple):
    """What T steps produced."""

    obs: Array  # [T, M, W, obs_dim], normalised as the policy saw them
    next_obs: Array  # [T, M, W, obs_dim], normalised, before any reset
    action: Array  # [T, M, W, action_dim]
    extras: Any  # [T, M, W, ...], of the learner's decisions
    signal: Array  # [T, M, W, 1 + m]: reward, costs
    terminated: Array  # [T, M, W] bool
    ended: Array  # [T, M, W] bool: terminated or truncated
    finished: Array  # [T, M, W, 2 + m]: return, length, costs of the episode so far
    counted: Array  # [T, M, W] bool: an episode ended here that began at a reset
    diverged: Array | None = (
        None  # [T, M, W] bool: the physics broke down; None where a task does not tell
    )


class Worlds(NamedTuple):
    """Worlds between two epochs."""

    state: Any  # State [M * W] of a JAX task, or a dict of arrays that HostWorlds saved
    seen: Array  # [M, W, obs_dim], the normalised observation to act on
    totals: Array  # [M, W, 2 + m], of the running episodes
    whole: Array  # [M, W] bool: the running episode began at a reset


def by_member(x: Array) -> Array:
    """[T, M, W, ...] -> [M, T * W, ...], in order of time."""
    return jnp.moveaxis(x, 1, 0).reshape(x.shape[1], -1, *x.shape[3:])


def by_time(x: Array, steps: int) -> Array:
    """The inverse of `by_member`: [M, T * W, ...] -> [T, M, W, ...]."""
    return jnp.moveaxis(x.reshape(x.shape[0], steps, -1, *x.shape[2:]), 0, 1)
