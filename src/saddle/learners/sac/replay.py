"""Transitions that a population keeps: a ring of rows for each member, all filled alike.

Axes: M members, C rows that a member has room for, N rows that are written or drawn at a time.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Num

from saddle.collect.rollout import Rollout, by_member
from saddle.learners.sac.settings import SAC
from saddle.tasks.spec import TaskSpec


class Replay(NamedTuple):
    """Rows, the newest over the oldest. Those of type bf16 are kept as their bits, which files can
    hold.
    """

    seen: Array  # [M, C, 2 obs + action]: observation, next observation, action
    met: Array  # [M, C, S + 1]: reward, costs, and 1 where nothing follows


class Batch(NamedTuple):
    """Transitions of one member, or of all."""

    obs: Float[Array, "*M N obs"]
    next_obs: Float[Array, "*M N obs"]
    """The true one, also where an episode ended."""
    action: Num[Array, "*M N action"]
    signal: Float[Array, "*M N S"]
    """Reward, costs."""
    goes_on: Float[Array, "*M N"]
    """0 where the episode terminated before its time limit, else 1: values follow."""


def empty(sac: SAC, spec: TaskSpec) -> Replay:
    """Of one member, [C, ...]."""
    narrow = sac.replay_type == "bf16"
    seen = 2 * spec.obs_dim + spec.action_dim
    return Replay(
        jnp.zeros((sac.replay, seen), jnp.uint16 if narrow else jnp.float32),
        jnp.zeros((sac.replay, 2 + len(spec.constraints))),
    )


def written(replay: Replay, rollout: Rollout, before: Array) -> Replay:
    """With a rollout's steps [T, M, W, ...] as rows. before []: rows that were written so far."""
    over = rollout.terminated & ~rollout.truncated
    seen = jnp.concatenate([rollout.obs, rollout.next_obs, rollout.action], -1)
    met = jnp.concatenate([rollout.signal, over[..., None].astype(jnp.float32)], -1)
    seen = by_member(_narrow(seen, replay.seen.dtype))
    met = by_member(met)
    places = (before + jnp.arange(seen.shape[1])) % replay.seen.shape[1]
    return Replay(replay.seen.at[:, places].set(seen), replay.met.at[:, places].set(met))


def drawn(replay: Replay, keys: Array, count: int, filled: Array, obs_dim: int) -> Batch:
    """Rows [M, count] of every member, uniform and with replacement among those that are filled.
    keys [M]; filled []: rows that were written so far.
    """
    filled = jnp.minimum(filled, replay.seen.shape[1])

    def of_member(seen: Array, met: Array, key: Array) -> tuple[Array, Array]:
        places = jax.random.randint(key, (count,), 0, filled)
        return _wide(seen[places]), met[places]

    seen, met = jax.vmap(of_member)(replay.seen, replay.met, keys)
    obs, next_obs, action = jnp.split(seen, [obs_dim, 2 * obs_dim], -1)
    return Batch(obs, next_obs, action, signal=met[..., :-1], goes_on=1 - met[..., -1])


def _narrow(x: Array, kind: jnp.dtype) -> Array:
    if kind != jnp.uint16:
        return x
    return jax.lax.bitcast_convert_type(x.astype(jnp.bfloat16), jnp.uint16)


def _wide(x: Array) -> Array:
    if x.dtype != jnp.uint16:
        return x
    return jax.lax.bitcast_convert_type(x, jnp.bfloat16).astype(jnp.float32)
