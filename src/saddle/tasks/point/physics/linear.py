"""Small linear systems, written out number by number, each number an array over worlds."""

import functools
import operator
from collections.abc import Iterable

import jax
from jax import Array

from saddle.tasks.point.physics.contact import Sym6


def _less(x: Array, parts: Iterable[Array]) -> Array:
    """x minus each of the parts, one after the other."""
    return functools.reduce(operator.sub, parts, x)


def cholesky(m: Sym6) -> Sym6:
    """Lower factor of a 6x6 matrix, with the diagonal inverted."""
    factor: Sym6 = []
    for i in range(6):
        row: list[Array] = []
        for j in range(i):
            products = (row[k] * factor[j][k] for k in range(j))
            row.append(_less(m[i][j], products) * factor[j][j])
        squares = (part * part for part in row)
        row.append(jax.lax.rsqrt(_less(m[i][i], squares)))
        factor.append(row)
    return factor


def cholesky_solve(factor: Sym6, right: list[Array]) -> list[Array]:
    """The solution, given what `cholesky` returned."""
    y: list[Array] = []
    for i in range(6):
        known = (factor[i][k] * y[k] for k in range(i))
        y.append(_less(right[i], known) * factor[i][i])
    x: list[Array] = [y[0]] * 6
    for i in reversed(range(6)):
        known = (factor[k][i] * x[k] for k in range(i + 1, 6))
        x[i] = _less(y[i], known) * factor[i][i]
    return x


def solve3(m: list[list[Array]], r: list[Array]) -> list[Array]:
    """Symmetric positive definite 3x3 system, by elimination."""
    l10 = m[1][0] / m[0][0]
    l20 = m[2][0] / m[0][0]
    d1 = m[1][1] - l10 * m[1][0]
    l21 = (m[2][1] - l20 * m[1][0]) / d1
    d2 = m[2][2] - l20 * m[2][0] - l21 * l21 * d1
    y1 = r[1] - l10 * r[0]
    y2 = r[2] - l20 * r[0] - l21 * y1
    x2 = y2 / d2
    x1 = y1 / d1 - l21 * x2
    return [r[0] / m[0][0] - l10 * x1 - l20 * x2, x1, x2]
