"""Where simple shapes touch: candidate contacts of a sphere or the floor with a box, and what to do
with candidates.
"""

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics.boxes import Box, Points
from saddle.tasks.point.physics.once import fold_slots, once
from saddle.tasks.point.physics.vec import Axes, Vec, concatenate, pick_vec, stack, where


def sphere_box(center: Vec, radius: float, box: Box) -> Points:
    """One contact [1, ...] between a sphere and a box; the normal points from the sphere to the
    box.
    """
    local = box.axes.to_body(center - box.center)
    clipped = (jnp.clip(p, -h, h) for p, h in zip(local, box.half, strict=True))
    nearest = Vec(*clipped)
    gap = nearest - local
    length = gap.norm()
    outside = length > 1e-12
    # [3, ...]: how far inside the box, below each pair of faces
    depths = jnp.stack([h - jnp.abs(p) for h, p in zip(box.half, local, strict=True)])
    face = jnp.argmin(depths, axis=0)
    inward = Vec(*(jnp.where(face == k, -jnp.sign(part), 0) for k, part in enumerate(local)))
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
    return jnp.stack([jnp.broadcast_to(jnp.asarray(h, like.dtype), like.shape) for h in box.half])


def box_floor(box: Box) -> Points:
    """The four corners [4, ...] of the box's lowest face against the floor; the normal points
    up.
    """
    shape = box.center.x.shape
    wide_axes = []
    for axis in box.axes:
        wide_axes.append(Vec(*(jnp.broadcast_to(v, shape) for v in axis)))
    axes = stack(wide_axes)  # [3, ...]
    down = jnp.argmax(jnp.abs(axes.z), axis=0)
    arms = axes * stack_half(box)
    below = pick_vec(down, arms)
    below = below * jnp.where(below.z > 0, -1, 1)
    first = pick_vec((down + 1) % 3, arms)
    second = pick_vec((down + 2) % 3, arms)
    middle = box.center + below
    corner = stack([middle + first * s + second * t for s in (-1, 1) for t in (-1, 1)])
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
        point=Vec(*(flat(part) for part in points.point)),
        normal=Vec(*(flat(part) for part in points.normal)),
    )


def keep(points: Points, slots: int) -> Points:
    """The first `slots` real contacts of many candidates: [C, ...] -> [slots, ...].

    The solver pays for every slot in every iteration, and far more candidates are tested than can
    ever touch.
    """
    fields = [points.distance, *points.point, *spread(points).normal]
    packed = once(jnp.stack(fields))  # [7, C, ...]
    slot = jnp.arange(1, slots + 1).reshape(slots, *(1,) * (points.found.ndim - 1))
    rank = jnp.zeros(points.found.shape[1:], jnp.int32)
    out = jnp.zeros((slots, *packed[:, 0].shape), packed.dtype)
    found = jnp.zeros((slots, *rank.shape), bool)

    def put(
        carry: tuple[Array, Array, Array], candidate: tuple[Array, Array]
    ) -> tuple[Array, Array, Array]:
        rank, out, taken = carry
        is_found, fields = candidate
        rank = rank + is_found
        hit = is_found & (rank == slot)  # [slots, ...]
        return rank, jnp.where(hit[:, None], fields, out), taken | hit

    candidates = (points.found, jnp.moveaxis(packed, 1, 0))
    _, out, found = fold_slots(put, (rank, out, found), candidates, lambda row: row[0])
    return Points(
        found=found,
        distance=out[:, 0],
        point=Vec(out[:, 1], out[:, 2], out[:, 3]),
        normal=Vec(out[:, 4], out[:, 5], out[:, 6]),
    )


def spread(points: Points) -> Points:
    """The same with a normal for every candidate."""
    wide = (jnp.broadcast_to(part, points.found.shape) for part in points.normal)
    return points._replace(normal=Vec(*wide))


def join(groups: list[Points]) -> Points:
    """Groups [C_i, ...] -> [sum C_i, ...]."""
    groups = [spread(p) for p in groups]
    return Points(
        jnp.concatenate([p.found for p in groups]),
        jnp.concatenate([p.distance for p in groups]),
        concatenate([p.point for p in groups]),
        concatenate([p.normal for p in groups]),
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
    half = tuple(column([three[k] for three in halves]) for k in range(3))
    return Box(center + axes.x * x + axes.y * y, axes, half)  # type: ignore[arg-type]
