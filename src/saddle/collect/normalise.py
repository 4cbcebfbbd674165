"""Running mean and variance of observations, for one member."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

STD_FLOOR = 1e-2  # of what is divided by, in training and by exported policies


class Moments(NamedTuple):
    """Of the observations seen so far."""

    count: Array  # [] int32
    mean: Array  # [obs_dim]
    squares: Array  # [obs_dim], sum of squared deviations from the mean


def none(obs_dim: int) -> Moments:
    """Nothing seen yet."""
    return Moments(jnp.zeros((), jnp.int32), jnp.zeros(obs_dim), jnp.zeros(obs_dim))


def of(batch: Array, present: Array) -> Moments:
    """Of batch [N, obs_dim] where present [N]."""
    count = jnp.sum(present, dtype=jnp.int32)
    kept = present[:, None]
    mean = jnp.sum(jnp.where(kept, batch, 0.0), 0) / jnp.maximum(count, 1)
    return Moments(count, mean, jnp.sum(jnp.where(kept, (batch - mean) ** 2, 0.0), 0))


def merge(a: Moments, b: Moments) -> Moments:
    """Of both together, by the parallel formula of Chan, Golub and LeVeque."""
    count = a.count + b.count
    share = b.count / jnp.maximum(count, 1)
    delta = b.mean - a.mean
    return Moments(
        count, a.mean + share * delta, a.squares + b.squares + delta**2 * share * a.count
    )


def variance(moments: Moments) -> Array:
    """[obs_dim], with n - 1 in the denominator."""
    return moments.squares / jnp.maximum(moments.count - 1, 1)


def apply(moments: Moments, obs: Array, clip: float) -> Array:
    """obs [..., obs_dim] in standard deviations, within [-clip, clip]. A very first observation
    stays as it is.
    """
    std = jnp.maximum(jnp.sqrt(variance(moments)), STD_FLOOR)
    scaled = jnp.clip((obs - moments.mean) / std, -clip, clip)
    return jnp.where(moments.count > 1, scaled, obs)
