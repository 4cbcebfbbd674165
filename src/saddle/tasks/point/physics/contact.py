"""Soft contacts: how hard they push back, and how stiff they are.

A contact resists overlap along its normal, sliding along two tangents, and turning about all three
axes: a pyramid of ten rows, normal +- friction * each of the five others. The engine asks row J for
the acceleration -b (J v) - k d r; with the shifted unknown z = a + b v that reads  J z + k d r >=
0, so no velocity appears in this file.

A row that falls short by e < 0 costs e^2 / (2 R). "Strain" below is the six numbers of a contact
from which its rows are made: normal first (with k d r added), then the five others times their
friction.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics.boxes import Points
from saddle.tasks.point.physics.once import add_all, map_slots, per_body
from saddle.tasks.point.physics.rigid import Motion
from saddle.tasks.point.physics.vec import Vec, broadcast, where

RESISTANCE = 2 / (0.95 * 0.02)  # b, 1/s
SPRING = 1 / (0.95 * 0.02) ** 2  # k, 1/s^2
TWIST = 0.005  # m, friction about the normal; sliding friction is 1
ROLL = 0.0001  # m, friction about the tangents
SPHERE_TWIST = 0.01  # the same where the robot's sphere touches
SPHERE_ROLL = 0.01

Strain = tuple[Array, Array, Array, Array, Array, Array]
Sym6 = list[list[Array]]
"""Lower triangle of a symmetric matrix over (linear, angular): [i][j], j <= i."""


class _Candidates(NamedTuple):
    """What contacts are made from; arrays [C, ...] or broadcastable to it."""

    points: Points
    inverse_weight: Array | float  # 1/kg
    twist: Array | float
    roll: Array | float


class _Hold(NamedTuple):
    """Those fields of Contacts that do not depend on the normal."""

    lever: Vec
    weight: Array
    offset: Array


class Contacts(NamedTuple):
    """Contacts about one reference point per body; arrays [C, ...] or broadcastable to it."""

    lever: Vec  # m, from the reference point to the contact
    normal: Vec
    tangent: Vec
    bitangent: Vec
    twist: Array  # m, friction about the normal
    roll: Array  # m, friction about the tangents
    weight: Array  # 1/R, kg; 0 switches the contact off
    offset: Array  # k d r, m/s^2


def impedance(size: Array) -> Array:
    """d: the share of the asked acceleration that is enforced, 0.9 at no violation, 0.95 from 1 mm
    on.
    """
    x = jnp.minimum(jnp.abs(size) / 0.001, 1)
    return 0.9 + 0.05 * jnp.where(x <= 0.5, 2 * x * x, 1 - 2 * (1 - x) * (1 - x))


def contacts(
    points: Points,
    reference: Vec,
    inverse_weight: Array | float,
    twist: Array | float,
    roll: Array | float,
) -> Contacts:
    """Contacts about `reference` [...]. inverse_weight: sum of the two bodies' translational ones,
    1/kg.
    """

    def of_slots(rows: _Candidates, reference: Vec) -> Contacts:
        def one(row: _Candidates) -> Contacts:
            return _contacts(row, reference)

        return map_slots(one, rows, lambda row: overlap(row.points), own=True)

    rows = _Candidates(points, inverse_weight, twist, roll)
    if points.found.ndim == 2:
        return of_slots(rows, reference)
    return per_body(lambda body: of_slots(*body), (rows, reference))


def _contacts(rows: _Candidates, reference: Vec) -> Contacts:
    """The same of one body's, or of one slot."""
    distance = rows.points.distance
    normal = broadcast(rows.points.normal, distance.shape)
    lever, weight, offset = _hold(rows.points, rows.inverse_weight, reference)
    twist = jnp.asarray(rows.twist, distance.dtype)
    roll = jnp.asarray(rows.roll, distance.dtype)
    tangent, bitangent = frame(normal)
    return Contacts(lever, normal, tangent, bitangent, twist, roll, weight, offset)


def overlap(points: Points) -> Array:
    """Which of them are contacts that push back, bool."""
    return points.found & (points.distance < 0)


def pushes(c: Contacts) -> Array:
    """The same of contacts."""
    return c.weight > 0


def _hold(points: Points, inverse_weight: Array | float, reference: Vec) -> _Hold:
    """Of contacts at these points about `reference`."""
    d = impedance(points.distance)
    weight = d / (4 * inverse_weight * (1 - d))
    lever = points.point - reference
    weight = jnp.where(overlap(points), weight, 0)
    return _Hold(lever, weight, SPRING * d * points.distance)


def on_floor(points: Points, reference: Vec, inverse_weight: float) -> Contacts:
    """Contacts with the floor about `reference`. Their frame is the same for all, known where a
    kernel is written.
    """

    def of_body(body: tuple[Array, Array, Vec, Vec]) -> _Hold:
        *rows, reference = body

        def as_points(row: tuple[Array, Array, Vec]) -> Points:
            return Points(*row, normal=up)

        def one(row: tuple[Array, Array, Vec]) -> _Hold:
            return _hold(as_points(row), inverse_weight, reference)

        return map_slots(one, tuple(rows), lambda row: overlap(as_points(row)), own=True)

    def of(*numbers: float) -> list[Array]:
        return [jnp.asarray(number, points.distance.dtype) for number in numbers]

    up = Vec(*of(0, 0, 1))
    tangent = Vec(*of(0, 1, 0))
    bitangent = Vec(*of(-1, 0, 0))
    bodies = (points.found, points.distance, points.point, reference)
    lever, weight, offset = per_body(of_body, bodies)
    twist, roll = of(TWIST, ROLL)
    return Contacts(lever, up, tangent, bitangent, twist, roll, weight, offset)


def frame(normal: Vec) -> tuple[Vec, Vec]:
    """The engine's tangents: the world's y axis made perpendicular to the normal (z where that is
    too close).
    """
    steep = jnp.abs(normal.y) >= 0.5
    zero = jnp.zeros_like(normal.x)
    up = where(steep, Vec(zero, zero, zero + 1), Vec(zero, zero + 1, zero))
    tangent = up - normal * normal.dot(up)
    tangent = tangent * (1 / tangent.norm())
    return tangent, normal.cross(tangent)


def strain(c: Contacts, z: Motion, offset: bool = True) -> Strain:
    """The six numbers per contact, [C, ...], under the relative motion z; without offset for a
    direction.
    """
    u = z.linear + z.angular.cross(c.lever)
    w = z.angular
    return (
        c.normal.dot(u) + (c.offset if offset else 0),
        c.tangent.dot(u),
        c.bitangent.dot(u),
        c.twist * c.normal.dot(w),
        c.roll * c.tangent.dot(w),
        c.roll * c.bitangent.dot(w),
    )


def gradient(c: Contacts, s: Strain) -> Motion:
    """Derivative of each contact's cost by the motion of its reference point, [C, ...]: minus force
    and torque.
    """
    plus = [jnp.minimum(s[0] + k, 0) for k in s[1:]]
    minus = [jnp.minimum(s[0] - k, 0) for k in s[1:]]
    normal = c.weight * add_all(p + m for p, m in zip(plus, minus, strict=True))
    along, across, turn, lean, tip = (c.weight * (p - m) for p, m in zip(plus, minus, strict=True))
    force = c.normal * normal + c.tangent * along + c.bitangent * across
    spin = c.normal * (c.twist * turn) + c.tangent * (c.roll * lean) + c.bitangent * (c.roll * tip)
    return Motion(force, c.lever.cross(force) + spin)


def stiffness(c: Contacts, s: Strain) -> list[Array]:
    """Second derivative of each contact's cost by the motion of its reference point: 21 entries [C,
    ...].
    """
    plus = [c.weight * (s[0] + k < 0) for k in s[1:]]
    minus = [c.weight * (s[0] - k < 0) for k in s[1:]]
    nn = add_all(p + m for p, m in zip(plus, minus, strict=True))
    nk = [p - m for p, m in zip(plus, minus, strict=True)]
    kk = [p + m for p, m in zip(plus, minus, strict=True)]
    n = c.normal
    t = c.tangent
    b = c.bitangent
    lever = c.lever
    # cost = 1/2 u.K u + (n.u)(q.w) + 1/2 w.P w  with u, w the relative motion at the contact
    by_n = n * nn + t * nk[0] + b * nk[1]  # K n
    by_t = n * nk[0] + t * kk[0]  # K t
    by_b = n * nk[1] + b * kk[1]  # K b
    k_columns = []
    for n_j, t_j, b_j in zip(n, t, b, strict=True):
        k_columns.append(by_n * n_j + by_t * t_j + by_b * b_j)
    kx, ky, kz = k_columns
    # K applied to e_j x lever, for the three axes j
    k_arms = [
        kz * lever.y - ky * lever.z,
        kx * lever.z - kz * lever.x,
        ky * lever.x - kx * lever.y,
    ]
    q = n * (c.twist * nk[2]) + t * (c.roll * nk[3]) + b * (c.roll * nk[4])
    turn = n * (c.twist**2 * kk[2])
    lean = t * (c.roll**2 * kk[3])
    tip = b * (c.roll**2 * kk[4])
    moment = lever.cross(n)
    out = []
    for i, column in enumerate(k_columns):
        out += [*column][: i + 1]
    vectors = (q, n, t, b, turn, lean, tip, moment)
    q_, n_, t_, b_, turn_, lean_, tip_, moment_ = ([*v] for v in vectors)
    for i in range(3):
        out += [a + n_j * q_[i] for a, n_j in zip(k_arms[i], n_, strict=True)]
        swing = [*lever.cross(k_arms[i])]
        for j in range(i + 1):
            coupled = moment_[i] * q_[j] + moment_[j] * q_[i]
            rolled = turn_[i] * n_[j] + lean_[i] * t_[j] + tip_[i] * b_[j]
            out.append(swing[j] + coupled + rolled)
    return out


def slope(weight: Array, s: Strain, ds: Strain, step: Array) -> tuple[Array, Array, Array]:
    """First and second derivative of the cost of contacts of that weight along s + step * ds, [C,
    ...].

    And how many of their rows push back at one end of the step and not at the other.
    """
    first = second = turned = jnp.zeros((), s[0].dtype)
    for k in range(1, 6):
        for sign in (1, -1):
            start = s[0] + sign * s[k]
            direction = ds[0] + sign * ds[k]
            value = start + step * direction
            weighted = jnp.where(value < 0, weight * direction, 0)
            first = first + weighted * value
            second = second + weighted * direction
            turned = turned + ((value < 0) != (start < 0))
    return first, second, turned


def triangle(flat: Array) -> Sym6:
    """[21, ...], row by row, -> lower triangle."""
    rows = []
    for i in range(6):
        start = i * (i + 1) // 2
        rows.append([flat[start + j] for j in range(i + 1)])
    return rows


def entry(m: Sym6, i: int, j: int) -> Array:
    """Entry (i, j) of a symmetric matrix."""
    return m[i][j] if j <= i else m[j][i]


def times(m: Sym6, z: Motion) -> Motion:
    """A symmetric matrix times a motion."""
    values = [*z.linear, *z.angular]
    rows = []
    for i in range(6):
        rows.append(add_all(entry(m, i, j) * values[j] for j in range(6)))
    return Motion(Vec(*rows[:3]), Vec(*rows[3:]))


def add(m: Sym6, other: Sym6) -> Sym6:
    """Sum of two symmetric matrices."""
    rows = []
    for p, q in zip(m, other, strict=True):
        rows.append([a + b for a, b in zip(p, q, strict=True)])
    return rows
