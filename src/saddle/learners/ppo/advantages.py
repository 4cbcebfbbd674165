"""Generalised advantage estimation, for the reward and every cost at once."""

import jax
import jax.numpy as jnp
from jax import Array


def gae(
    signal: Array,
    values: Array,
    next_values: Array,
    terminated: Array,
    ended: Array,
    gamma: Array,
    lam: Array,
) -> Array:
    """Advantages [T, ..., S] of S signals (reward, costs), each with its own gamma and lam [S].

    signal, values, next_values [T, ..., S]: next_values[t] is the value of the observation that
    step t led to, before any reset. terminated, ended [T, ...]: nothing follows a terminated step;
    an ended one (terminated or truncated) is the last of its episode. The last step of the segment
    is bootstrapped like a truncated one.
    """
    delta = signal + gamma * next_values * ~terminated[..., None] - values

    def back(after: Array, x: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, ended = x
        now = delta + gamma * lam * ~ended[..., None] * after
        return now, now

    return jax.lax.scan(back, jnp.zeros_like(delta[0]), (delta, ended), reverse=True)[1]


def standardised(advantage: Array, scale: bool) -> Array:
    """Of all samples [N, S] of reward and costs: mean 0; with `scale` the reward's with population
    standard deviation 1. Costs keep their scale: lambda prices it.
    """
    reward, costs = advantage[:, :1], advantage[:, 1:]
    reward = reward - reward.mean(0)
    if scale:
        reward = reward / (reward.std(0) + 1e-8)
    return jnp.concatenate([reward, costs - costs.mean(0)], -1)
