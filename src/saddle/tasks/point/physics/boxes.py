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

from saddle.tasks.point.physics.clip import Parallelogram, Patch, clip
from saddle.tasks.point.physics.once import once, unless
from saddle.tasks.point.physics.overlap import (
    TINY,
    Box,
    Edge,
    Frame,
    StackedBox,
    View,
    edge_axis,
    face_axes,
    into,
    out_of,
    spread,
    view_from,
)
from saddle.tasks.point.physics.vec import Vec, pick, pick_vec, where

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


def box_box(first: Box, second: Box) -> Points:
    """Contacts between two boxes, [24, ...] candidates. The normal points from the first to the
    second.
    """
    a, b = once(spread(first, second))
    overlap, code, apart = face_axes(a, b)
    return unless(apart, lambda: _not_apart_by_faces(a, b, overlap, code, apart))


def _not_apart_by_faces(
    a: StackedBox, b: StackedBox, overlap: Array, code: Array, apart: Array
) -> Points:
    """Contacts of boxes that no face axis holds apart, except where `apart` says so."""
    view = once(view_from(a, b, code))
    edge = edge_axis(view)
    apart = apart | (overlap + edge.gain < 0)
    return unless(apart, lambda: _touching(a, b, view, edge, overlap, apart))


def _touching(
    a: StackedBox, b: StackedBox, view: View, edge: Edge, overlap: Array, apart: Array
) -> Points:
    """Contacts of boxes, given the axes of least overlap; none where an axis holds them apart."""
    edge, is_edge = once((edge, edge.gain < -SLACK * overlap))
    edge_patch, edge_frame = _edge_patch(a, b, edge)
    patch = _select(is_edge, edge_patch, _face_patch(view))
    frame = _select_frame(is_edge, edge_frame, view.frame)
    patch, frame = once((patch, frame))
    found, distance, local = once(clip(patch, is_edge))
    point = frame.origin + out_of(frame, local)
    found = found & ~apart & (distance <= 0)
    face_normal = where(view.of_b, -view.frame.z, view.frame.z)
    normal = where(is_edge, edge.normal, face_normal)
    return Points(found, distance, point, normal[None])


def _face_patch(view: View) -> Patch:
    """The nearest face of the other box above the view's."""
    axes = view.axes
    # [3, ...]: the corner deepest below the face
    arms = axes * jnp.where(axes.z < 0, view.other_half, -view.other_half)
    above = Vec(view.offset.x, view.offset.y, view.offset.z - view.half[2])
    corner = above + arms.map(lambda part: jnp.sum(part, axis=0))
    is_flat = jnp.abs(axes.z) < 0.5
    first, second, has_first, has_second = _flat_edges(is_flat, arms * -2.0)
    true = Parallelogram(corner, first, second)
    flat = Parallelogram(*(Vec(v.x, v.y, jnp.zeros_like(v.z)) for v in true))
    return Patch(
        true=true,
        flat=flat,
        has_first=has_first,
        has_second=has_second,
        rise=jnp.full_like(corner.x, FACE_RISE),
        half_x=view.half[0],
        half_y=view.half[1],
    )


def _flat_edges(flat: Array, edges: Vec) -> tuple[Vec, Vec, Array, Array]:
    """Of three edge vectors [3, ...], those that lie flat enough to span the nearest face: two,
    one, or none.
    """
    rank = jnp.cumsum(flat, axis=0)

    def keep(k: int) -> Vec:
        """The k-th of those that are flat."""
        return edges.map(lambda part: jnp.sum(jnp.where(flat & (rank == k), part, 0), axis=0))

    return keep(1), keep(2), rank[2] > 0, rank[2] > 1


def _edge_patch(a: StackedBox, b: StackedBox, edge: Edge) -> tuple[Patch, Frame]:
    """A face of a next to its edge, and the face of b next to its edge, projected along the
    normal.
    """
    i = edge.of_a
    j = edge.of_b
    face_a = _most_across(i, pick_vec(j, b.axes), a.axes)
    face_b = _most_across(j, pick_vec(i, a.axes), b.axes)
    out = pick_vec(face_a, a.axes)
    side = jnp.where(pick(face_a, edge.along_a) > 0, 1, -1)
    # The order in which the rectangle's corners are visited matters (_rectangle_corners), hence
    # these directions.
    x_axis = jnp.where(face_a == 0, 2, 0)
    y_axis = jnp.where(face_a == 1, 2, 1)
    x_along = pick_vec(x_axis, a.axes)
    x = x_along * jnp.where(face_a == 0, -side, jnp.where(face_a == 2, side, 1))
    y_along = pick_vec(y_axis, a.axes)
    y = y_along * jnp.where(face_a == 1, -side, 1)
    z = out * side
    frame = Frame(a.center + z * pick(face_a, a.half), x, y, z)
    # towards the edge that touches
    arms = b.axes * (b.half * jnp.where(edge.along_b < 0, 1, -1))
    along = pick_vec(j, b.axes) * pick(j, b.half)
    sideways = pick_vec(3 - j - face_b, arms)
    corner = b.center + sideways + pick_vec(face_b, arms) + along
    true = Parallelogram(
        corner=into(frame, corner - frame.origin),
        first=into(frame, along) * -2.0,
        second=into(frame, sideways) * -2.0,
    )
    normal = into(frame, edge.normal)
    rise = 1 / jnp.where(jnp.abs(normal.z) < TINY, 1, normal.z)
    flat = Parallelogram(*(v - normal * (v.z * rise) for v in true))
    always = jnp.ones(i.shape, bool)
    patch = Patch(
        true=true,
        flat=flat,
        has_first=always,
        has_second=always,
        half_x=pick(x_axis, a.half),
        half_y=pick(y_axis, a.half),
        rise=rise,
    )
    return patch, frame


def _most_across(edge: Array, direction: Vec, axes: Vec) -> Array:
    """Of the two axes other than `edge`, the index of the one most perpendicular to `direction`."""
    dots = jnp.abs(axes.dot(direction))
    first = jnp.where(edge == 0, 1, jnp.where(edge == 1, 0, 1))
    second = jnp.where(edge == 2, 0, 2)
    return jnp.where(pick(first, dots) < pick(second, dots), first, second)


def _select(mask: Array, p: Patch, q: Patch) -> Patch:
    """p where the mask holds, else q."""
    return Patch(
        has_first=jnp.where(mask, p.has_first, q.has_first),
        has_second=jnp.where(mask, p.has_second, q.has_second),
        true=_select_shape(mask, p.true, q.true),
        flat=_select_shape(mask, p.flat, q.flat),
        half_x=jnp.where(mask, p.half_x, q.half_x),
        half_y=jnp.where(mask, p.half_y, q.half_y),
        rise=jnp.where(mask, p.rise, q.rise),
    )


def _select_shape(mask: Array, p: Parallelogram, q: Parallelogram) -> Parallelogram:
    """The same of a parallelogram."""
    return Parallelogram(*(where(mask, u, v) for u, v in zip(p, q, strict=True)))


def _select_frame(mask: Array, p: Frame, q: Frame) -> Frame:
    """The same of a frame."""
    return Frame(*(where(mask, u, v) for u, v in zip(p, q, strict=True)))
