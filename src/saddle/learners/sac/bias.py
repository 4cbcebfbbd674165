"""What critics said as an episode began, beside what it came to: where they differ on average, the
critics are off, and no multiplier rule can mend that.

Axes: T steps, M members, W worlds of a member, m constraints; S = 1 + m signals, reward and costs.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.collect.rollout import Rollout
from saddle.learners.networks.plain import Net
from saddle.learners.sac.actions import Actions
from saddle.learners.sac.networks import Critics, cautious, values
from saddle.learners.sac.settings import SAC
from saddle.tasks.spec import TaskSpec


class Running(NamedTuple):
    """Episodes of one member, or of all, that have not ended."""

    said: Array  # [W, S], critics' values of the first action; NaN where that was random
    gained: Array  # [W, S], discounted reward and costs so far


def begin(sac: SAC, spec: TaskSpec) -> Running:
    """Before the first step of one member."""
    worlds = sac.worlds_for(spec.episode_length)
    signals = 1 + len(spec.constraints)
    return Running(
        said=jnp.full((worlds, signals), jnp.nan, jnp.float32),
        gained=jnp.zeros((worlds, signals), jnp.float32),
    )


def said(sac: SAC, actions: Actions, critics: Critics, obs: Array, action: Array) -> Array:
    """What one member's actor goes by, [N, S]: the lower twin, and cautious costs. obs [N,
    obs_dim], action [N, A].
    """

    def value(critic: Net) -> Array:
        every = values(sac, actions, critic, obs, action)
        return actions.taken(every, action)

    first, second = (value(twin) for twin in critics.reward)
    costs = []
    for ensemble in critics.costs:
        of_ensemble = jnp.stack([value(critic) for critic in ensemble])
        costs.append(cautious(sac, of_ensemble))
    return jnp.stack([jnp.minimum(first, second), *costs], -1)


def followed(
    sac: SAC, actions: Actions, critics: Critics, running: Running, rollout: Rollout, random: Array
) -> tuple[Running, dict[str, Array]]:
    """Episodes after a rollout, and means over those that ended in it, NaN where none did:
    `start_q_r` [M] and `start_q_c` [M, m], what critics said of their first actions; `start_mc_r`
    and `start_mc_c`, what they came to, discounted. random []: whether actions were.

    Episodes that began at random are left out. Those cut off by their time limit lack what critics
    expect after it, a share of gamma to the power of their length.
    """
    every_said = jnp.where(random, jnp.nan, _said_in(sac, actions, critics, rollout))
    constraints = rollout.signal.shape[-1] - 1
    gammas = jnp.array([sac.gamma] + [sac.cost_gamma] * constraints)

    def step(running: Running, now: tuple[Array, Array, Array]) -> tuple[Running, Array]:
        said_now, signal, length = now
        begins = (length == 1)[..., None]
        discount = gammas ** (length[..., None] - 1)
        after = Running(
            said=jnp.where(begins, said_now, running.said),
            gained=jnp.where(begins, 0.0, running.gained) + discount * signal,
        )
        return after, jnp.stack([after.said, after.gained])

    lengths = rollout.finished[..., 1]
    running, found = jax.lax.scan(step, running, (every_said, rollout.signal, lengths))
    began_by_policy = jnp.isfinite(found[:, 0]).all(-1)  # found [T, said and gained, M, W, S]
    counts = (rollout.counted & began_by_policy)[:, None, ..., None]
    total = jnp.sum(jnp.where(counts, found, 0.0), (0, 3))
    of_critics, came = total / jnp.sum(counts, (0, 3))
    return running, {
        "start_q_r": of_critics[:, 0],
        "start_q_c": of_critics[:, 1:],
        "start_mc_r": came[:, 0],
        "start_mc_c": came[:, 1:],
    }


def _said_in(sac: SAC, actions: Actions, critics: Critics, rollout: Rollout) -> Array:
    """Of every action of a rollout, [T, M, W, S]."""
    steps, _, worlds, _ = rollout.signal.shape

    def of_member(critics: Critics, obs: Array, action: Array) -> Array:
        obs = obs.reshape(steps * worlds, -1)
        action = action.reshape(steps * worlds, -1)
        found = said(sac, actions, critics, obs, action)
        return found.reshape(steps, worlds, -1)

    over_members = jax.vmap(of_member, in_axes=(0, 1, 1), out_axes=1)
    return over_members(critics, rollout.obs, rollout.action)
