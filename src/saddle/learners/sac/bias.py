"""What critics said as an episode began, beside what it came to: where they differ on average, the
critics are off, and no multiplier rule can mend that.

Axes: T steps, M members, W worlds of a member, m constraints; S = 1 + m signals, reward and costs.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.collect.rollout import Rollout
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
    shape = (sac.worlds_for(spec.episode_length), 1 + len(spec.constraints))
    return Running(jnp.full(shape, jnp.nan, jnp.float32), jnp.zeros(shape, jnp.float32))


def said(sac: SAC, actions: Actions, critics: Critics, obs: Array, action: Array) -> Array:
    """What one member's actor goes by, [N, S]: the lower twin, and cautious costs. obs [N,
    obs_dim], action [N, A].
    """

    def value(critic: tuple) -> Array:
        return actions.taken(values(sac, actions, critic, obs, action), action)

    first, second = map(value, critics.reward)
    costs = [cautious(sac, jnp.stack(list(map(value, own)))) for own in critics.costs]
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
    steps, _, worlds, _ = rollout.signal.shape

    def by_critics(critics: Critics, obs: Array, action: Array) -> Array:
        flat = [x.reshape(steps * worlds, -1) for x in (obs, action)]
        return said(sac, actions, critics, *flat).reshape(steps, worlds, -1)

    every = jax.vmap(by_critics, (0, 1, 1), 1)(critics, rollout.obs, rollout.action)
    every = jnp.where(random, jnp.nan, every)
    costs = rollout.signal.shape[-1] - 1
    discounts = jnp.array([sac.gamma] + [sac.cost_gamma] * costs)

    def step(running: Running, x: tuple[Array, Array, Array]) -> tuple[Running, Array]:
        said_now, signal, length = x
        begins = (length == 1)[..., None]
        discount = discounts ** (length[..., None] - 1)
        after = Running(
            said=jnp.where(begins, said_now, running.said),
            gained=jnp.where(begins, 0.0, running.gained) + discount * signal,
        )
        return after, jnp.stack([after.said, after.gained])

    lengths = rollout.finished[..., 1]
    running, found = jax.lax.scan(step, running, (every, rollout.signal, lengths))
    counts = (rollout.counted & jnp.isfinite(found[:, 0]).all(-1))[:, None, ..., None]
    means = jnp.sum(jnp.where(counts, found, 0.0), (0, 3)) / jnp.sum(counts, (0, 3))
    of_critics, came = means
    return running, {
        "start_q_r": of_critics[:, 0],
        "start_q_c": of_critics[:, 1:],
        "start_mc_r": came[:, 0],
        "start_mc_c": came[:, 1:],
    }
