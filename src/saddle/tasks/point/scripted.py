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
    return jnp.arctan2(jnp.sum(lidar * jnp.sin(angles)), jnp.sum(lidar * jnp.cos(angles)))


def drive_to(lidar: Array) -> Array:
    """Turn to what the lidar [16] sees, and drive when it is ahead. -> action [2]."""
    angle = heading(lidar)
    return jnp.stack([jnp.where(jnp.abs(angle) < 0.5, 1.0, 0.0), jnp.clip(1.5 * angle, -1, 1)])


def keep_left(lidar: Array) -> Array:
    """Drive on with what the lidar [16] sees on the left. -> action [2]."""
    off = heading(lidar) - jnp.pi / 2
    off = jnp.where(off < -jnp.pi, off + 2 * jnp.pi, off)
    return jnp.stack([jnp.ones_like(off), jnp.clip(off, -1, 1)])
