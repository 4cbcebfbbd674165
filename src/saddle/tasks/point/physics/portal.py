"""An upright cylinder against boxes and spheres, by Minkowski portal refinement (Snethen's
XenoCollide).

The shapes overlap where the difference {p - q : p in the cylinder, q in the other} holds the
origin. A portal is a triangle of that difference's surface points through which the ray from its
centre to the origin leaves. It is pushed outward, one support point at a time, until it lies on the
surface; its distance to the origin is then the depth.

The reference's engine stops at a tolerance, so what it reports depends on the portals it went
through: against a box that leans on the cylinder the point jumps between the ends and the normal
tilts with it. Hence this file takes the same path: the same first portal, the same choice of the
corner to replace, the same tolerance.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics.boxes import Box, Points
from saddle.tasks.point.physics.once import once
from saddle.tasks.point.physics.vec import Axes, Vec, where

TOLERANCE = 1e-6  # m, by which a support point must lie beyond the portal to be worth taking
PORTALS = 60  # at most; about 20 are usual, and 27 the most seen
TINY = 2.2e-16  # what the reference's engine takes for zero
# A direction that leans less is level, and its support halfway up: rounding may not decide between
# ends
LEVEL = 1e-10
WALL = 0.95  # share of the cylinder's half-height within which the normal is made radial


class Solid(NamedTuple):
    """Boxes blown up by a radius; a sphere is one without extent. Arrays of one shape [...]."""

    center: Vec
    axes: Axes
    half: Vec
    radius: Array


class Pillar(NamedTuple):
    """Cylinders that stand on the floor: arrays [N], and one size."""

    x: Array
    y: Array
    radius: float
    half_height: float


class _Pair(NamedTuple):
    """A cylinder and a solid, seen from the cylinder's wall.

    x runs from the cylinder's axis towards the solid's nearest point, z up; the origin is where x
    leaves the wall, at half height. There the numbers that decide are small, so that float32 takes
    the path of float64.
    """

    radius: float
    half_height: float
    solid: Solid

    @property
    def center(self) -> Vec:
        """Centre of the difference."""
        c = self.solid.center
        return Vec(-c.x - self.radius, -c.y, -c.z)


class _Vertex(NamedTuple):
    """A point of the difference, and the middle between the two points it comes from."""

    point: Vec
    middle: Vec


class _Search(NamedTuple):
    """Where the search stands: corners of the portal [3, ...], and per pair [...] how far it has
    come.
    """

    corners: _Vertex
    known: Array  # int32: corners found so far
    inside: Array  # bool: the portal has held the origin, so the shapes overlap
    open: Array  # bool: not finished


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
    robot = jax.tree.map(lambda *v: jnp.stack(v)[:, None], ball, flat)
    near, body = _choose(pillar, from_box(parts), slots)
    solid = jax.tree.map(lambda *v: jnp.concatenate(v), robot, body)
    points = cylinder_solid(pillar, solid, jnp.concatenate([is_near(pillar, robot), near]))
    return jax.tree.map(lambda v: v[0, :2, 0], points), jax.tree.map(lambda v: v[0, 2:], points)


def from_box(box: Box) -> Solid:
    """Plain boxes."""
    like = box.center.x
    full = lambda v: jnp.broadcast_to(jnp.asarray(v, like.dtype), like.shape)
    return Solid(
        box.center,
        jax.tree.map(full, box.axes),
        Vec(*(full(h) for h in box.half)),
        jnp.zeros_like(like),
    )


def is_near(pillar: Pillar, solid: Solid) -> Array:
    """Whether the line of centres, seen from above, does not separate a solid [...] from the
    pillar.
    """
    dx = solid.center.x - pillar.x
    dy = solid.center.y - pillar.y
    far = jnp.sqrt(dx * dx + dy * dy)
    reach = sum(
        h * jnp.abs(axis.x * dx + axis.y * dy)
        for h, axis in zip(solid.half, solid.axes, strict=True)
    )
    return far * (far - pillar.radius - solid.radius) <= reach


def _choose(pillar: Pillar, parts: Solid, slots: int) -> tuple[Array, Solid]:
    """Whether there are so many parts [P, ...] near, and the first `slots` of them: [slots,
    ...].
    """
    near = is_near(pillar, parts)
    rank = jnp.cumsum(near, axis=0)
    chosen = near & (
        rank == jnp.arange(1, slots + 1).reshape(slots, *(1,) * rank.ndim)
    )  # [slots, P, ...]
    pull = lambda v: jnp.sum(jnp.where(chosen, v, 0), axis=1)
    center = Vec(*(pull(v) for v in parts.center))
    half = Vec(*(pull(v) for v in parts.half))
    axes = jax.tree.map(
        lambda v: jnp.broadcast_to(v[:1], center.x.shape), parts.axes
    )  # parts of a body share them
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
    zero = jnp.zeros((3, *near.shape), pillar.x.dtype)
    empty = Vec(zero, zero, zero)
    start = _Search(
        _Vertex(empty, empty), jnp.zeros(near.shape, jnp.int32), jnp.zeros_like(near), near
    )

    def unfinished(carry: tuple[Array, _Search]) -> Array:
        return (carry[0] < PORTALS) & jnp.any(carry[1].open)

    def advance(carry: tuple[Array, _Search]) -> tuple[Array, _Search]:
        return carry[0] + 1, _advance(pair, carry[1])

    search = jax.lax.while_loop(unfinished, advance, (jnp.zeros((), jnp.int32), start))[1]
    away, point = once((_nearest(search.corners.point), _balance(pair, search.corners)))
    depth = away.norm()
    normal = _smooth(pair, point, away * (1 / jnp.maximum(depth, TINY)))
    back = Vec(ahead.x, -ahead.y, ahead.z)
    point = _turn(Vec(point.x + pillar.radius, point.y, point.z), back) + base
    return Points(
        (search.inside & (depth > TINY))[None], -depth[None], point[None], _turn(normal, back)[None]
    )


def _from_wall(pillar: Pillar, solid: Solid) -> tuple[Vec, _Pair]:
    """The direction of x, and the pair in that frame. The solid is given about the middle of the
    cylinder's axis.
    """
    level = Vec(solid.center.x, solid.center.y, jnp.zeros_like(solid.center.z))
    local = solid.axes.to_body(-level)
    nearest = Vec(*(jnp.clip(part, -h, h) for part, h in zip(local, solid.half, strict=True)))
    gap = level + solid.axes.to_world(nearest)
    gap = where(gap.x**2 + gap.y**2 > 1e-6, gap, level)  # the axis may run through the box
    ahead = once(_unit(Vec(gap.x, gap.y, jnp.zeros_like(gap.z))))
    x, y, z = _turn(solid.center, ahead)
    axes = Axes(*(_turn(axis, ahead) for axis in solid.axes))
    solid = solid._replace(center=Vec(x - pillar.radius, y, z), axes=axes)
    return ahead, _Pair(pillar.radius, pillar.half_height, solid)


def _turn(v: Vec, ahead: Vec) -> Vec:
    """Coordinates along a level direction, to its left, and up."""
    return Vec(ahead.x * v.x + ahead.y * v.y, ahead.x * v.y - ahead.y * v.x, v.z)


def _unit(v: Vec) -> Vec:
    length = v.norm()
    return v * (1 / jnp.where(length > 0, length, 1))


def _support(pair: _Pair, direction: Vec) -> _Vertex:
    """The farthest point of the difference along a unit direction."""
    solid, radius = pair.solid, pair.radius
    level = jnp.sqrt(direction.x**2 + direction.y**2)
    inverse = 1 / jnp.where(level > 1e-15, level, 1)
    cosine = direction.x * inverse
    sine = direction.y * inverse
    drop = jnp.where(
        cosine > 0, sine * sine / (1 + jnp.abs(cosine)), 1 - cosine
    )  # 1 - cosine without cancellation
    p = Vec(-radius * drop, radius * sine, pair.half_height * _sign(direction.z))
    lean = solid.axes.to_body(direction)
    x, y, z = (
        axis * (-h * _sign(part))
        for axis, h, part in zip(solid.axes, solid.half, lean, strict=True)
    )
    q = solid.center + x + y + z - direction * solid.radius
    return _Vertex(p - q, (p + q) * 0.5)


def _sign(v: Array) -> Array:
    """-1, 0 or 1."""
    return jnp.where(jnp.abs(v) > LEVEL, jnp.sign(v), 0)


def _advance(pair: _Pair, s: _Search) -> _Search:
    """One more support point: a corner still missing, or one that replaces a corner, or the end."""
    a, b, c = (s.corners.point[k] for k in range(3))
    early = s.known < 3
    center = pair.center
    base = where(early, center, a)
    left = where(early, a, b)
    right = where(early, b, c)
    out = (left - base).cross(right - base)
    out = where(s.known == 0, -center, where(s.known == 1, center.cross(a), out))
    out = once(_unit(out))
    new = once(_support(pair, out))
    reach = new.point.dot(out)
    inside = s.inside | (s.open & ~early & (out.dot(a) > -TINY))
    settled = (new.point - a).dot(out) <= TOLERANCE
    ended = jnp.where(early, reach < TINY, settled | (~inside & (reach < -TINY)))
    side = s.corners.point.dot(
        new.point.cross(center)
    )  # [3, ...]: on which side of the new point the ray passes
    slot = _slot(s.known, side)
    open_ = s.open & ~ended
    rows = jnp.arange(3).reshape(3, *(1,) * slot.ndim)
    replace = open_ & ((rows == slot) | (s.known == 0))  # the first point stands in for all three
    known = s.known + ((s.known < 2) | ((s.known == 2) & (slot == 2)))
    new, replace, known, inside, open_ = once((new, replace, known, inside, open_))
    corners = _Vertex(
        where(replace, new.point, s.corners.point), where(replace, new.middle, s.corners.middle)
    )
    return _Search(corners, known, inside, open_)


def _slot(known: Array, side: Array) -> Array:
    """Which of the three corners the new point becomes, so that the ray passes through the
    triangle.
    """
    second = jnp.where(side[0] > 0, 0, 1)  # ordered so that the triangle faces outward
    third = jnp.where(side[0] < -TINY, 1, jnp.where(side[1] > TINY, 0, 2))
    further = jnp.where(side[0] > 0, jnp.where(side[1] > 0, 0, 2), jnp.where(side[2] > 0, 1, 0))
    return jnp.where(known == 1, second, jnp.where(known == 2, third, further))


def _nearest(corner: Vec) -> Vec:
    """The point of a triangle [3, ...] nearest to the origin."""
    a, b, c = (corner[k] for k in range(3))
    ab, ac = b - a, c - a
    n = ab.cross(ac)
    area = n.dot(n)
    s, t = n.dot(ac.cross(a)), n.dot(a.cross(ab))  # weights of b and c, times area
    within = (area > TINY) & (s >= 0) & (t >= 0) & (s + t <= area)
    best = _nearest_on(a, ab)
    for start, edge in ((a, ac), (b, c - b)):
        other = _nearest_on(start, edge)
        best = where(other.dot(other) < best.dot(best), other, best)
    return where(within, n * (n.dot(a) / jnp.where(area > 0, area, 1)), best)


def _nearest_on(start: Vec, edge: Vec) -> Vec:
    """The point of a segment nearest to the origin."""
    square = edge.dot(edge)
    return start + edge * jnp.clip(-start.dot(edge) / jnp.where(square > 0, square, 1), 0, 1)


def _balance(pair: _Pair, corners: _Vertex) -> Vec:
    """The contact point: the middles of centre and corners, weighted so that the difference itself
    averages to zero.
    """
    a, b, c = (corners.point[k] for k in range(3))
    o = pair.center
    across = b.cross(c)
    weights = (-o.dot(across), o.dot(a.cross(c)), -o.dot(a.cross(b)))
    middle = pair.solid.center
    total = a.dot(across)
    point = Vec(middle.x - pair.radius, middle.y, middle.z) * (0.5 * total)
    for k, weight in enumerate(weights):
        point = point + corners.middle[k] * weight
        total = total + weight
    return point * (1 / jnp.where(total > 0, total, 1))


def _smooth(pair: _Pair, point: Vec, normal: Vec) -> Vec:
    """The normal corrected for round shapes: radial on the cylinder's wall, and averaged with a
    sphere's own.
    """
    radial = _unit(Vec(point.x + pair.radius, point.y, jnp.zeros_like(point.z)))
    normal = where(jnp.abs(point.z) > WALL * pair.half_height, normal, radial)
    return where(pair.solid.radius > 0, _unit(normal + _unit(pair.solid.center - point)), normal)
