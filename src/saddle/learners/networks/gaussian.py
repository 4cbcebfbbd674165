"""The policy: a diagonal Gaussian whose mean comes from a network, for one member."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.learners.networks import plain
from saddle.learners.networks.plain import Net, NetworkSettings


class Actor(NamedTuple):
    """A diagonal Gaussian: its mean comes from a network, its spread does not depend on the
    observation.
    """

    net: Net
    log_std: Array  # [action_dim]


def init_actor(
    key: Array, settings: NetworkSettings, obs_dim: int, action_dim: int, log_std: float
) -> Actor:
    """An untrained policy."""
    return Actor(
        plain.init_net(key, (obs_dim, *settings.hidden, action_dim)),
        jnp.full(action_dim, log_std, jnp.float32),
    )


def mean(settings: NetworkSettings, actor: Actor, x: Array) -> Array:
    """The policy's mean. x [..., obs_dim] -> [..., action_dim]."""
    return plain.output(settings, actor.net, x)


def log_prob(actor: Actor, mean: Array, action: Array) -> Array:
    """Of a diagonal Gaussian. mean, action [..., action_dim] -> [...]."""
    scaled = (action - mean) * jnp.exp(-actor.log_std)
    return jnp.sum(-0.5 * scaled**2 - actor.log_std - 0.5 * jnp.log(2 * jnp.pi), axis=-1)


def kl(mean_old: Array, log_std_old: Array, mean: Array, log_std: Array) -> Array:
    """KL(old, new) of diagonal Gaussians, summed over action_dim. [..., action_dim] -> [...]."""
    ratio = jnp.exp(2 * (log_std_old - log_std))
    shift = ((mean_old - mean) * jnp.exp(-log_std)) ** 2
    return jnp.sum(0.5 * (ratio + shift - 1) + log_std - log_std_old, axis=-1)


def entropy(log_std: Array) -> Array:
    """Of the policy, averaged over action_dim as the published study's learner does."""
    return jnp.mean(0.5 + 0.5 * jnp.log(2 * jnp.pi) + log_std, axis=-1)
