"""What both collectors do around a step: normalise observations, keep totals of episodes, draw
keys.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from saddle.collect import normalise
from saddle.collect.normalise import Moments
from saddle.collect.rollout import Agent, Decision, Rollout, Worlds
from saddle.collect.settings import CollectSettings

RESET, ACT, CONTEXT = 0, 1, 3  # what a member's epoch key is folded with; members.LEARN is 2


def first_keys(keys: Array, worlds: int) -> Array:
    """One key per world, from the members' keys [M] -> [M * W]."""

    def of_member(key: Array) -> Array:
        return jax.random.split(jax.random.fold_in(key, RESET), worlds)

    return jax.vmap(of_member)(keys).reshape(-1)


def acting_key(key: Array, t: Array | int) -> Array:
    """What a member draws its actions of step t with, from its epoch's key."""
    return jax.random.fold_in(jax.random.fold_in(key, ACT), t)


def no_moments(members: int, obs_dim: int) -> Moments:
    """[M], nothing seen."""
    return jax.vmap(lambda _: normalise.none(obs_dim))(jnp.arange(members))


def look(
    settings: CollectSettings,
    moments: Moments,
    recent: Moments,
    obs: Array,
    final: Array,
    ended: Array,
) -> tuple[Moments, Array, Array]:
    """Take in what the worlds show and normalise it: one member. obs, final [W, obs_dim], ended
    [W].

    Moments of this epoch are kept apart until its end: adding a few samples to tens of millions
    loses digits.
    """
    if not settings.obs_norm:
        return recent, obs, final
    batch = jnp.concatenate([obs, final])
    present = jnp.concatenate([jnp.ones_like(ended), ended])
    recent = normalise.merge(recent, normalise.of(batch, present))
    both = normalise.merge(moments, recent)
    seen = normalise.apply(both, obs, settings.obs_clip)
    return recent, seen, normalise.apply(both, final, settings.obs_clip)


def contexts(agent: Agent, keys: Array, worlds: int, t: Array | int) -> Array:
    """What the agent draws for the episodes that begin before step t, in every world whether one
    does or not: [M, W, context]. keys [M] of this epoch.
    """
    draw = getattr(agent, "draw_context", None)
    if draw is None:
        return jnp.zeros((keys.shape[0], worlds, 0))

    def of_member(key: Array) -> Array:
        return draw(worlds, jax.random.fold_in(jax.random.fold_in(key, CONTEXT), t))

    return jax.vmap(of_member)(keys)


def with_context(
    before: Array, seen: Array, final: Array, ended: Array, drawn: Array
) -> tuple[Array, Array]:
    """Put contexts behind what worlds show now, seen [M, W, obs_dim], and what they showed before
    any reset, final.

    The running episodes' contexts stand behind `before`, what was acted on; where an episode ended
    [M, W] the next one has the context that was drawn for it [M, W, context].
    """
    running = before[..., seen.shape[-1] :]
    now = jnp.where(ended[..., None], drawn, running)
    return jnp.concatenate([seen, now], -1), jnp.concatenate([final, running], -1)


def begin(
    settings: CollectSettings, moments: Moments, state: Any, obs: Array, drawn: Array, m: int
) -> tuple[Worlds, Moments]:
    """Worlds that have just been reset and show obs [M, W, obs_dim], and the moments of that.

    drawn [M, W, context] are the contexts of the episodes that begin.
    """
    members, count, obs_dim = obs.shape
    nothing = jnp.zeros((members, count), bool)
    recent, seen, _ = jax.vmap(partial(look, settings))(
        moments, no_moments(members, obs_dim), obs, obs, nothing
    )
    seen = jnp.concatenate([seen, drawn], -1)
    return Worlds(state, seen, jnp.zeros((members, count, 2 + m)), ~nothing), recent


def account(
    worlds: Worlds,
    decision: Decision,
    next_obs: Array,
    signal: Array,
    terminated: Array,
    truncated: Array,
) -> tuple[Array, Array, Rollout]:
    """Add a step [M, W] to the running episodes, and close those that ended.

    Returns totals and wholeness of the episodes that now run, and the step as a row of the rollout.
    """
    gained = jnp.concatenate([signal[..., :1], jnp.ones_like(signal[..., :1]), signal[..., 1:]], -1)
    totals = worlds.totals + gained
    ended = terminated | truncated
    row = Rollout(
        obs=worlds.seen,
        next_obs=next_obs,
        action=decision.action,
        extras=decision.extras,
        signal=signal,
        terminated=terminated,
        ended=ended,
        truncated=truncated,
        finished=totals,
        counted=ended & worlds.whole,
    )
    return jnp.where(ended[..., None], 0.0, totals), worlds.whole | ended, row
