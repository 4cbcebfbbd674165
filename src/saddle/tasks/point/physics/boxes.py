"""Box against box: the contact points that the reference's engine (MuJoCo 2.3) finds.

The least overlap over the 15 separating axes decides. A face axis: the nearest face of the other
box is clipped against that face. An edge-edge axis: the face of the second box next to the edge is
projected along the axis onto a face of the first and clipped there. Both are one clipping of a
parallelogram (the "patch") against a rectangle; they differ in the direction of projection and in
which corners count.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics.once import once, unless
from saddle.tasks.point.physics.overlap import (
    TINY,
    Box,
    Edge,
    Frame,
    Solid,
    View,
    edge_axis,
    face_axes,
    into,
    out_of,
    spread,
    view_from,
)
from saddle.tasks.point.physics.vec import Vec, concatenate, pick, pick_vec, stack, where

FACE_RISE = 0.5  # against a face the reference's engine reports half the depth as the distance
SLACK = 1e-12  # share of its overlap by which a face axis is preferred to an edge-edge axis, too


class Points(NamedTuple):
    """Candidate contact points [C, ...]; `found` marks the real ones. The normal runs from the
    first body on.
    """

    found: Array
    distance: Array  # m, negative inside
    point: Vec
    normal: Vec  # [C, ...] or [1, ...]


class _Patch(NamedTuple):
    """A parallelogram over a rectangle, in the rectangle's frame (z out of the face, origin at its
    centre).
    """

    true: tuple[Vec, ...]  # corner and two edge vectors
    flat: tuple[Vec, ...]  # the same, projected onto z = 0
    edges: tuple[Array, ...]  # whether each edge vector exists
    half_x: Array
    half_y: Array
    rise: Array  # distance along the normal per unit of z


def box_box(first: Box, second: Box) -> Points:
    """Contacts between two boxes, [24, ...] candidates. The normal points from the first to the
    second.
    """
    a, b = once(spread(first, second))
    overlap, code, apart = face_axes(a, b)
    return unless(apart, lambda: _not_apart_by_faces(a, b, overlap, code, apart))


def _not_apart_by_faces(a: Solid, b: Solid, overlap: Array, code: Array, apart: Array) -> Points:
    view = once(view_from(a, b, code))
    edge = edge_axis(view)
    apart = apart | (overlap + edge.gain < 0)
    return unless(apart, lambda: _touching(a, b, view, edge, overlap, apart))


def _touching(a: Solid, b: Solid, view: View, edge: Edge, overlap: Array, apart: Array) -> Points:
    """Contacts of boxes, given the axes of least overlap; none where an axis holds them apart."""
    edge, is_edge = once((edge, edge.gain < -SLACK * overlap))
    edge_patch, edge_frame = _edge_patch(a, b, edge)
    patch = _select(is_edge, edge_patch, _face_patch(view))
    frame = Frame(*(where(is_edge, p, q) for p, q in zip(edge_frame, view.frame, strict=True)))
    patch, frame = once((patch, frame))
    found, distance, local = once(_clip(patch, is_edge))
    point = frame.origin + out_of(frame, local)
    found = found & ~apart & (distance <= 0)
    face_normal = where(view.of_b, -view.frame.z, view.frame.z)
    return Points(found, distance, point, where(is_edge, edge.normal, face_normal)[None])


def _face_patch(view: View) -> _Patch:
    """The nearest face of the other box above the view's."""
    axes = view.axes
    # [3, ...]: the corner deepest below the face
    arms = axes * jnp.where(axes.z < 0, view.other_half, -view.other_half)
    above = Vec(view.offset.x, view.offset.y, view.offset.z - view.half[2])
    corner = above + Vec(*(jnp.sum(part, axis=0) for part in arms))
    first, second, has_first, has_second = _flat_edges(jnp.abs(axes.z) < 0.5, arms * -2.0)
    true = (corner, first, second)
    flat = tuple(Vec(v.x, v.y, jnp.zeros_like(v.z)) for v in true)
    rise = jnp.full_like(corner.x, FACE_RISE)
    return _Patch(true, flat, (has_first, has_second), view.half[0], view.half[1], rise)


def _flat_edges(flat: Array, edges: Vec) -> tuple[Vec, Vec, Array, Array]:
    """Of three edge vectors [3, ...], those that lie flat enough to span the nearest face: two,
    one, or none.
    """
    rank = jnp.cumsum(flat, axis=0)

    def keep(k: int) -> Vec:
        """The k-th of those that are flat."""
        return Vec(*(jnp.sum(jnp.where(flat & (rank == k), part, 0), axis=0) for part in edges))

    return keep(1), keep(2), rank[2] > 0, rank[2] > 1


def _edge_patch(a: Solid, b: Solid, edge: Edge) -> tuple[_Patch, Frame]:
    """A face of a next to its edge, and the face of b next to its edge, projected along the
    normal.
    """
    i = edge.of_a
    j = edge.of_b
    face_a = _most_across(i, pick_vec(j, b.axes), a.axes)
    face_b = _most_across(j, pick_vec(i, a.axes), b.axes)
    z = pick_vec(face_a, a.axes)
    side = jnp.where(pick(face_a, edge.along_a) > 0, 1, -1)
    # The order in which the rectangle's corners are visited matters (_rectangle_corners), hence
    # these directions.
    x_axis = jnp.where(face_a == 0, 2, 0)
    y_axis = jnp.where(face_a == 1, 2, 1)
    x = pick_vec(x_axis, a.axes) * jnp.where(face_a == 0, -side, jnp.where(face_a == 2, side, 1))
    y = pick_vec(y_axis, a.axes) * jnp.where(face_a == 1, -side, 1)
    z = z * side
    frame = Frame(a.center + z * pick(face_a, a.half), x, y, z)
    # towards the edge that touches
    arms = b.axes * (b.half * jnp.where(edge.along_b < 0, 1, -1))
    along = pick_vec(j, b.axes) * pick(j, b.half)
    sideways = pick_vec(3 - j - face_b, arms)
    corner = b.center + sideways + pick_vec(face_b, arms) + along
    true = (
        into(frame, corner - frame.origin),
        into(frame, along) * -2.0,
        into(frame, sideways) * -2.0,
    )
    n = into(frame, edge.normal)
    rise = 1 / jnp.where(jnp.abs(n.z) < TINY, 1, n.z)
    flat = tuple(v - n * (v.z * rise) for v in true)
    always = jnp.ones(i.shape, bool)
    return _Patch(
        true, flat, (always, always), pick(x_axis, a.half), pick(y_axis, a.half), rise
    ), frame


def _most_across(edge: Array, direction: Vec, axes: Vec) -> Array:
    """Of the two axes other than `edge`, the index of the one most perpendicular to `direction`."""
    dots = jnp.abs(axes.dot(direction))
    first = jnp.where(edge == 0, 1, jnp.where(edge == 1, 0, 1))
    second = jnp.where(edge == 2, 0, 2)
    return jnp.where(pick(first, dots) < pick(second, dots), first, second)


def _select(mask: Array, p: _Patch, q: _Patch) -> _Patch:
    """p where the mask holds, else q."""

    def vectors(s: tuple[Vec, ...], t: tuple[Vec, ...]) -> tuple[Vec, ...]:
        return tuple(where(mask, u, v) for u, v in zip(s, t, strict=True))

    edges = tuple(jnp.where(mask, u, v) for u, v in zip(p.edges, q.edges, strict=True))
    return _Patch(
        true=vectors(p.true, q.true),
        flat=vectors(p.flat, q.flat),
        edges=edges,
        half_x=jnp.where(mask, p.half_x, q.half_x),
        half_y=jnp.where(mask, p.half_y, q.half_y),
        rise=jnp.where(mask, p.rise, q.rise),
    )


def _clip(patch: _Patch, by_edge: Array) -> tuple[Array, Array, Vec]:
    """All contact candidates of a patch: found [24, ...], distance, point in the rectangle's
    frame.
    """
    crossings = _crossings(patch)
    lines = jnp.any(crossings[0] & (crossings[1] <= 0), axis=0)
    inner = _rectangle_corners(patch, by_edge, lines)
    outer = _patch_corners(patch, by_edge, lines, lines | jnp.any(inner[0], axis=0))
    point = concatenate([crossings[2], inner[2], outer[2]])
    found = jnp.concatenate([crossings[0], inner[0], outer[0]])
    distance = jnp.concatenate([crossings[1], inner[1], outer[1]])
    return found, distance, point


def _crossings(patch: _Patch) -> tuple[Array, Array, Vec]:
    """Where the four edges of the patch cross the four sides of the rectangle, [16, ...]."""
    (t0, t1, t2), (f0, f1, f2) = patch.true, patch.flat
    one, two = patch.edges
    true = stack([t0, t0, t0 + t1, t0 + t2])
    true_edge = stack([t1, t2, t2, t1])
    flat = stack([f0, f0, f0 + f1, f0 + f2])
    flat_edge = stack([f1, f2, f2, f1])
    exists = jnp.stack([one, two, two, two])
    found = []
    distance = []
    points = []
    for axis in ("x", "y"):
        other = "y" if axis == "x" else "x"
        limit, other_limit = (getattr(patch, f"half_{name}") for name in (axis, other))
        slope = getattr(flat_edge, axis)
        crosses = exists & (jnp.abs(slope) > TINY)
        for side in (-limit, limit):
            at = (side - getattr(flat, axis)) / jnp.where(crosses, slope, 1)
            beside = getattr(flat, other) + getattr(flat_edge, other) * at
            hit = true + true_edge * at
            side = jnp.broadcast_to(side, hit.z.shape)
            spot = Vec(side, beside, hit.z) if axis == "x" else Vec(beside, side, hit.z)
            found.append(crosses & (at >= 0) & (at <= 1) & (jnp.abs(beside) <= other_limit))
            distance.append(hit.z * patch.rise)
            points.append(_middle(spot, hit))
    point = Vec(*(jnp.concatenate(parts) for parts in zip(*points, strict=True)))
    return jnp.concatenate(found), jnp.concatenate(distance), point


def _middle(spot: Vec, hit: Vec) -> Vec:
    """Half-way between a point of the rectangle (its z ignored) and a point of the patch."""
    return Vec(0.5 * (spot.x + hit.x), 0.5 * (spot.y + hit.y), 0.5 * hit.z)


def _rectangle_corners(patch: _Patch, by_edge: Array, lines: Array) -> tuple[Array, Array, Vec]:
    """The rectangle's corners that lie under the patch, [4, ...]."""
    (t0, t1, t2), (f0, f1, f2) = patch.true, patch.flat
    area = f1.x * f2.y - f2.x * f1.y
    found = []
    distance = []
    points = []
    for sign_x, sign_y in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        corner = Vec(sign_x * patch.half_x, sign_y * patch.half_y, jnp.zeros_like(area))
        x = corner.x - f0.x
        y = corner.y - f0.y
        scale = 1 / jnp.where(jnp.abs(area) > 0, area, 1)
        u = (x * f2.y - y * f2.x) * scale
        v = (y * f1.x - x * f1.y) * scale
        inside = (u > 0) & (v > 0) & (u < 1) & (v < 1) & patch.edges[1]
        u_out = (u < 0) | (u > 1)
        v_out = (v < 0) | (v > 1)
        reached = jnp.where(lines, ~(u_out | v_out), ~(u_out & v_out))
        hit = t0 + t1 * jnp.clip(u, 0, 1) + t2 * jnp.clip(v, 0, 1)
        gap = corner - hit
        square = gap.dot(gap)
        signed = jnp.sqrt(square) * jnp.where(hit.z < 0, -1, 1)
        found.append(jnp.where(by_edge, reached & ~((hit.z > 0) & (square > 0)), inside))
        distance.append(jnp.where(by_edge, signed, hit.z * patch.rise))
        points.append(_middle(corner, hit))
        # The reference's engine reuses this variable: after a corner that counts, the next ones see
        # its square.
        area = jnp.where(by_edge & reached, square, area)
    return jnp.stack(found), jnp.stack(distance), stack(points)


def _patch_corners(
    patch: _Patch, by_edge: Array, lines: Array, some: Array
) -> tuple[Array, Array, Vec]:
    """The patch's corners that lie over the rectangle, [4, ...]; its deepest one always counts
    against a face.
    """
    (t0, t1, t2), (f0, f1, f2) = patch.true, patch.flat
    one, two = patch.edges
    true = stack([t0, t0 + t1, t0 + t2, t0 + t1 + t2])
    flat = stack([f0, f0 + f1, f0 + f2, f0 + f1 + f2])
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
    found = jnp.where(by_edge, reached & ~((true.z > 0) & (square > 0)), face)
    distance = jnp.where(by_edge, jnp.sqrt(square) * jnp.where(true.z < 0, -1, 1), height)
    spot = where(by_edge, nearest, true)
    return found, distance, _middle(spot, true)
