"""The robot and the free bodies it may touch: one convex problem a substep (problem.py), solved by
Newton's method.

Bodies mostly meet the robot and the world, not each other; the Newton matrix is then a star: each
body's 6x6 block is eliminated on its own, and a 3x3 system for the robot remains. Where bodies do
meet each other (`pairs`), the whole matrix is solved.
"""

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


def solve(p: Problem, start: Unknown) -> Unknown:
    """The minimiser."""
    # In kg m^2/s^4: an acceleration error of 1e-3 m/s^2 on the lightest body, 2e-6 m/s after the
    # substep. Below `stall`, a decrement that no longer shrinks is rounding.
    tolerance, stall = (1e-22, 1e-20) if p.yaw.dtype == jnp.float64 else (1e-11, 1e-8)

    def unfinished(carry: tuple[Array, Unknown, Array, Array]) -> Array:
        return (carry[0] < ITERATIONS) & jnp.any(carry[3])

    def improve(carry: tuple[Array, Unknown, Array, Array]) -> tuple[Array, Unknown, Array, Array]:
        count, z, before, _ = carry
        strain = once(strains(p, z))
        slope, direction = _newton(p, z, strain)
        decrement = -inner(slope, direction)
        stalled = (decrement > 0.25 * before) & (decrement < stall)
        far = (
            decrement > tolerance
        )  # if not, this iteration only confirms, and its small step needs no search
        whole = lambda: (jax.tree.map(jnp.add, z, direction), far)
        z, exact = jax.lax.cond(jnp.any(far), lambda: search(p, z, direction, strain), whole)
        return count + 1, z, decrement, far & ~stalled & ~(exact & (decrement < SURE))

    everyone = jnp.ones(p.yaw.shape, bool)
    first = (jnp.zeros((), jnp.int32), start, jnp.full(p.yaw.shape, jnp.inf, p.yaw.dtype), everyone)
    return jax.lax.while_loop(unfinished, improve, first)[1]


def _newton(p: Problem, z: Unknown, s: Groups) -> tuple[Unknown, Unknown]:
    """Gradient at z, whose strains are s, and the Newton direction."""
    c = p.contacts
    h_robot = robot_mass(p.yaw)
    h_body = p.mass
    g_robot, g_body = gradient(p, z)
    if c.static:
        push, hold = _terms(c.static, s.static)
        g_robot = _plus(g_robot, Planar(push[0], push[1], push[5]))
        h_robot = _planar_add(h_robot, _planar_block(triangle(hold)))
    if not c.robot:
        return Unknown(g_robot, g_body), Unknown(
            Planar(*solve3(h_robot, [-g for g in g_robot])), z.body
        )
    back, coupling = _terms(c.robot, s.robot)
    turn = p.arm.x * back[1] - p.arm.y * back[0] + back[5]
    g_robot = _plus(g_robot, Planar(*(-total(v) for v in (back[0], back[1], turn))))
    others = [_terms(*both) for both in ((c.fixed, s.fixed), (c.floor, s.floor)) if both[0]]
    for push, hold in ((back, coupling), *others):
        g_body = g_body + Motion(Vec(*push[:3]), Vec(*push[3:]))
        h_body = add(h_body, triangle(hold))
    if not c.pairs:
        slope = Unknown(g_robot, g_body)
        return slope, _star_solve(p.arm, h_robot, h_body, triangle(coupling), slope)
    push, hold = only_if(p.paired, lambda: _terms(c.pairs, s.pairs))
    slope = Unknown(g_robot, g_body + pairs.scatter(Motion(Vec(*push[:3]), Vec(*push[3:])), p.arm))
    star = lambda: _star_solve(p.arm, h_robot, h_body, triangle(coupling), slope)
    dense = lambda: Unknown(
        *pairs.dense_solve(p.arm, h_robot, h_body, triangle(coupling), triangle(hold), *slope)
    )
    return slope, jax.lax.cond(p.paired, dense, star)


def _terms(c: Contacts, s: Strain) -> tuple[Array, Array]:
    """Gradient [6, ...] and stiffness [21, ...] of contacts, summed."""

    def both(row: tuple[Contacts, Strain]) -> Array:  # [27, C, ...]
        push = contact.gradient(*row)
        return jnp.stack([*push.linear, *push.angular, *contact.stiffness(*row)])

    of_all = lambda row: sum_slots(both, row, lambda row: contact.pushes(row[0]))
    summed = once(per_body(of_all, (c, s)) if c.weight.ndim > 2 else of_all((c, s)))
    return summed[:6], summed[6:]


def _star_solve(
    arm: Vec, h_robot: list[list[Array]], h_body: Sym6, coupling: Sym6, g: Unknown
) -> Unknown:
    """Minus the inverse of the star matrix times g."""
    carried = robot_columns(arm, coupling)
    rest = [*g.body.linear, *g.body.angular]
    right = once(
        [jnp.stack([*row, r]) for row, r in zip(carried, rest, strict=True)]
    )  # [4, B, N] each
    solved = once(
        per_body(lambda row: cholesky_solve(once(cholesky(row[0])), row[1]), (h_body, right))
    )
    dot = lambda i, k: total(add_all(row[i] * x[k] for row, x in zip(right, solved, strict=True)))
    both = [[c[k] for c in (carried[0], carried[1])] for k in range(3)]
    both = [[x, y, arm.x * y - arm.y * x + carried[5][k]] for k, (x, y) in enumerate(both)]
    schur = [[h_robot[i][j] + total(both[j][i]) - dot(i, j) for j in range(3)] for i in range(3)]
    robot = Planar(*solve3(schur, [-g.robot[i] - dot(i, 3) for i in range(3)]))
    body = [x[0] * robot.x + x[1] * robot.y + x[2] * robot.yaw - x[3] for x in solved]
    return Unknown(robot, Motion(Vec(*body[:3]), Vec(*body[3:])))


def robot_columns(arm: Vec, coupling: Sym6) -> list[list[Array]]:
    """The coupling times the robot's three motions as seen at the body's centre: [6][3] arrays [B,
    N].
    """
    rows = [[entry(coupling, i, 0), entry(coupling, i, 1)] for i in range(6)]
    return [
        [*row, arm.x * row[1] - arm.y * row[0] + entry(coupling, i, 5)]
        for i, row in enumerate(rows)
    ]


def _planar_block(m: Sym6) -> list[list[Array]]:
    index = (0, 1, 5)
    return [[entry(m, i, j) for j in index] for i in index]


def _planar_add(m: list[list[Array]], n: list[list[Array]]) -> list[list[Array]]:
    return [[a + b for a, b in zip(p, q, strict=True)] for p, q in zip(m, n, strict=True)]


def _plus(a: Planar, b: Planar) -> Planar:
    return Planar(a.x + b.x, a.y + b.y, a.yaw + b.yaw)
