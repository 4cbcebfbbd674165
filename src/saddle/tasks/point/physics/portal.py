"""Whether a cylinder and a box or sphere overlap, by Minkowski portal refinement (Snethen's
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

from saddle.tasks.point.physics.once import once
from saddle.tasks.point.physics.vec import Axes, Vec, where

TOLERANCE = 1e-6  # m, by which a support point must lie beyond the portal to be worth taking
PORTALS = 60  # at most; about 20 are usual, and 27 the most seen
TINY = 2.2e-16  # what the reference's engine takes for zero
# A direction that leans less is level, and its support halfway up: rounding may not decide between
# ends
LEVEL = 1e-10


class Solid(NamedTuple):
    """Boxes blown up by a radius; a sphere is one without extent. Arrays of one shape [...]."""

    center: Vec
    axes: Axes
    half: Vec
    radius: Array


class Pair(NamedTuple):
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


class Overlap(NamedTuple):
    """What the search ends with."""

    inside: Array  # [...] bool, whether the shapes overlap
    away: Vec  # [...] m, from the origin to the nearest point of the last portal
    point: Vec  # [...] m, of contact


def refine(pair: Pair, near: Array) -> Overlap:
    """How the shapes of each pair overlap, looked for where near [...]."""
    zero = jnp.zeros((3, *near.shape), pair.solid.radius.dtype)
    empty = Vec(zero, zero, zero)
    start = _Search(
        corners=_Vertex(empty, empty),
        known=jnp.zeros(near.shape, jnp.int32),
        inside=jnp.zeros_like(near),
        open=near,
    )

    def unfinished(carry: tuple[Array, _Search]) -> Array:
        count, search = carry
        return (count < PORTALS) & jnp.any(search.open)

    def advance(carry: tuple[Array, _Search]) -> tuple[Array, _Search]:
        count, search = carry
        return count + 1, _advance(pair, search)

    _, search = jax.lax.while_loop(unfinished, advance, (jnp.zeros((), jnp.int32), start))
    away, point = once((_nearest(search.corners.point), _balance(pair, search.corners)))
    return Overlap(search.inside, away, point)


def unit(v: Vec) -> Vec:
    """v at length 1, if it has any."""
    length = v.norm()
    return v * (1 / jnp.where(length > 0, length, 1))


def _support(pair: Pair, direction: Vec) -> _Vertex:
    """The farthest point of the difference along a unit direction."""
    solid = pair.solid
    radius = pair.radius
    level = jnp.sqrt(direction.x**2 + direction.y**2)
    inverse = 1 / jnp.where(level > 1e-15, level, 1)
    cosine = direction.x * inverse
    sine = direction.y * inverse
    # 1 - cosine without cancellation
    drop = jnp.where(cosine > 0, sine * sine / (1 + jnp.abs(cosine)), 1 - cosine)
    p = Vec(-radius * drop, radius * sine, pair.half_height * _sign(direction.z))
    lean = solid.axes.to_body(direction)
    x = solid.axes.x * (-solid.half.x * _sign(lean.x))
    y = solid.axes.y * (-solid.half.y * _sign(lean.y))
    z = solid.axes.z * (-solid.half.z * _sign(lean.z))
    q = solid.center + x + y + z - direction * solid.radius
    return _Vertex(p - q, (p + q) * 0.5)


def _sign(v: Array) -> Array:
    """-1, 0 or 1."""
    return jnp.where(jnp.abs(v) > LEVEL, jnp.sign(v), 0)


def _advance(pair: Pair, s: _Search) -> _Search:
    """One more support point: a corner still missing, or one that replaces a corner, or the end."""
    a, b, c = (s.corners.point[k] for k in range(3))
    early = s.known < 3
    center = pair.center
    base = where(early, center, a)
    left = where(early, a, b)
    right = where(early, b, c)
    out = (left - base).cross(right - base)
    out = where(s.known == 0, -center, where(s.known == 1, center.cross(a), out))
    out = once(unit(out))
    new = once(_support(pair, out))
    reach = new.point.dot(out)
    inside = s.inside | (s.open & ~early & (out.dot(a) > -TINY))
    settled = (new.point - a).dot(out) <= TOLERANCE
    ended = jnp.where(early, reach < TINY, settled | (~inside & (reach < -TINY)))
    # [3, ...]: on which side of the new point the ray passes
    side = s.corners.point.dot(new.point.cross(center))
    slot = _slot(s.known, side)
    open_ = s.open & ~ended
    rows = jnp.arange(3).reshape(3, *(1,) * slot.ndim)
    # The first point stands in for all three.
    replace = open_ & ((rows == slot) | (s.known == 0))
    known = s.known + ((s.known < 2) | ((s.known == 2) & (slot == 2)))
    new, replace, known, inside, open_ = once((new, replace, known, inside, open_))
    corners = _Vertex(
        point=where(replace, new.point, s.corners.point),
        middle=where(replace, new.middle, s.corners.middle),
    )
    return _Search(corners, known, inside, open_)


def _slot(known: Array, side: Array) -> Array:
    """Which of the three corners the new point becomes, so that the ray passes through the
    triangle.
    """
    second = jnp.where(side[0] > 0, 0, 1)  # ordered so that the triangle faces outward
    third = jnp.where(side[0] < -TINY, 1, jnp.where(side[1] > TINY, 0, 2))
    is_left = side[0] > 0
    if_left = jnp.where(side[1] > 0, 0, 2)
    if_right = jnp.where(side[2] > 0, 1, 0)
    further = jnp.where(is_left, if_left, if_right)
    return jnp.where(known == 1, second, jnp.where(known == 2, third, further))


def _nearest(corner: Vec) -> Vec:
    """The point of a triangle [3, ...] nearest to the origin."""
    a, b, c = (corner[k] for k in range(3))
    ab = b - a
    ac = c - a
    n = ab.cross(ac)
    area = n.dot(n)
    # Weights of b and c, times area
    s = n.dot(ac.cross(a))
    t = n.dot(a.cross(ab))
    within = (area > TINY) & (s >= 0) & (t >= 0) & (s + t <= area)
    best = _nearest_on(a, ab)
    for start, edge in ((a, ac), (b, c - b)):
        other = _nearest_on(start, edge)
        best = where(other.dot(other) < best.dot(best), other, best)
    on_plane = n * (n.dot(a) / jnp.where(area > 0, area, 1))
    return where(within, on_plane, best)


def _nearest_on(start: Vec, edge: Vec) -> Vec:
    """The point of a segment nearest to the origin."""
    square = edge.dot(edge)
    along = -start.dot(edge) / jnp.where(square > 0, square, 1)
    return start + edge * jnp.clip(along, 0, 1)


def _balance(pair: Pair, corners: _Vertex) -> Vec:
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
