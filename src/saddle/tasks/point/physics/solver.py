"""The robot and the free bodies it may touch: one convex problem a substep (problem.py), solved by
Newton's method.

Bodies mostly meet the robot and the world, not each other; the Newton matrix is then a star: each
body's 6x6 block is eliminated on its own, and a 3x3 system for the robot remains. Where bodies do
meet each other (`pairs`), the whole matrix is solved.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import contact, pairs
from saddle.tasks.point.physics.contact import Contacts, Strain, Sym6, add, entry, triangle
from saddle.tasks.point.physics.line_search import search
from saddle.tasks.point.physics.linear import cholesky, cholesky_solve, solve3
from saddle.tasks.point.physics.once import add_all, once, only_if, per_body, sum_slots, total
from saddle.tasks.point.physics.problem import (
    Groups,
    Problem,
    Unknown,
    gradient,
    inner,
    robot_mass,
    strains,
)
from saddle.tasks.point.physics.rigid import Motion
from saddle.tasks.point.physics.vec import Vec

ITERATIONS = 30  # at most; a handful is usual
# Kg m^2/s^4: of an exact step whose decrement was less, float32 leaves no more than the tolerance
SURE = 1e-3


class _Progress(NamedTuple):
    """How far Newton's method is, in each of N worlds."""

    count: Array  # [] int32, iterations so far
    z: Unknown
    decrement: Array  # [N], of the last iteration
    improving: Array  # [N] bool


class _Terms(NamedTuple):
    """What a group of contacts adds to the gradient and to the Newton matrix, summed."""

    gradient: Array  # [6, ...]
    stiffness: Array  # [21, ...], a lower triangle row by row


def solve(p: Problem, start: Unknown) -> Unknown:
    """The minimiser."""
    # In kg m^2/s^4: an acceleration error of 1e-3 m/s^2 on the lightest body, 2e-6 m/s after the
    # substep. Below `stall`, a decrement that no longer shrinks is rounding.
    double = p.yaw.dtype == jnp.float64
    tolerance = 1e-22 if double else 1e-11
    stall = 1e-20 if double else 1e-8

    def unfinished(carry: _Progress) -> Array:
        return (carry.count < ITERATIONS) & jnp.any(carry.improving)

    def improve(carry: _Progress) -> _Progress:
        z = carry.z
        strain = once(strains(p, z))
        slope, direction = _newton(p, z, strain)
        decrement = -inner(slope, direction)
        stalled = (decrement > 0.25 * carry.decrement) & (decrement < stall)
        # If not, this iteration only confirms, and its small step needs no search.
        far = decrement > tolerance

        def searched() -> tuple[Unknown, Array]:
            return search(p, z, direction, strain)

        def whole_step() -> tuple[Unknown, Array]:
            return jax.tree.map(jnp.add, z, direction), far

        z, exact = jax.lax.cond(jnp.any(far), searched, whole_step)
        improving = far & ~stalled & ~(exact & (decrement < SURE))
        return _Progress(carry.count + 1, z, decrement, improving)

    everyone = jnp.ones(p.yaw.shape, bool)
    first = _Progress(
        count=jnp.zeros((), jnp.int32),
        z=start,
        decrement=jnp.full(p.yaw.shape, jnp.inf, p.yaw.dtype),
        improving=everyone,
    )
    return jax.lax.while_loop(unfinished, improve, first).z


def _newton(p: Problem, z: Unknown, s: Groups) -> tuple[Unknown, Unknown]:
    """Gradient at z, whose strains are s, and the Newton direction."""
    c = p.contacts
    h_robot = robot_mass(p.yaw)
    h_body = p.mass
    g_robot, g_body = gradient(p, z)
    if c.static:
        static = _terms(c.static, s.static)
        push = static.gradient
        g_robot = _plus(g_robot, Planar(push[0], push[1], push[5]))
        h_robot = _planar_add(h_robot, _planar_block(triangle(static.stiffness)))
    if not c.robot:
        downhill = [-g for g in g_robot]
        alone = Planar(*solve3(h_robot, downhill))
        return Unknown(g_robot, g_body), Unknown(alone, z.body)
    at_robot = _terms(c.robot, s.robot)
    g_robot = _plus(g_robot, _reaction(p.arm, at_robot.gradient))
    terms = [at_robot]
    if c.fixed:
        terms.append(_terms(c.fixed, s.fixed))
    if c.floor:
        terms.append(_terms(c.floor, s.floor))
    for group in terms:
        g_body = g_body + _motion(group.gradient)
        h_body = add(h_body, triangle(group.stiffness))

    def star(slope: Unknown) -> Unknown:
        return _star_solve(p.arm, h_robot, h_body, triangle(at_robot.stiffness), slope)

    if not c.pairs:
        slope = Unknown(g_robot, g_body)
        return slope, star(slope)
    paired = only_if(p.paired, lambda: _terms(c.pairs, s.pairs))
    slope = Unknown(g_robot, g_body + pairs.scatter(_motion(paired.gradient), p.arm))

    def dense() -> Unknown:
        coupling = triangle(at_robot.stiffness)
        matrix = pairs.Blocks(h_robot, h_body, coupling, triangle(paired.stiffness))
        return Unknown(*pairs.dense_solve(p.arm, matrix, *slope))

    return slope, jax.lax.cond(p.paired, dense, lambda: star(slope))


def _reaction(arm: Vec, gradient: Array) -> Planar:
    """What the bodies' contacts with the robot add to the robot's gradient; theirs is [6, B, N]."""
    turn = arm.x * gradient[1] - arm.y * gradient[0] + gradient[5]
    return Planar(-total(gradient[0]), -total(gradient[1]), -total(turn))


def _motion(six: Array | list[Array]) -> Motion:
    """Six numbers, the linear three first."""
    return Motion(Vec(*six[:3]), Vec(*six[3:]))


def _terms(c: Contacts, s: Strain) -> _Terms:
    """Of contacts under these strains."""

    def both(row: tuple[Contacts, Strain]) -> Array:  # [27, C, ...]
        push = contact.gradient(*row)
        return jnp.stack([*push.linear, *push.angular, *contact.stiffness(*row)])

    def of_all(rows: tuple[Contacts, Strain]) -> Array:
        return sum_slots(both, rows, lambda row: contact.pushes(row[0]))

    has_bodies = c.weight.ndim > 2
    summed = once(per_body(of_all, (c, s)) if has_bodies else of_all((c, s)))
    return _Terms(summed[:6], summed[6:])


def _star_solve(
    arm: Vec, h_robot: list[list[Array]], h_body: Sym6, coupling: Sym6, g: Unknown
) -> Unknown:
    """Minus the inverse of the star matrix times g."""
    carried = robot_columns(arm, coupling)
    rest = [*g.body.linear, *g.body.angular]
    # Right-hand sides, [4, B, N] each: the robot's three columns, and the bodies' gradient.
    sides = []
    for columns, slope in zip(carried, rest, strict=True):
        sides.append(jnp.stack([*columns, slope]))
    right = once(sides)

    def solve_body(row: tuple[Sym6, list[Array]]) -> list[Array]:
        matrix, sides = row
        return cholesky_solve(once(cholesky(matrix)), sides)

    solved = once(per_body(solve_body, (h_body, right)))

    def dot(i: int, k: int) -> Array:
        """Side i times solution k, summed over bodies."""
        products = (row[i] * x[k] for row, x in zip(right, solved, strict=True))
        return total(add_all(products))

    corner = []
    for k in range(3):
        x = carried[0][k]
        y = carried[1][k]
        corner.append([x, y, arm.x * y - arm.y * x + carried[5][k]])
    schur = []
    for i in range(3):
        schur.append([h_robot[i][j] + total(corner[j][i]) - dot(i, j) for j in range(3)])
    downhill = [-g.robot[i] - dot(i, 3) for i in range(3)]
    robot = Planar(*solve3(schur, downhill))
    body = []
    for x in solved:
        body.append(x[0] * robot.x + x[1] * robot.y + x[2] * robot.yaw - x[3])
    return Unknown(robot, _motion(body))


def robot_columns(arm: Vec, coupling: Sym6) -> list[list[Array]]:
    """The coupling times the robot's three motions as seen at the body's centre: [6][3] arrays [B,
    N].
    """
    columns = []
    for i in range(6):
        x = entry(coupling, i, 0)
        y = entry(coupling, i, 1)
        columns.append([x, y, arm.x * y - arm.y * x + entry(coupling, i, 5)])
    return columns


def _planar_block(m: Sym6) -> list[list[Array]]:
    """Rows and columns of x, y and yaw."""
    index = (0, 1, 5)
    return [[entry(m, i, j) for j in index] for i in index]


def _planar_add(m: list[list[Array]], n: list[list[Array]]) -> list[list[Array]]:
    """The sum of two matrices."""
    rows = []
    for p, q in zip(m, n, strict=True):
        rows.append([a + b for a, b in zip(p, q, strict=True)])
    return rows


def _plus(a: Planar, b: Planar) -> Planar:
    """The sum of two."""
    return Planar(a.x + b.x, a.y + b.y, a.yaw + b.yaw)
