"""Transitions that a population keeps: a ring of rows for each member, all filled alike.

Every observation is stored once. What followed a row is what its world saw next, which is the
observation of the row W places further on. Three kinds of rows are different: those of the newest
step, whose next observation has not been acted on yet (`front`); those that terminated, which no
value follows; and those after which the world showed something else, since an episode ran out of
time or a world was started anew (`ends`).

Axes: M members, C rows that a member has room for, W worlds of a member, E observations at ends,
N rows that are written or drawn at a time.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Num

from saddle.collect.rollout import Rollout, by_member
from saddle.learners.sac.settings import SAC
from saddle.tasks.spec import TaskSpec

NEXT_ROW, NOTHING = 0, -1
"""What follows a row, where it is not the number of an observation in `ends`, from 1 on."""


class Replay(NamedTuple):
    """Rows, the newest over the oldest. Observations and actions of type bf16 are kept as their
    bits, which files can hold.
    """

    seen: Array  # [M, C, obs + action]: observation, action
    signal: Array  # [M, C, S]: reward, costs
    follows: Array  # [M, C] int32: NEXT_ROW, NOTHING, or a number
    front: Array  # [M, W, obs]: what the newest step led to
    ends: Array  # [M, E, obs]: number n at n % E
    ended: Array  # [M] int32: observations at ends so far


class Batch(NamedTuple):
    """Transitions of one member, or of all."""

    obs: Float[Array, "*M N obs"]
    next_obs: Float[Array, "*M N obs"]
    """The true one, also where an episode ended; anything where no value follows."""
    action: Num[Array, "*M N action"]
    signal: Float[Array, "*M N S"]
    """Reward, costs."""
    goes_on: Float[Array, "*M N"]
    """0 where the episode terminated before its time limit, else 1: values follow."""


def empty(sac: SAC, spec: TaskSpec) -> Replay:
    """Of one member, [C, ...]."""
    kind = jnp.uint16 if sac.replay_type == "bf16" else jnp.float32
    worlds = sac.worlds_for(spec.episode_length)
    room_for_ends = _room_for_ends(sac, spec, worlds)
    return Replay(
        seen=jnp.zeros((sac.replay, spec.obs_dim + spec.action_dim), kind),
        signal=jnp.zeros((sac.replay, 1 + len(spec.constraints))),
        follows=jnp.zeros(sac.replay, jnp.int32),
        front=jnp.zeros((worlds, spec.obs_dim), kind),
        ends=jnp.zeros((room_for_ends, spec.obs_dim), kind),
        ended=jnp.zeros((), jnp.int32),
    )


def _room_for_ends(sac: SAC, spec: TaskSpec, worlds: int) -> int:
    """As many as C rows can have if episodes end by their time limit alone; worlds begin in the
    middle of an episode, and a run may go on with other worlds.
    """
    by_time = sac.replay // spec.episode_length + 2 * worlds
    return max(by_time, sac.cycle)


def written(replay: Replay, rollout: Rollout, before: Array) -> Replay:
    """With a rollout's steps [T, M, W, ...] as rows. before []: rows that were written so far."""
    kind = replay.seen.dtype
    both = jnp.concatenate([rollout.obs, rollout.action], -1)
    seen = by_member(_narrow(both, kind))
    over = by_member(rollout.terminated & ~rollout.truncated)
    room = replay.seen.shape[1]
    places = (before + jnp.arange(seen.shape[1])) % room
    next_obs = _narrow(rollout.next_obs, kind)
    with_rows = replay._replace(
        seen=replay.seen.at[:, places].set(seen),
        signal=replay.signal.at[:, places].set(by_member(rollout.signal)),
        follows=replay.follows.at[:, places].set(jnp.where(over, NOTHING, NEXT_ROW)),
        front=next_obs[-1],
    )
    expected = by_member(jnp.concatenate([replay.front[None], next_obs[:-1]]))
    shown = _narrow(by_member(rollout.obs), kind)
    return _with_ends(with_rows, expected, shown, before)


def _with_ends(replay: Replay, expected: Array, shown: Array, before: Array) -> Replay:
    """With what really followed where a world showed something else: expected, shown [M, N, obs],
    of the steps that were just written. Their predecessors' rows get a number each.
    """
    count = shown.shape[1]
    room = replay.seen.shape[1]
    room_for_ends = replay.ends.shape[1]
    worlds = replay.front.shape[1]
    number = jnp.arange(count)
    predecessors = (before + number - worlds) % room
    # Those of the cycle before are there as far as the ring did not come round to them.
    there = (number >= worlds) | (before > 0) & (number >= count + worlds - room)

    def of_member(own: Replay, expected: Array, shown: Array) -> tuple[Array, Array, Array]:
        differs = (expected != shown).any(-1) & there
        apart = differs & (own.follows[predecessors] != NOTHING)
        numbers = own.ended + jnp.cumsum(apart, dtype=jnp.int32)
        rows = jnp.where(apart, predecessors, room)
        places = jnp.where(apart, numbers % room_for_ends, room_for_ends)
        follows = own.follows.at[rows].set(numbers, mode="drop")
        ends = own.ends.at[places].set(expected, mode="drop")
        return follows, ends, numbers[-1]

    follows, ends, ended = jax.vmap(of_member)(replay, expected, shown)
    return replay._replace(follows=follows, ends=ends, ended=ended)


def drawn(replay: Replay, keys: Array, count: int, filled: Array, obs_dim: int) -> Batch:
    """Rows [M, count] of every member, uniform and with replacement among those that are filled.
    keys [M]; filled []: rows that were written so far.
    """
    rows = jnp.minimum(filled, replay.seen.shape[1])

    def draw(key: Array) -> Array:
        return jax.random.randint(key, (count,), 0, rows)

    return transitions(replay, jax.vmap(draw)(keys), filled, obs_dim)


def transitions(replay: Replay, places: Int[Array, "M N"], filled: Array, obs_dim: int) -> Batch:
    """The rows at these places of the ring. filled []: rows that were written so far."""

    def of_member(own: Replay, places: Array) -> Batch:
        return _of_member(own, places, filled, obs_dim)

    return jax.vmap(of_member)(replay, places)


def _of_member(replay: Replay, places: Array, filled: Array, obs_dim: int) -> Batch:
    """The same of one member [C, ...]. places [N]."""
    room = replay.seen.shape[0]
    room_for_ends = replay.ends.shape[0]
    worlds = replay.front.shape[0]
    here = replay.seen[places]
    obs = here[:, :obs_dim]
    action = here[:, obs_dim:]
    follows = replay.follows[places]

    age = (filled - 1 - places) % room  # 0 of the row that was written last
    newest = age < worlds
    world = jnp.clip(worlds - 1 - age, 0)
    at_end = follows > 0
    # Tasks that cut episodes short themselves may have more ends than there is room for.
    lost = follows <= replay.ended - room_for_ends

    next_obs = replay.seen[(places + worlds) % room, :obs_dim]
    end = jnp.where(lost[:, None], obs, replay.ends[follows % room_for_ends])
    next_obs = jnp.where(at_end[:, None], end, next_obs)
    next_obs = jnp.where(newest[:, None], replay.front[world], next_obs)
    return Batch(
        obs=_wide(obs),
        next_obs=_wide(next_obs),
        action=_wide(action),
        signal=replay.signal[places],
        goes_on=(follows != NOTHING).astype(jnp.float32),
    )


def _narrow(x: Array, kind: jnp.dtype) -> Array:
    if kind != jnp.uint16:
        return x
    return jax.lax.bitcast_convert_type(x.astype(jnp.bfloat16), jnp.uint16)


def _wide(x: Array) -> Array:
    if x.dtype != jnp.uint16:
        return x
    return jax.lax.bitcast_convert_type(x, jnp.bfloat16).astype(jnp.float32)
