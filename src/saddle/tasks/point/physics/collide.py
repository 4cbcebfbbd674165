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
    nearest = Vec(*(jnp.clip(p, -h, h) for p, h in zip(local, box.half, strict=True)))
    gap = nearest - local
    length = gap.norm()
    outside = length > 1e-12
    # [3, ...]: how far inside the box, below each pair of faces
    depths = jnp.stack([h - jnp.abs(p) for h, p in zip(box.half, local, strict=True)])
    face = jnp.argmin(depths, axis=0)
    inward = Vec(*(jnp.where(face == k, -jnp.sign(part), 0) for k, part in enumerate(local)))
    normal = where(outside, gap * (1 / jnp.where(outside, length, 1)), inward)
    depth = jnp.where(outside, length, -jnp.min(depths, axis=0)) - radius
    point = local + normal * (radius + 0.5 * depth)
    distance = jnp.maximum(
        depth, -radius
    )  # the reference's engine reports no more once the centre is inside
    return Points(
        (distance <= 0)[None],
        distance[None],
        (box.center + box.axes.to_world(point))[None],
        box.axes.to_world(normal)[None],
    )


def may_touch(a: Box, b: Box) -> Array:
    """Whether spheres around two boxes touch."""
    gap = b.center - a.center
    radius = lambda box: jnp.sqrt(sum(jnp.square(h) for h in box.half))
    return gap.dot(gap) <= (radius(a) + radius(b)) ** 2


def stack_half(box: Box) -> Array:
    """Half-extents as [3, ...], of the boxes' shape."""
    like = box.center.x
    return jnp.stack([jnp.broadcast_to(jnp.asarray(h, like.dtype), like.shape) for h in box.half])


def box_floor(box: Box) -> Points:
    """The four corners [4, ...] of the box's lowest face against the floor; the normal points
    up.
    """
    shape = box.center.x.shape
    axes = stack(
        [Vec(*(jnp.broadcast_to(v, shape) for v in axis)) for axis in box.axes]
    )  # [3, ...]
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
    flat = lambda v: jnp.broadcast_to(v, shape).reshape(-1, *shape[2:])
    return Points(
        flat(points.found),
        flat(points.distance),
        Vec(*(flat(part) for part in points.point)),
        Vec(*(flat(part) for part in points.normal)),
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
        (rank, out, taken), (is_found, fields) = carry, candidate
        rank = rank + is_found
        hit = is_found & (rank == slot)  # [slots, ...]
        return rank, jnp.where(hit[:, None], fields, out), taken | hit

    _, out, found = fold_slots(
        put, (rank, out, found), (points.found, jnp.moveaxis(packed, 1, 0)), lambda row: row[0]
    )
    return Points(
        found, out[:, 0], Vec(out[:, 1], out[:, 2], out[:, 3]), Vec(out[:, 4], out[:, 5], out[:, 6])
    )


def spread(points: Points) -> Points:
    """The same with a normal for every candidate."""
    return points._replace(
        normal=Vec(*(jnp.broadcast_to(part, points.found.shape) for part in points.normal))
    )


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
    column = lambda values: jnp.asarray(values, center.x.dtype).reshape(-1, *(1,) * rank)
    x = column([o[0] for o in offsets])
    y = column([o[1] for o in offsets])
    half = tuple(column([h[k] for h in halves]) for k in range(3))
    return Box(center + axes.x * x + axes.y * y, axes, half)  # type: ignore[arg-type]
