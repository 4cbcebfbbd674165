"""The networks of one member, with what moves them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.learners import adam, scale
from saddle.learners.adam import Adam
from saddle.learners.networks import plain
from saddle.learners.networks.plain import Net
from saddle.learners.networks.squashed import Squashed
from saddle.learners.sac.settings import SAC

Twins = tuple[Net, Net]


class Critics(NamedTuple):
    """Values of an observation and an action."""

    reward: Twins
    costs: tuple[Net, ...]  # m of them


class Networks(NamedTuple):
    """All that updates change."""

    actor: Net
    critics: Critics
    targets: Critics
    actor_adam: Adam
    reward_adam: Adam  # of both twins together
    cost_adams: tuple[Adam, ...]
    log_alpha: Array  # [], of the temperature if that is tuned
    alpha_adam: Adam
    beta: Array  # [m]


def init(key: Array, sac: SAC, obs_dim: int, family: Squashed, constraints: int) -> Networks:
    """Of one untrained member. Targets begin as copies."""
    actor_key, *critic_keys = jax.random.split(key, 3 + constraints)
    actor = plain.init_net(actor_key, (obs_dim, *sac.hidden, family.outputs))
    inputs = obs_dim + family.action_dim
    first, second, *costs = [plain.init_critic(own, sac, inputs) for own in critic_keys]
    critics = Critics((first, second), tuple(costs))
    log_alpha = jnp.zeros(())
    return Networks(
        actor=actor,
        critics=critics,
        targets=critics,
        actor_adam=adam.init(actor),
        reward_adam=adam.init(critics.reward),
        cost_adams=tuple(adam.init(cost) for cost in costs),
        log_alpha=log_alpha,
        alpha_adam=adam.init(log_alpha),
        beta=scale.start(sac, constraints),
    )


def value(sac: SAC, critic: Net, obs: Array, action: Array) -> Array:
    """[N]."""
    return plain.output(sac, critic, jnp.concatenate([obs, action], -1))[:, 0]


def temperature(sac: SAC, networks: Networks) -> Array:
    """The temperature []."""
    return jnp.exp(networks.log_alpha) if sac.tune_alpha else jnp.asarray(sac.alpha)
