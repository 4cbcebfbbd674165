"""The reference's pseudo-lidar: 16 bins of closeness, each object smeared over its bin and the two
neighbours.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.body import Planar

BINS = 16
# Of the bins, in bins, within [-8, 8)
_CENTRES = [(k + 0.5 + BINS // 2) % BINS - BINS // 2 for k in range(BINS)]


def lidar(q: Planar, objects: Array, reach: float) -> Array:
    """Closeness of the nearest object per bin, in [0, 1].

    q: pose of the robot; objects [n, 2]: world xy; reach: distance in metres at which a reading
    fades to 0. Returns [16]; bin k covers the angles [k, k+1) * 2 pi / 16 left of the robot's
    heading.
    """
    return lidars(q, (objects,), reach)[0]


def lidars(q: Planar, groups: Sequence[Array], reach: float) -> list[Array]:
    """One lidar per group of objects: groups of [n, 2] -> readings of [16] each, computed in one
    go.
    """
    readings = _readings(q, jnp.concatenate(groups), reach)
    found = []
    start = 0
    for group in groups:
        end = start + len(group)
        found.append(jnp.max(readings[start:end], axis=0))
        start = end
    return found


def _readings(q: Planar, objects: Array, reach: float) -> Array:
    """[n, 16]: each object on its own.

    An object fills the bin it is in, and the two neighbours in proportion to how near it is to
    them. In units of a bin that is a trapezoid: 1 up to half a bin from the bin's centre, then
    falling to 0 over one bin.
    """
    c = jnp.cos(q.yaw)
    s = jnp.sin(q.yaw)
    dx = objects[:, 0] - q.x
    dy = objects[:, 1] - q.y
    ahead = c * dx + s * dy
    left = c * dy - s * dx
    closeness = jnp.maximum(0, reach - jnp.hypot(dx, dy)) / reach
    angle = jnp.arctan2(left, ahead) * (BINS / (2 * jnp.pi))
    off = angle[:, None] - jnp.asarray(_CENTRES, angle.dtype)
    off = off - BINS * jnp.round(off / BINS)
    share = jnp.clip(1.5 - jnp.abs(off), 0, 1)
    return share * closeness[:, None]
