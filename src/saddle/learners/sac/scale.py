"""Reward-scale invariance: beta weighs costs so that at lambda = 1 reward and cost pull equally
hard.
"""

import math

import jax.numpy as jnp
from jax import Array

from saddle.learners.sac.settings import SAC

EPSILON = 1e-8


def start(sac: SAC, m: int) -> Array:
    """Beta [m] before the first look: none yet, or 1 where it is bounded or off."""
    free = sac.rsi and math.isinf(sac.rsi_max)
    return jnp.full(m, jnp.nan if free else 1.0, jnp.float32)


def is_due(sac: SAC, number: Array) -> Array:
    """Whether the actor update of that number, from 1, looks at the gradients."""
    return (number == 1) | (number % sac.rsi_every == 0)


def refreshed(sac: SAC, beta: Array, reward_norm: Array, cost_norms: Array) -> Array:
    """Beta [m] after a look that found these norms ([], [m]): the first ratio as it is, later ones
    smoothed.
    """
    now = reward_norm / (cost_norms + EPSILON)
    if math.isfinite(sac.rsi_max):
        now = jnp.clip(now, 1 / sac.rsi_max, sac.rsi_max)
    return jnp.where(jnp.isnan(beta), now, sac.rsi_ema * beta + (1 - sac.rsi_ema) * now)
