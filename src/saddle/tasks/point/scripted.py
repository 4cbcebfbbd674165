"""The reference's scripted policies: steer by one lidar."""

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.lidar import BINS

SENSORS = 12  # entries of the observation before the lidars


def nth_lidar(obs: Array, n: int) -> Array:
    """The n-th lidar [16] of an observation [obs_dim]."""
    first = SENSORS + n * BINS
    return obs[first : first + BINS]


def heading(lidar: Array) -> Array:
    """Angle in radians, left of ahead, at which the lidar [16] sees its object."""
    angles = 2 * jnp.pi * (jnp.arange(BINS) + 0.5) / BINS
    left = jnp.sum(lidar * jnp.sin(angles))
    ahead = jnp.sum(lidar * jnp.cos(angles))
    return jnp.arctan2(left, ahead)


def drive_to(lidar: Array) -> Array:
    """Turn to what the lidar [16] sees, and drive when it is ahead. -> action [2]."""
    angle = heading(lidar)
    throttle = jnp.where(jnp.abs(angle) < 0.5, 1.0, 0.0)
    turn = jnp.clip(1.5 * angle, -1, 1)
    return jnp.stack([throttle, turn])


def keep_left(lidar: Array) -> Array:
    """Drive on with what the lidar [16] sees on the left. -> action [2]."""
    off = heading(lidar) - jnp.pi / 2
    off = jnp.where(off < -jnp.pi, off + 2 * jnp.pi, off)
    throttle = jnp.ones_like(off)
    turn = jnp.clip(off, -1, 1)
    return jnp.stack([throttle, turn])
