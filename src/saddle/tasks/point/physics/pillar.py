"""An upright cylinder against boxes and spheres."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics.boxes import Box, Points
from saddle.tasks.point.physics.once import once
from saddle.tasks.point.physics.portal import TINY, Pair, Solid, refine, unit
from saddle.tasks.point.physics.vec import Axes, Vec, where

WALL = 0.95  # share of the cylinder's half-height within which the normal is made radial


class Pillar(NamedTuple):
    """Cylinders that stand on the floor: arrays [N], and one size."""

    x: Array
    y: Array
    radius: float
    half_height: float


def pillar_contacts(
    pillar: Pillar, sphere: Vec, radius: float, arrow: Box, parts: Box, slots: int
) -> tuple[Points, Points]:
    """Contacts of the robot, sphere and arrow [2, N], and of one body's parts [slots, 1, N] with a
    pillar.

    sphere and arrow are [N], parts [P, 1, N]; of those at most `slots` are tested, the first that
    come near. All pairs share one loop. The normals point away from the pillar.
    """
    flat = from_box(arrow)
    zero = jnp.zeros_like(sphere.x)
    ball = Solid(sphere, flat.axes, Vec(zero, zero, zero), zero + radius)
    robot = jax.tree.map(lambda *two: jnp.stack(two)[:, None], ball, flat)
    body_is_near, body = _choose(pillar, from_box(parts), slots)
    solid = jax.tree.map(lambda *both: jnp.concatenate(both), robot, body)
    near = jnp.concatenate([is_near(pillar, robot), body_is_near])
    points = cylinder_solid(pillar, solid, near)
    of_robot = jax.tree.map(lambda leaf: leaf[0, :2, 0], points)
    of_body = jax.tree.map(lambda leaf: leaf[0, 2:], points)
    return of_robot, of_body


def from_box(box: Box) -> Solid:
    """Plain boxes."""
    like = box.center.x

    def full(v: Array | float) -> Array:
        return jnp.broadcast_to(jnp.asarray(v, like.dtype), like.shape)

    return Solid(
        center=box.center,
        axes=jax.tree.map(full, box.axes),
        half=Vec(*box.half).map(full),  # type: ignore[arg-type]
        radius=jnp.zeros_like(like),
    )


def is_near(pillar: Pillar, solid: Solid) -> Array:
    """Whether the line of centres, seen from above, does not separate a solid [...] from the
    pillar.
    """
    dx = solid.center.x - pillar.x
    dy = solid.center.y - pillar.y
    far = jnp.sqrt(dx * dx + dy * dy)
    reach = 0
    for half, axis in zip(solid.half, solid.axes, strict=True):
        reach = reach + half * jnp.abs(axis.x * dx + axis.y * dy)
    return far * (far - pillar.radius - solid.radius) <= reach


def _choose(pillar: Pillar, parts: Solid, slots: int) -> tuple[Array, Solid]:
    """Whether there are so many parts [P, ...] near, and the first `slots` of them: [slots,
    ...].
    """
    near = is_near(pillar, parts)
    rank = jnp.cumsum(near, axis=0)
    slot = jnp.arange(1, slots + 1).reshape(slots, *(1,) * rank.ndim)
    chosen = near & (rank == slot)  # [slots, P, ...]

    def pull(part: Array) -> Array:
        return jnp.sum(jnp.where(chosen, part, 0), axis=1)

    center = parts.center.map(pull)
    half = parts.half.map(pull)
    # Parts of a body share their axes.
    axes = jax.tree.map(lambda part: jnp.broadcast_to(part[:1], center.x.shape), parts.axes)
    return jnp.any(chosen, axis=1), Solid(center, axes, half, jnp.zeros_like(center.x))


def cylinder_solid(pillar: Pillar, solid: Solid, near: Array) -> Points:
    """One contact [1, ...] of a pillar with a solid [...], looked for where near; the normal points
    to the solid.
    """
    zero = jnp.zeros((1, *near.shape), pillar.x.dtype)
    nothing = Points(zero > 0, zero, Vec(zero, zero, zero), Vec(zero, zero, zero))
    return jax.lax.cond(jnp.any(near), lambda: _collide(pillar, solid, near), lambda: nothing)


def _collide(pillar: Pillar, solid: Solid, near: Array) -> Points:
    """The same, once something is near."""
    base = Vec(pillar.x, pillar.y, jnp.full_like(pillar.x, pillar.half_height))
    ahead, pair = _from_wall(pillar, solid._replace(center=solid.center - base))
    inside, away, point = refine(pair, near)
    depth = away.norm()
    normal = _smooth(pair, point, away * (1 / jnp.maximum(depth, TINY)))
    back = Vec(ahead.x, -ahead.y, ahead.z)
    point = _turn(Vec(point.x + pillar.radius, point.y, point.z), back) + base
    return Points(
        found=(inside & (depth > TINY))[None],
        distance=-depth[None],
        point=point[None],
        normal=_turn(normal, back)[None],
    )


def _from_wall(pillar: Pillar, solid: Solid) -> tuple[Vec, Pair]:
    """The direction of x, and the pair in that frame. The solid is given about the middle of the
    cylinder's axis.
    """
    level = Vec(solid.center.x, solid.center.y, jnp.zeros_like(solid.center.z))
    local = solid.axes.to_body(-level)
    half = solid.half
    nearest = Vec(
        jnp.clip(local.x, -half.x, half.x),
        jnp.clip(local.y, -half.y, half.y),
        jnp.clip(local.z, -half.z, half.z),
    )
    gap = level + solid.axes.to_world(nearest)
    gap = where(gap.x**2 + gap.y**2 > 1e-6, gap, level)  # the axis may run through the box
    ahead = once(unit(Vec(gap.x, gap.y, jnp.zeros_like(gap.z))))
    x, y, z = _turn(solid.center, ahead)
    axes = Axes(
        _turn(solid.axes.x, ahead),
        _turn(solid.axes.y, ahead),
        _turn(solid.axes.z, ahead),
    )
    solid = solid._replace(center=Vec(x - pillar.radius, y, z), axes=axes)
    return ahead, Pair(pillar.radius, pillar.half_height, solid)


def _turn(v: Vec, ahead: Vec) -> Vec:
    """Coordinates along a level direction, to its left, and up."""
    return Vec(ahead.x * v.x + ahead.y * v.y, ahead.x * v.y - ahead.y * v.x, v.z)


def _smooth(pair: Pair, point: Vec, normal: Vec) -> Vec:
    """The normal corrected for round shapes: radial on the cylinder's wall, and averaged with a
    sphere's own.
    """
    radial = unit(Vec(point.x + pair.radius, point.y, jnp.zeros_like(point.z)))
    normal = where(jnp.abs(point.z) > WALL * pair.half_height, normal, radial)
    is_ball = pair.solid.radius > 0
    averaged = unit(normal + unit(pair.solid.center - point))
    return where(is_ball, averaged, normal)
