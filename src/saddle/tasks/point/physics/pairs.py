"""Bodies against each other: rare, so written for clarity and solved as one dense system."""

from itertools import combinations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics.contact import Sym6, entry
from saddle.tasks.point.physics.once import add_all
from saddle.tasks.point.physics.rigid import Motion
from saddle.tasks.point.physics.vec import Vec


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
    return Motion(z.linear[second] - carrier, z.angular[second] - z.angular[first])


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

    linear = Vec(*(place(v, v) for v in push.linear))
    angular = Vec(*(place(v, w) for v, w in zip(push.angular, torque, strict=True)))
    return Motion(linear, angular)


def dense_solve(
    arm: Vec,
    h_robot: list[list[Array]],
    h_body: Sym6,
    coupling: Sym6,
    between: Sym6,
    g_robot: Planar,
    g_body: Motion,
) -> tuple[Planar, Motion]:
    """Minus the inverse of the whole Newton matrix times (g_robot, g_body), worlds first inside."""
    count, worlds = arm.x.shape
    h = _bodies_block(h_body, between, arm)
    # [N, B, 6, 3]: the robot's motions as seen at each body's centre
    carry = _shift(arm)[..., np.array([0, 1, 5])]
    link = jnp.einsum("nbij,nbjk->nbik", _full(coupling), carry)
    corner = jnp.stack([jnp.stack(row) for row in h_robot]).transpose(2, 0, 1)
    corner = corner + jnp.einsum("nbji,nbjk->nik", carry, link)
    side = -link.reshape(worlds, count * 6, 3)
    top = jnp.concatenate([h, side], axis=2)
    bottom = jnp.concatenate([side.transpose(0, 2, 1), corner], axis=2)
    right = jnp.stack([*g_body.linear, *g_body.angular]).transpose(2, 1, 0).reshape(worlds, -1)
    right = jnp.concatenate([right, jnp.stack([*g_robot], axis=1)], axis=1)
    z = -eliminate(jnp.concatenate([top, bottom], axis=1), right)
    parts = z[:, :-3].reshape(worlds, count, 6).transpose(2, 1, 0)
    return Planar(*z[:, -3:].T), Motion(Vec(*parts[:3]), Vec(*parts[3:]))


def _full(m: Sym6) -> Array:
    """Lower triangle of arrays [B, N] -> [N, B, 6, 6]."""
    rows = []
    for i in range(6):
        rows.append(jnp.stack([entry(m, i, j) for j in range(6)]))
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
        rows.append(jnp.concatenate([block[i, j] for j in range(count)], axis=2))
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
    place = np.zeros((n, n), int)
    place[row, column] = np.arange(len(row))
    i, j = np.tril_indices(n - 1)
    last = jnp.broadcast_to(jnp.eye(1, n, n - 1, dtype=matrix.dtype), right.shape)

    def forward(
        carry: tuple[Array, Array], _: None
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        m, r = carry
        below = m[:, place[1:, 0]]
        scaled = below / m[:, :1]
        value = r[:, :1] / m[:, :1]
        rest = m[:, place[i + 1, j + 1]] - scaled[:, i] * below[:, j]
        m = jnp.concatenate([rest, last], axis=1)
        r = jnp.concatenate([r[:, 1:] - below * value, jnp.zeros_like(value)], axis=1)
        return (m, r), (scaled, value)

    def backward(x: Array, step: tuple[Array, Array]) -> tuple[Array, None]:
        scaled, value = step
        first = value - jnp.sum(scaled * x[:, :-1], axis=1, keepdims=True)
        return jnp.concatenate([first, x[:, :-1]], axis=1), None

    steps = lax.scan(forward, (matrix[:, row, column], right), None, length=n)[1]
    return lax.scan(backward, jnp.zeros_like(right), steps, reverse=True)[0]
