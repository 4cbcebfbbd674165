"""The robot and the free bodies it may touch: one convex problem a substep, solved by Newton's method.

    minimise over z   1/2 (z - z0) M (z - z0)  +  sum over contact rows  min(0, row)^2 / (2 R)

The unknowns are the robot's three accelerations and six for each body (shifted by b v: see contact.py). Bodies mostly
meet the robot and the world, not each other; the Newton matrix is then a star: each body's 6x6 block is eliminated on
its own, and a 3x3 system for the robot remains. Where bodies do meet each other (`pairs`), the whole matrix is solved.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body
from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import contact, pairs
from saddle.tasks.point.physics.contact import Contacts, Strain, Sym6, add, entry, triangle
from saddle.tasks.point.physics.linear import cholesky, cholesky_solve, solve3
from saddle.tasks.point.physics.once import (
    add_all,
    map_slots,
    once,
    only_if,
    per_body,
    sum_slots,
    sum_slots_from,
    total,
)
from saddle.tasks.point.physics.rigid import Motion
from saddle.tasks.point.physics.vec import Vec

ITERATIONS = 30  # at most; a handful is usual
LINE_SEARCH = 8  # at most; two or three are usual


class Weld(NamedTuple):
    """Six equality rows that hold each body at a target pose, in terms of its unknowns."""

    stiffness: Sym6  # arrays [B, N]
    gradient: Motion  # at z = 0


class Problem(NamedTuple):
    """One substep of N worlds with B bodies each. Arrays [N] for the robot, [B, N] for bodies, [C, ...] contacts."""

    yaw: Array
    robot0: Planar  # z0 of the robot
    mass: Sym6  # the bodies' inertia, with the stiffness of a weld
    pull: Motion  # minus the bodies' gradient at z = 0 without contacts
    arm: Vec  # from the robot's origin to each body's centre
    static: Contacts | None  # robot against fixed things, about the robot's origin [C, N]
    bodies: Contacts | None  # bodies against the robot and the world, about their centres [C, B, N]
    robot_slots: int  # the first so many of `bodies` are with the robot
    pairs: Contacts | None  # bodies against each other, about each pair's second [C, pairs, N]


class Unknown(NamedTuple):
    """z, or a direction in its space."""

    robot: Planar
    body: Motion


class _Strains(NamedTuple):
    """Strain of each group of contacts, None where there is no such group."""

    static: Any
    bodies: Any
    pairs: Any


def solve(p: Problem, start: Unknown) -> Unknown:
    """The minimiser."""
    # In kg m^2/s^4: an acceleration error of 1e-3 m/s^2 on the lightest body, 2e-6 m/s after the substep.
    # Below `stall`, a decrement that no longer shrinks is rounding.
    tolerance, stall = (1e-22, 1e-20) if p.yaw.dtype == jnp.float64 else (1e-11, 1e-8)

    def unfinished(carry: tuple[Array, Unknown, Array, Array]) -> Array:
        return (carry[0] < ITERATIONS) & jnp.any(carry[3])

    def improve(carry: tuple[Array, Unknown, Array, Array]) -> tuple[Array, Unknown, Array, Array]:
        count, z, before, _ = carry
        strains = once(_strains(p, z))
        gradient, direction = _newton(p, z, strains)
        decrement = -_inner(gradient, direction)
        stalled = (decrement > 0.25 * before) & (decrement < stall)
        far = decrement > tolerance  # if not, this iteration only confirms, and its small step needs no search
        search = lambda: _line_search(p, z, direction, strains)
        z = jax.lax.cond(jnp.any(far), search, lambda: jax.tree.map(jnp.add, z, direction))
        return count + 1, z, decrement, far & ~stalled

    everyone = jnp.ones(p.yaw.shape, bool)
    first = (jnp.zeros((), jnp.int32), start, jnp.full(p.yaw.shape, jnp.inf, p.yaw.dtype), everyone)
    return jax.lax.while_loop(unfinished, improve, first)[1]


def _strains(p: Problem, z: Unknown, offset: bool = True) -> _Strains:
    """Strain of every group of contacts under z."""
    robot = _robot_motion(z.robot)
    of_slots = lambda c, z: map_slots(lambda row: contact.strain(row, z, offset), c, c.weight > 0)
    static = of_slots(p.static, robot) if p.static else None
    bodies = others = None
    if p.bodies:
        with_robot = (jnp.arange(p.bodies.weight.shape[0]) < p.robot_slots).astype(p.yaw.dtype)[:, None, None]

        def of_body(body: tuple[Contacts, Array, Motion, Vec]) -> Strain:
            c, with_robot, motion, arm = body
            of_row = lambda row: contact.strain(row[0], _relative(z.robot, row[1], motion, arm), offset)
            return map_slots(of_row, (c, with_robot), c.weight > 0)

        bodies = per_body(of_body, (p.bodies, with_robot, z.body, p.arm))
    if p.pairs:
        of_pairs = lambda: per_body(lambda pair: of_slots(*pair), (p.pairs, pairs.relative(z.body, p.arm)))
        others = only_if(_paired(p), of_pairs)
    return _Strains(static, bodies, others)


def _robot_motion(z: Planar) -> Motion:
    zero = jnp.zeros_like(z.x)
    return Motion(Vec(z.x, z.y, zero), Vec(zero, zero, z.yaw))


def _relative(robot: Planar, with_robot: Array, body: Motion, arm: Vec) -> Motion:
    """Motion of the bodies against what they touch, [C, B, N]: less the robot's where with_robot is 1 and not 0."""
    x = robot.x - robot.yaw * arm.y
    y = robot.y + robot.yaw * arm.x
    linear, angular = body
    return Motion(
        Vec(linear.x - with_robot * x, linear.y - with_robot * y, linear.z),
        Vec(angular.x, angular.y, angular.z - with_robot * robot.yaw),
    )


def _newton(p: Problem, z: Unknown, strains: _Strains) -> tuple[Unknown, Unknown]:
    """Gradient at z and the Newton direction."""
    g_robot = robot_force(p.yaw, _minus(z.robot, p.robot0))
    h_robot = robot_mass(p.yaw)
    if p.static:
        push, hold = _terms(p.static, strains.static)
        g_robot = _plus(g_robot, Planar(push[0], push[1], push[5]))
        h_robot = _planar_add(h_robot, _planar_block(triangle(hold)))
    if not p.bodies:
        return Unknown(g_robot, z.body), Unknown(Planar(*solve3(h_robot, [-g for g in g_robot])), z.body)
    slots = p.robot_slots
    push, hold = _terms(p.bodies, strains.bodies, slots)
    back, everything = push
    coupling = triangle(hold[0])
    g_body = _body_gradient(p, z.body) + Motion(Vec(*everything[:3]), Vec(*everything[3:]))
    h_body = add(p.mass, triangle(hold[1]))
    turn = p.arm.x * back[1] - p.arm.y * back[0] + back[5]
    g_robot = _minus(g_robot, Planar(*(total(v) for v in (back[0], back[1], turn))))
    if not p.pairs:
        gradient = Unknown(g_robot, g_body)
        return gradient, _star_solve(p.arm, h_robot, h_body, coupling, gradient)
    between = p.pairs
    push, hold = only_if(_paired(p), lambda: _terms(between, strains.pairs))
    gradient = Unknown(g_robot, g_body + pairs.scatter(Motion(Vec(*push[:3]), Vec(*push[3:])), p.arm))
    star = lambda: _star_solve(p.arm, h_robot, h_body, coupling, gradient)
    dense = lambda: Unknown(*pairs.dense_solve(p.arm, h_robot, h_body, coupling, triangle(hold), *gradient))
    return gradient, jax.lax.cond(_paired(p), dense, star)


def _paired(p: Problem) -> Array:
    """[] bool: whether any two bodies touch."""
    return jnp.any(p.pairs.weight > 0) if p.pairs else jnp.zeros((), bool)


def _terms(c: Contacts, s: Strain, split: int = 0) -> tuple:
    """Gradient [6, ...] and stiffness [21, ...], summed over contacts; with split, over the first so many and all."""

    def both(row: tuple[Contacts, Strain]) -> Array:  # [27, C, ...]
        push = contact.gradient(*row)
        return jnp.stack([*push.linear, *push.angular, *contact.stiffness(*row)])

    if not split:
        of_all = lambda row: sum_slots(both, row, row[0].weight > 0)
        summed = once(per_body(of_all, (c, s)) if c.weight.ndim > 2 else of_all((c, s)))
        return summed[:6], summed[6:]
    first, everything = per_body(lambda row: sum_slots_from(both, row, row[0].weight > 0, split), (c, s))
    return (first[:6], everything[:6]), (first[6:], everything[6:])


def _body_gradient(p: Problem, z: Motion) -> Motion:
    """Without contacts."""
    return contact.times(p.mass, z) - p.pull


def _star_solve(arm: Vec, h_robot: list[list[Array]], h_body: Sym6, coupling: Sym6, g: Unknown) -> Unknown:
    """Minus the inverse of the star matrix times g."""
    carried = robot_columns(arm, coupling)
    rest = [*g.body.linear, *g.body.angular]
    right = once([jnp.stack([*row, r]) for row, r in zip(carried, rest, strict=True)])  # [4, B, N] each
    solved = once(per_body(lambda row: cholesky_solve(once(cholesky(row[0])), row[1]), (h_body, right)))
    dot = lambda i, k: total(add_all(row[i] * x[k] for row, x in zip(right, solved, strict=True)))
    both = [[c[k] for c in (carried[0], carried[1])] for k in range(3)]
    both = [[x, y, arm.x * y - arm.y * x + carried[5][k]] for k, (x, y) in enumerate(both)]
    schur = [[h_robot[i][j] + total(both[j][i]) - dot(i, j) for j in range(3)] for i in range(3)]
    robot = Planar(*solve3(schur, [-g.robot[i] - dot(i, 3) for i in range(3)]))
    body = [x[0] * robot.x + x[1] * robot.y + x[2] * robot.yaw - x[3] for x in solved]
    return Unknown(robot, Motion(Vec(*body[:3]), Vec(*body[3:])))


def robot_columns(arm: Vec, coupling: Sym6) -> list[list[Array]]:
    """The coupling times the robot's three motions as seen at the body's centre: [6][3] arrays [B, N]."""
    rows = [[entry(coupling, i, 0), entry(coupling, i, 1)] for i in range(6)]
    return [[*row, arm.x * row[1] - arm.y * row[0] + entry(coupling, i, 5)] for i, row in enumerate(rows)]


def _line_search(p: Problem, z: Unknown, d: Unknown, s: _Strains) -> Unknown:
    """Exact minimisation along d: the slope is increasing and piecewise linear in the step."""
    ds = once(_strains(p, d, offset=False))
    robot = robot_force(p.yaw, d.robot)
    off_by = _minus(z.robot, p.robot0)
    base = add_all(a * b for a, b in zip(robot, off_by, strict=True))
    curve = add_all(a * b for a, b in zip(robot, d.robot, strict=True))
    if p.bodies:
        base = base + total(_dot(_body_gradient(p, z.body), d.body))
        curve = curve + total(_dot(contact.times(p.mass, d.body), d.body))

    def unfinished(carry: tuple[Array, Array, Array, Array, Array]) -> Array:
        return (carry[0] < LINE_SEARCH) & jnp.any(carry[4])

    def refine(carry: tuple[Array, Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array, Array]:
        count, step, low, high, _ = carry
        of_contacts = _slope(p, s, ds, step)
        first, second = base + step * curve + of_contacts[0], curve + of_contacts[1]
        low = jnp.where(first < 0, step, low)
        high = jnp.where(first > 0, step, high)
        guess = step - first / jnp.where(second > 0, second, 1)
        inside = (guess >= low) & (guess <= high)  # with equality: where Newton's step is exact, 1 is both
        middle = jnp.where(jnp.isinf(high), 2 * low + 1, 0.5 * (low + high))
        new = jnp.where(inside | (first == 0), guess, middle)
        return count + 1, new, low, high, jnp.abs(new - step) > enough * jnp.abs(new)

    one = jnp.ones_like(base)
    enough = 1e-12 if one.dtype == jnp.float64 else 1e-6  # relative: below this the step is found
    start = (jnp.zeros((), jnp.int32), one, 0 * one, one * jnp.inf, jnp.ones(one.shape, bool))
    step = jax.lax.while_loop(unfinished, refine, start)[1]
    return jax.tree.map(lambda a, b: a + step * b, z, d)


def _slope(p: Problem, s: _Strains, ds: _Strains, step: Array) -> Array:
    """[2, N]: first and second derivative of all contacts' cost along the line."""
    of_row = lambda row: jnp.stack(contact.slope(row[0], row[1], row[2], step))
    of_all = lambda rows: sum_slots(of_row, rows, rows[0] > 0)
    of_bodies = lambda rows: total(per_body(of_all, rows), axis=1)
    out = jnp.zeros((2, *step.shape), step.dtype)
    if p.static:
        out = out + of_all((p.static.weight, s.static, ds.static))
    if p.bodies:
        out = out + of_bodies((p.bodies.weight, s.bodies, ds.bodies))
    if p.pairs:
        rows = (p.pairs.weight, s.pairs, ds.pairs)
        out = out + only_if(_paired(p), lambda: of_bodies(rows))
    return out


def robot_mass(yaw: Array) -> list[list[Array]]:
    """The robot's inertia matrix in the world frame."""
    c, s = body.MASS_OFFSET * jnp.cos(yaw), body.MASS_OFFSET * jnp.sin(yaw)
    zero = jnp.zeros_like(yaw)
    return [[zero + body.MASS, zero, -s], [zero, zero + body.MASS, c], [-s, c, zero + body.INERTIA]]


def robot_force(yaw: Array, v: Planar) -> Planar:
    """The robot's inertia times v: the force that gives it the acceleration v."""
    return Planar(*(add_all(a * b for a, b in zip(row, v, strict=True)) for row in robot_mass(yaw)))


def _planar_block(m: Sym6) -> list[list[Array]]:
    index = (0, 1, 5)
    return [[entry(m, i, j) for j in index] for i in index]


def _planar_add(m: list[list[Array]], n: list[list[Array]]) -> list[list[Array]]:
    return [[a + b for a, b in zip(p, q, strict=True)] for p, q in zip(m, n, strict=True)]


def _plus(a: Planar, b: Planar) -> Planar:
    return Planar(a.x + b.x, a.y + b.y, a.yaw + b.yaw)


def _minus(a: Planar, b: Planar) -> Planar:
    return Planar(a.x - b.x, a.y - b.y, a.yaw - b.yaw)


def _dot(a: Motion, b: Motion) -> Array:
    return a.linear.dot(b.linear) + a.angular.dot(b.angular)


def _inner(a: Unknown, b: Unknown) -> Array:
    """Inner product over the robot and all bodies, [N]."""
    robot = add_all(u * v for u, v in zip(a.robot, b.robot, strict=True))
    return robot + total(_dot(a.body, b.body))
