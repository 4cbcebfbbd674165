"""Along which axis two boxes overlap the least: a face's, or one across an edge of both."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics.once import add_all
from saddle.tasks.point.physics.vec import (
    Axes,
    Vec,
    broadcast,
    concatenate,
    pick,
    pick_vec,
    stack,
    where,
)

TINY = 1e-15  # lengths and slopes below this are degenerate, as in the reference's engine
LEVEL = 1e-9  # rad


class Box(NamedTuple):
    """Oriented boxes: centre [...], axes [...], half-extents as three arrays or numbers."""

    center: Vec
    axes: Axes
    half: tuple[Array | float, Array | float, Array | float]


class StackedBox(NamedTuple):
    """A box with its axes and half-extents along a leading axis of three."""

    center: Vec  # [...]
    axes: Vec  # [3, ...]
    half: Array  # [3, ...]


class Frame(NamedTuple):
    """Where a patch lives in the world."""

    origin: Vec
    x: Vec
    y: Vec
    z: Vec


class View(NamedTuple):
    """Both boxes as seen from a face of one, its owner, that the other is nearest to.

    In the face's frame, z towards the other box.
    """

    of_b: Array  # bool, whether the second box is the owner
    axis: Array  # which of the owner's axes the face is across
    sign: Array  # 1 where the frame's z is that axis, -1 where it is against it
    frame: Frame
    half: Array  # [3, ...], the owner's
    offset: Vec  # from the owner's centre to the other's
    axes: Vec  # [3, ...], the other's
    other_half: Array  # [3, ...]


class Edge(NamedTuple):
    """An axis across an edge of both boxes."""

    gain: Array  # m, its overlap less that along the face's axis
    of_a: Array  # which of the first box's axes the edge runs along
    of_b: Array  # the same of the second
    normal: Vec  # from the first to the second box
    along_a: Array  # [3, ...]: the normal in the first box's coordinates
    along_b: Array  # [3, ...]: in the second's


def spread(a: Box, b: Box) -> tuple[StackedBox, StackedBox]:
    """Both boxes with every array of one shape."""
    parts = (*a.center, *a.half, *b.center, *b.half)
    shape = jnp.broadcast_shapes(*(jnp.shape(part) for part in parts))
    dtype = b.center.x.dtype

    def stacked(box: Box) -> StackedBox:
        center = broadcast(box.center, shape)
        axes = stack([broadcast(axis, shape) for axis in box.axes])
        half = [jnp.broadcast_to(jnp.asarray(h, dtype), shape) for h in box.half]
        return StackedBox(center, axes, jnp.stack(half))

    return stacked(a), stacked(b)


def face_axes(a: StackedBox, b: StackedBox) -> tuple[Array, Array, Array]:
    """Least overlap over the six face axes, its code (2 * axis + box), and whether any of them
    separates.
    """
    offset = b.center - a.center
    cosines = jnp.abs(a.axes[:, None].dot(b.axes[None]))  # [3 of a, 3 of b, ...]
    over_a = a.half + jnp.sum(cosines * b.half[None], axis=1) - jnp.abs(a.axes.dot(offset))
    over_b = b.half + jnp.sum(cosines * a.half[:, None], axis=0) - jnp.abs(b.axes.dot(offset))
    overlaps = jnp.stack([over_a, over_b], axis=1).reshape(6, *over_a.shape[1:])
    least = jnp.min(overlaps, axis=0)
    code = jnp.argmin(overlaps, axis=0)
    apart = jnp.any(overlaps < 0, axis=0)
    return least, code, apart


def view_from(a: StackedBox, b: StackedBox, code: Array) -> View:
    """The boxes as seen from the face of that code."""
    of_b = code % 2 == 1
    axis = code // 2
    owner = _choose(of_b, b, a)
    other = _choose(of_b, a, b)
    offset = other.center - owner.center
    along = pick_vec(axis, owner.axes)
    sign = jnp.where(along.dot(offset) < 0, -1, 1).astype(offset.x.dtype)
    z = along * sign
    in_order = [(axis + 1) % 3, (axis + 2) % 3, axis]
    x, y = (pick_vec(index, owner.axes) for index in in_order[:2])
    half = [pick(index, owner.half) for index in in_order]
    frame = Frame(owner.center + z * half[2], x, y, z)
    return View(
        of_b=of_b,
        axis=axis,
        sign=sign,
        frame=frame,
        half=jnp.stack(half),
        offset=into(frame, offset),
        axes=into(frame, other.axes),
        other_half=other.half,
    )


def _choose(mask: Array, p: StackedBox, q: StackedBox) -> StackedBox:
    """p where the mask holds, else q."""
    return StackedBox(
        center=where(mask, p.center, q.center),
        axes=where(mask, p.axes, q.axes),
        half=jnp.where(mask, p.half, q.half),
    )


def edge_axis(view: View) -> Edge:
    """The edge-edge axis of least overlap."""
    candidates = [_across(view.axes, own) for own in range(3)]
    real = jnp.concatenate([found for found, _ in candidates])
    axes = concatenate([axis for _, axis in candidates])  # [9, ...], the owner's axis slowest
    away = jnp.where(axes.dot(view.offset) < 0, -1, 1)
    axes = axes * away
    gains = jnp.where(real & _leaning(axes), _gain(view, axes), jnp.inf)
    best = jnp.argmin(gains, axis=0)
    axis = pick_vec(best, axes)
    own = (view.axis + 1 + best // 3) % 3
    other = best % 3
    side = jnp.where(view.of_b, -1, 1)
    by_own = _by_axis(view, axis) * side
    by_other = view.axes.dot(axis) * side
    return Edge(
        gain=jnp.min(gains, axis=0),
        of_a=jnp.where(view.of_b, other, own),
        of_b=jnp.where(view.of_b, own, other),
        normal=out_of(view.frame, axis) * side,
        along_a=jnp.where(view.of_b, by_other, by_own),
        along_b=jnp.where(view.of_b, by_own, by_other),
    )


def _across(edges: Vec, own: int) -> tuple[Array, Vec]:
    """The unit vectors across the frame's axis `own` and each of these [3, ...], and whether there
    is one.
    """
    zero = jnp.zeros_like(edges.x)
    products = (
        Vec(zero, -edges.z, edges.y),
        Vec(edges.z, zero, -edges.x),
        Vec(-edges.y, edges.x, zero),
    )
    axis = products[own]
    length = axis.norm()
    real = length > TINY
    return real, axis * (1 / jnp.where(real, length, 1))


def _leaning(axes: Vec) -> Array:
    """Whether these axes [9, ...] lean from the face's, in float32 by more than what rounding makes
    of a level box.
    """
    noise = 0.0 if axes.z.dtype == jnp.float64 else LEVEL
    return (axes.z < 0) | (axes.x * axes.x + axes.y * axes.y >= noise**2)


def _gain(view: View, axes: Vec) -> Array:
    """By how much the boxes overlap more along these axes [9, ...] than along the face's, m.

    The axis across an edge that stands nearly upright on the face's plane nearly is the face's, and
    what decides between them is the square of a small angle. So nothing here is a difference of
    two overlaps: it is made of how the axes differ from the face's.
    """
    tilt = axes.x * axes.x + axes.y * axes.y
    ahead = axes.z > 0
    rise = jnp.where(ahead, -tilt / (1 + jnp.where(ahead, axes.z, 0)), axes.z - 1)
    change = Vec(axes.x, axes.y, rise)
    parts = [
        view.half[0] * jnp.abs(axes.x),
        view.half[1] * jnp.abs(axes.y),
        view.half[2] * jnp.where(ahead, rise, -axes.z - 1),
    ]
    for k in range(3):
        before = view.axes.z[k]
        parts.append(view.other_half[k] * _larger(before, change.dot(view.axes[k])))
    return add_all(parts) - change.dot(view.offset)


def _larger(x: Array, change: Array) -> Array:
    """By how much |x + change| is larger than |x|."""
    after = x + change
    return jnp.where(x * after > 0, jnp.sign(x) * change, jnp.abs(after) - jnp.abs(x))


def _by_axis(view: View, v: Vec) -> Array:
    """[3, ...]: a vector of the view's frame in the owner's coordinates."""
    parts = []
    for k in range(3):
        is_x = view.axis == (k - 1) % 3
        is_y = view.axis == (k - 2) % 3
        parts.append(jnp.where(is_x, v.x, jnp.where(is_y, v.y, view.sign * v.z)))
    return jnp.stack(parts)


def into(frame: Frame, v: Vec) -> Vec:
    """World direction -> the frame's coordinates."""
    return Vec(frame.x.dot(v), frame.y.dot(v), frame.z.dot(v))


def out_of(frame: Frame, v: Vec) -> Vec:
    """The frame's coordinates -> world direction."""
    return frame.x * v.x + frame.y * v.y + frame.z * v.z
