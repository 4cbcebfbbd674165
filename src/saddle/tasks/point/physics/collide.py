"""Where simple shapes touch: candidate contacts of a sphere or the floor with a box, and what to do
with candidates.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics.boxes import Box, Points
from saddle.tasks.point.physics.once import fold_slots, once
from saddle.tasks.point.physics.vec import Axes, Vec, broadcast, concatenate, pick_vec, stack, where


class _Kept(NamedTuple):
    """The real contacts among the candidates so far."""

    count: Array  # [...] int32
    fields: Array  # [slots, 7, ...]: distance, point, normal; 0 where none is kept
    found: Array  # [slots, ...] bool


def sphere_box(center: Vec, radius: float, box: Box) -> Points:
    """One contact [1, ...] between a sphere and a box; the normal points from the sphere to the
    box.
    """
    local = box.axes.to_body(center - box.center)
    half_x, half_y, half_z = box.half
    nearest = Vec(
        jnp.clip(local.x, -half_x, half_x),
        jnp.clip(local.y, -half_y, half_y),
        jnp.clip(local.z, -half_z, half_z),
    )
    gap = nearest - local
    length = gap.norm()
    outside = length > 1e-12
    # [3, ...]: how far inside the box, below each pair of faces
    depth_x = half_x - jnp.abs(local.x)
    depth_y = half_y - jnp.abs(local.y)
    depth_z = half_z - jnp.abs(local.z)
    depths = jnp.stack([depth_x, depth_y, depth_z])
    face = jnp.argmin(depths, axis=0)
    inward = Vec(
        jnp.where(face == 0, -jnp.sign(local.x), 0),
        jnp.where(face == 1, -jnp.sign(local.y), 0),
        jnp.where(face == 2, -jnp.sign(local.z), 0),
    )
    outward = gap * (1 / jnp.where(outside, length, 1))
    normal = where(outside, outward, inward)
    depth = jnp.where(outside, length, -jnp.min(depths, axis=0)) - radius
    point = local + normal * (radius + 0.5 * depth)
    # The reference's engine reports no more once the centre is inside.
    distance = jnp.maximum(depth, -radius)
    return Points(
        found=(distance <= 0)[None],
        distance=distance[None],
        point=(box.center + box.axes.to_world(point))[None],
        normal=box.axes.to_world(normal)[None],
    )


def may_touch(a: Box, b: Box) -> Array:
    """Whether spheres around two boxes touch."""
    gap = b.center - a.center
    return gap.dot(gap) <= (_radius(a) + _radius(b)) ** 2


def _radius(box: Box) -> Array:
    """Of the sphere around a box."""
    return jnp.sqrt(sum(jnp.square(h) for h in box.half))


def stack_half(box: Box) -> Array:
    """Half-extents as [3, ...], of the boxes' shape."""
    like = box.center.x
    half = [jnp.asarray(extent, like.dtype) for extent in box.half]
    return jnp.stack([jnp.broadcast_to(extent, like.shape) for extent in half])


def box_floor(box: Box) -> Points:
    """The four corners [4, ...] of the box's lowest face against the floor; the normal points
    up.
    """
    shape = box.center.x.shape
    axes = stack([broadcast(axis, shape) for axis in box.axes])  # [3, ...]
    down = jnp.argmax(jnp.abs(axes.z), axis=0)
    arms = axes * stack_half(box)
    below = pick_vec(down, arms)
    below = below * jnp.where(below.z > 0, -1, 1)
    first = pick_vec((down + 1) % 3, arms)
    second = pick_vec((down + 2) % 3, arms)
    middle = box.center + below
    corners = []
    for s in (-1, 1):
        for t in (-1, 1):
            corners.append(middle + first * s + second * t)
    corner = stack(corners)
    zero = jnp.zeros_like(corner.z[:1])
    point = Vec(corner.x, corner.y, 0.5 * corner.z)
    return Points(corner.z <= 0, corner.z, point, Vec(zero, zero, zero + 1))


def fold(points: Points) -> Points:
    """Candidates of the parts of a body, [C, P, ...] -> [C * P, ...]."""
    shape = points.found.shape

    def flat(v: Array) -> Array:
        return jnp.broadcast_to(v, shape).reshape(-1, *shape[2:])

    return Points(
        found=flat(points.found),
        distance=flat(points.distance),
        point=points.point.map(flat),
        normal=points.normal.map(flat),
    )


def keep(points: Points, slots: int) -> Points:
    """The first `slots` real contacts of many candidates: [C, ...] -> [slots, ...].

    The solver pays for every slot in every iteration, and far more candidates are tested than can
    ever touch.
    """
    fields = [points.distance, *points.point, *spread(points).normal]
    packed = once(jnp.stack(fields))  # [7, C, ...]
    batch = points.found.shape[1:]
    number = jnp.arange(1, slots + 1)
    slot = number.reshape(slots, *(1,) * len(batch))
    nothing = _Kept(
        count=jnp.zeros(batch, jnp.int32),
        fields=jnp.zeros((slots, *packed[:, 0].shape), packed.dtype),
        found=jnp.zeros((slots, *batch), bool),
    )

    def is_real(candidate: tuple[Array, Array]) -> Array:
        return candidate[0]

    def put(kept: _Kept, candidate: tuple[Array, Array]) -> _Kept:
        real, fields = candidate
        count = kept.count + real
        hit = real & (count == slot)  # [slots, ...]
        return _Kept(count, jnp.where(hit[:, None], fields, kept.fields), kept.found | hit)

    candidates = (points.found, jnp.moveaxis(packed, 1, 0))
    _, packed, found = fold_slots(put, nothing, candidates, is_real)
    return Points(
        found=found,
        distance=packed[:, 0],
        point=Vec(packed[:, 1], packed[:, 2], packed[:, 3]),
        normal=Vec(packed[:, 4], packed[:, 5], packed[:, 6]),
    )


def spread(points: Points) -> Points:
    """The same with a normal for every candidate."""
    return points._replace(normal=broadcast(points.normal, points.found.shape))


def join(groups: list[Points]) -> Points:
    """Groups [C_i, ...] -> [sum C_i, ...]."""
    groups = [spread(points) for points in groups]
    return Points(
        found=jnp.concatenate([points.found for points in groups]),
        distance=jnp.concatenate([points.distance for points in groups]),
        point=concatenate([points.point for points in groups]),
        normal=concatenate([points.normal for points in groups]),
    )


def part(axes: Axes, center: Vec, offsets: tuple[tuple[float, float], ...], halves: tuple) -> Box:
    """The boxes that make up a body, along a new leading axis: offsets in the body's xy plane,
    half-extents each.
    """
    rank = center.x.ndim

    def column(values: list[float]) -> Array:
        return jnp.asarray(values, center.x.dtype).reshape(-1, *(1,) * rank)

    x = column([offset[0] for offset in offsets])
    y = column([offset[1] for offset in offsets])
    half_x, half_y, half_z = (column(list(sizes)) for sizes in zip(*halves, strict=True))
    return Box(center + axes.x * x + axes.y * y, axes, (half_x, half_y, half_z))
