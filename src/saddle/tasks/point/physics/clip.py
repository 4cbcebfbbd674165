"""A parallelogram above a rectangle, clipped against it: the candidate contacts of two boxes."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics.overlap import TINY
from saddle.tasks.point.physics.vec import Vec, concatenate, stack, where


class Parallelogram(NamedTuple):
    """A corner, and the edge vectors that start there."""

    corner: Vec
    first: Vec
    second: Vec


class _Edges(NamedTuple):
    """The four edges of a parallelogram, [4, ...]."""

    start: Vec
    way: Vec


class Patch(NamedTuple):
    """A parallelogram over a rectangle, in the rectangle's frame (z out of the face, origin at its
    centre).
    """

    true: Parallelogram
    flat: Parallelogram  # projected onto z = 0
    has_first: Array  # bool, whether there is a first edge vector
    has_second: Array
    half_x: Array
    half_y: Array
    rise: Array  # distance along the normal per unit of z


class Candidates(NamedTuple):
    """Candidate contacts [C, ...], in the rectangle's frame."""

    found: Array
    distance: Array
    point: Vec


def clip(patch: Patch, by_edge: Array) -> Candidates:
    """All contact candidates of a patch, [24, ...]."""
    crossings = _crossings(patch)
    lines = jnp.any(crossings.found & (crossings.distance <= 0), axis=0)
    inner = _rectangle_corners(patch, by_edge, lines)
    some = lines | jnp.any(inner.found, axis=0)
    outer = _patch_corners(patch, by_edge, lines, some)
    point = concatenate([crossings.point, inner.point, outer.point])
    return Candidates(
        found=jnp.concatenate([crossings.found, inner.found, outer.found]),
        distance=jnp.concatenate([crossings.distance, inner.distance, outer.distance]),
        point=point,
    )


def _edges(shape: Parallelogram) -> _Edges:
    """The two at the corner, then those that start where they end."""
    corner, first, second = shape
    start = stack([corner, corner, corner + first, corner + second])
    return _Edges(start, stack([first, second, second, first]))


def _crossings(patch: Patch) -> Candidates:
    """Where the four edges of the patch cross the four sides of the rectangle, [16, ...]."""
    true = _edges(patch.true)
    flat = _edges(patch.flat)
    both = patch.has_second
    exists = jnp.stack([patch.has_first, both, both, both])
    found = []
    distance = []
    points = []
    for axis, other in (("x", "y"), ("y", "x")):
        limit = getattr(patch, f"half_{axis}")
        other_limit = getattr(patch, f"half_{other}")
        slope = getattr(flat.way, axis)
        crosses = exists & (jnp.abs(slope) > TINY)
        for side in (-limit, limit):
            share = (side - getattr(flat.start, axis)) / jnp.where(crosses, slope, 1)
            beside = getattr(flat.start, other) + getattr(flat.way, other) * share
            hit = true.start + true.way * share
            side = jnp.broadcast_to(side, hit.z.shape)
            spot = Vec(side, beside, hit.z) if axis == "x" else Vec(beside, side, hit.z)
            on_edge = crosses & (share >= 0) & (share <= 1)
            found.append(on_edge & (jnp.abs(beside) <= other_limit))
            distance.append(hit.z * patch.rise)
            points.append(_middle(spot, hit))
    point = concatenate(points)
    return Candidates(jnp.concatenate(found), jnp.concatenate(distance), point)


def _middle(spot: Vec, hit: Vec) -> Vec:
    """Half-way between a point of the rectangle (its z ignored) and a point of the patch."""
    return Vec(0.5 * (spot.x + hit.x), 0.5 * (spot.y + hit.y), 0.5 * hit.z)


def _rectangle_corners(patch: Patch, by_edge: Array, lines: Array) -> Candidates:
    """The rectangle's corners that lie under the patch, [4, ...]."""
    true = patch.true
    flat = patch.flat
    first = flat.first
    second = flat.second
    area = first.x * second.y - second.x * first.y
    found = []
    distance = []
    points = []
    for sign_x, sign_y in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        corner = Vec(sign_x * patch.half_x, sign_y * patch.half_y, jnp.zeros_like(area))
        x = corner.x - flat.corner.x
        y = corner.y - flat.corner.y
        scale = 1 / jnp.where(jnp.abs(area) > 0, area, 1)
        # The corner is flat.corner + u * first + v * second.
        u = (x * second.y - y * second.x) * scale
        v = (y * first.x - x * first.y) * scale
        inside = (u > 0) & (v > 0) & (u < 1) & (v < 1) & patch.has_second
        u_out = (u < 0) | (u > 1)
        v_out = (v < 0) | (v > 1)
        reached = jnp.where(lines, ~(u_out | v_out), ~(u_out & v_out))
        hit = true.corner + true.first * jnp.clip(u, 0, 1) + true.second * jnp.clip(v, 0, 1)
        gap = corner - hit
        square = gap.dot(gap)
        signed = jnp.sqrt(square) * jnp.where(hit.z < 0, -1, 1)
        held_off = (hit.z > 0) & (square > 0)
        found.append(jnp.where(by_edge, reached & ~held_off, inside))
        distance.append(jnp.where(by_edge, signed, hit.z * patch.rise))
        points.append(_middle(corner, hit))
        # The reference's engine reuses this variable: after a corner that counts, the next ones see
        # its square.
        area = jnp.where(by_edge & reached, square, area)
    return Candidates(jnp.stack(found), jnp.stack(distance), stack(points))


def _corners(shape: Parallelogram) -> Vec:
    """All four, [4, ...]."""
    corner, first, second = shape
    return stack([corner, corner + first, corner + second, corner + first + second])


def _patch_corners(patch: Patch, by_edge: Array, lines: Array, some: Array) -> Candidates:
    """The patch's corners that lie over the rectangle, [4, ...]; its deepest one always counts
    against a face.
    """
    one = patch.has_first
    two = patch.has_second
    true = _corners(patch.true)
    flat = _corners(patch.flat)
    over = (jnp.abs(flat.x) < patch.half_x) & (jnp.abs(flat.y) < patch.half_y)
    face = jnp.stack([jnp.ones_like(one), one & over[1], two & over[2], two & over[3]])
    x_out = jnp.abs(flat.x) > patch.half_x
    y_out = jnp.abs(flat.y) > patch.half_y
    reached = jnp.where(lines, ~(x_out | y_out), ~(some & x_out & y_out))
    nearest = Vec(
        jnp.clip(flat.x, -patch.half_x, patch.half_x),
        jnp.clip(flat.y, -patch.half_y, patch.half_y),
        jnp.zeros_like(true.z),
    )
    height = true.z * patch.rise
    square = (flat.x - nearest.x) ** 2 + (flat.y - nearest.y) ** 2 + height**2
    held_off = (true.z > 0) & (square > 0)
    found = jnp.where(by_edge, reached & ~held_off, face)
    signed = jnp.sqrt(square) * jnp.where(true.z < 0, -1, 1)
    distance = jnp.where(by_edge, signed, height)
    spot = where(by_edge, nearest, true)
    return Candidates(found, distance, _middle(spot, true))
