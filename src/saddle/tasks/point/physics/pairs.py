"""Bodies against each other: rare, so written for clarity and solved as one dense system."""

from itertools import combinations
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics.contact import Sym6, entry
from saddle.tasks.point.physics.once import add_all
from saddle.tasks.point.physics.rigid import Motion
from saddle.tasks.point.physics.vec import Vec


class Blocks(NamedTuple):
    """The Newton matrix: lower triangles of arrays [B, N], [pairs, N] for `between`."""

    robot: list[list[Array]]  # [3][3] arrays [N]
    body: Sym6
    coupling: Sym6  # of each body with the robot, by their relative motion at the body's centre
    between: Sym6  # of each pair, by its relative motion at the second's centre


class _Triangle(NamedTuple):
    """What elimination works on: the entries that are left move to the front."""

    entries: Array  # [N, n (n + 1) / 2], the lower triangle row by row
    right: Array  # [N, n]


class _Row(NamedTuple):
    """The equation of an unknown that was eliminated: it is value - scaled @ those that follow."""

    scaled: Array  # [N, n - 1]
    value: Array  # [N, 1]


def indices(bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """First and second body of every pair."""
    every = np.array(list(combinations(range(bodies), 2)))
    return every[:, 0], every[:, 1]


def relative(z: Motion, arm: Vec) -> Motion:
    """Motion of each pair's second body less that of its first, at the second's centre. [B, N] ->
    [pairs, N].
    """
    first, second = indices(arm.x.shape[0])
    carrier = z.linear[first] + z.angular[first].cross(arm[second] - arm[first])
    linear = z.linear[second] - carrier
    angular = z.angular[second] - z.angular[first]
    return Motion(linear, angular)


def scatter(push: Motion, arm: Vec) -> Motion:
    """Derivatives by pairs' relative motions -> by the bodies' motions. [pairs, N] -> [B, N]."""
    count = arm.x.shape[0]
    first, second = indices(count)
    torque = push.angular + (arm[second] - arm[first]).cross(push.linear)

    def place(on_second: Array, on_first: Array) -> Array:
        """One component: what each body has as the second of a pair, less what as the first."""
        bodies = []
        for b in range(count):
            gained = [on_second[pair] for pair in np.flatnonzero(second == b)]
            against = -on_first
            lost = [against[pair] for pair in np.flatnonzero(first == b)]
            bodies.append(add_all([*gained, *lost]))
        return jnp.stack(bodies)

    linear = push.linear.map(lambda force: place(force, force))
    angular = Vec(
        place(push.angular.x, torque.x),
        place(push.angular.y, torque.y),
        place(push.angular.z, torque.z),
    )
    return Motion(linear, angular)


def dense_solve(arm: Vec, matrix: Blocks, g_robot: Planar, g_body: Motion) -> tuple[Planar, Motion]:
    """Minus the inverse of the whole Newton matrix times (g_robot, g_body), worlds first inside."""
    count, worlds = arm.x.shape
    bodies = _bodies_block(matrix.body, matrix.between, arm)
    # [N, B, 6, 3]: the robot's motions as seen at each body's centre
    carry = _shift(arm)[..., np.array([0, 1, 5])]
    link = jnp.einsum("nbij,nbjk->nbik", _full(matrix.coupling), carry)
    robot = jnp.stack([jnp.stack(row) for row in matrix.robot]).transpose(2, 0, 1)
    robot = robot + jnp.einsum("nbji,nbjk->nik", carry, link)
    side = -link.reshape(worlds, count * 6, 3)
    top = jnp.concatenate([bodies, side], axis=2)
    bottom = jnp.concatenate([side.transpose(0, 2, 1), robot], axis=2)
    of_bodies = jnp.stack([*g_body.linear, *g_body.angular])  # [6, B, N]
    of_bodies = of_bodies.transpose(2, 1, 0).reshape(worlds, -1)
    of_robot = jnp.stack([*g_robot], axis=1)
    right = jnp.concatenate([of_bodies, of_robot], axis=1)
    whole = jnp.concatenate([top, bottom], axis=1)
    z = -eliminate(whole, right)
    parts = z[:, :-3].reshape(worlds, count, 6).transpose(2, 1, 0)
    return Planar(*z[:, -3:].T), Motion(Vec(*parts[:3]), Vec(*parts[3:]))


def _full(m: Sym6) -> Array:
    """Lower triangle of arrays [B, N] -> [N, B, 6, 6]."""
    rows = []
    for i in range(6):
        row = [entry(m, i, j) for j in range(6)]
        rows.append(jnp.stack(row))
    return jnp.stack(rows).transpose(3, 2, 0, 1)


def _bodies_block(h_body: Sym6, between: Sym6, arm: Vec) -> Array:
    """The bodies' own blocks and those between them, [N, 6 B, 6 B]."""
    count = arm.x.shape[0]
    first, second = indices(count)
    own = _full(h_body)
    link = _full(between)
    shift = _shift(arm[second] - arm[first])  # the first body's motion, seen at the second's centre
    cross = jnp.einsum("npij,npjk->npik", link, shift)
    back = jnp.einsum("npji,npjk->npik", shift, cross)
    block = {(b, b): own[:, b] for b in range(count)}
    for p, (i, j) in enumerate(zip(first, second, strict=True)):
        block[j, j] = block[j, j] + link[:, p]
        block[i, i] = block[i, i] + back[:, p]
        block[j, i] = -cross[:, p]
        block[i, j] = -cross[:, p].transpose(0, 2, 1)
    rows = []
    for i in range(count):
        row = [block[i, j] for j in range(count)]
        rows.append(jnp.concatenate(row, axis=2))
    return jnp.concatenate(rows, axis=1)


def _shift(arm: Vec) -> Array:
    """A rigid motion moved by arm: [P, N] -> [N, P, 6, 6]."""
    one = jnp.ones_like(arm.x)
    zero = jnp.zeros_like(arm.x)
    rows = [
        [one, zero, zero, zero, arm.z, -arm.y],
        [zero, one, zero, -arm.z, zero, arm.x],
        [zero, zero, one, arm.y, -arm.x, zero],
        [zero, zero, zero, one, zero, zero],
        [zero, zero, zero, zero, one, zero],
        [zero, zero, zero, zero, zero, one],
    ]
    return jnp.stack([jnp.stack(row) for row in rows]).transpose(3, 2, 0, 1)


def eliminate(matrix: Array, right: Array) -> Array:
    """Solve symmetric positive definite systems, matrix [N, n, n], right [N, n], by elimination.

    The unknown to be eliminated is always the first; then everything moves up by one, and zeros
    follow. So both loops have fixed indices and short bodies.
    """
    n = matrix.shape[1]
    row, column = np.tril_indices(n)
    place = np.zeros((n, n), int)  # of an entry in the triangle
    place[row, column] = np.arange(len(row))
    first_column = place[1:, 0]
    i, j = np.tril_indices(n - 1)
    remaining = place[i + 1, j + 1]
    last_row = jnp.broadcast_to(jnp.eye(1, n, n - 1, dtype=matrix.dtype), right.shape)

    def forward(system: _Triangle, _: None) -> tuple[_Triangle, _Row]:
        m, r = system
        below = m[:, first_column]
        scaled = below / m[:, :1]
        value = r[:, :1] / m[:, :1]
        rest = m[:, remaining] - scaled[:, i] * below[:, j]
        entries = jnp.concatenate([rest, last_row], axis=1)
        others = r[:, 1:] - below * value
        moved_up = jnp.concatenate([others, jnp.zeros_like(value)], axis=1)
        return _Triangle(entries, moved_up), _Row(scaled, value)

    def backward(x: Array, row: _Row) -> tuple[Array, None]:
        first = row.value - jnp.sum(row.scaled * x[:, :-1], axis=1, keepdims=True)
        return jnp.concatenate([first, x[:, :-1]], axis=1), None

    start = _Triangle(matrix[:, row, column], right)
    _, rows = lax.scan(forward, start, None, length=n)
    x, _ = lax.scan(backward, jnp.zeros_like(right), rows, reverse=True)
    return x
