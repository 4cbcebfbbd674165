"""Reward-scale invariance: beta weighs costs so that at lambda = 1 reward and cost pull equally
hard.
"""

import jax.numpy as jnp
from jax import Array

from saddle.learners.ppo.settings import PPO

EPSILON = 1e-8


def start(m: int) -> Array:
    """Beta [m] before the first minibatch: none yet."""
    return jnp.full(m, jnp.nan, jnp.float32)


def refresh(ppo: PPO, beta: Array, reward_norm: Array, cost_norms: Array) -> Array:
    """Beta [m] after a minibatch with these gradient norms ([], [m]): the first one as it is, later
    ones smoothed.
    """
    now = reward_norm / (cost_norms + EPSILON)
    smooth = jnp.where(jnp.isnan(beta), now, ppo.rsi_ema * beta + (1 - ppo.rsi_ema) * now)
    return jnp.minimum(smooth, ppo.rsi_max)


def combine(reward_adv: Array, cost_adv: Array, lam: Array, beta: Array) -> Array:
    """(A_r - sum lambda beta A_c) / (1 + sum lambda), each sample at its own multipliers.

    reward_adv [N], cost_adv and lam [N, m], beta [m] -> [N].
    """
    return (reward_adv - jnp.sum(cost_adv * (lam * beta), -1)) / (1 + lam.sum(-1))
