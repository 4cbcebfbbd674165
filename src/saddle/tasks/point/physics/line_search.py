"""How far to go along a direction: along a line the cost of a substep (problem.py) is convex,
piecewise quadratic.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics import contact
from saddle.tasks.point.physics.once import once, only_if, per_body, sum_slots, total
from saddle.tasks.point.physics.problem import (
    Groups,
    Problem,
    Unknown,
    curvature,
    gradient,
    inner,
    strains,
)

STEPS = 8  # at most; two or three are usual
ENOUGH = (
    0.05  # a relative change: so near the minimum will do, since Newton's method goes on from there
)


class _Search(NamedTuple):
    """Where it stands. Arrays [N]."""

    count: Array  # []
    step: Array
    low: Array  # the slope is negative here
    high: Array  # and positive here
    going: Array  # bool
    exact: Array  # bool


def search(p: Problem, z: Unknown, d: Unknown, s: Groups) -> tuple[Unknown, Array]:
    """The minimum along d from z, whose strains are s: the slope is increasing and piecewise linear
    in the step.

    Also whether the whole step was taken and no row began or ceased to push back: then the cost was
    the quadratic that Newton's method took it for, and this is the minimum of all.
    """
    ds = once(strains(p, d, offset=False))
    base = inner(gradient(p, z), d)
    curve = inner(curvature(p, d), d)
    one = jnp.ones_like(base)

    def refine(now: _Search) -> _Search:
        first, second, turned = _slope(p, s, ds, now.step)
        first = base + now.step * curve + first
        second = curve + second
        low = jnp.where(first < 0, now.step, now.low)
        high = jnp.where(first > 0, now.step, now.high)
        guess = now.step - first / jnp.where(second > 0, second, 1)
        inside = (guess >= low) & (
            guess <= high
        )  # with equality: where Newton's step is exact, 1 is both
        middle = jnp.where(jnp.isinf(high), 2 * low + 1, 0.5 * (low + high))
        exact = now.exact | ((now.step == 1) & (turned == 0))
        new = jnp.where(exact, 1, jnp.where(inside | (first == 0), guess, middle))
        return _Search(
            now.count + 1, new, low, high, jnp.abs(new - now.step) > ENOUGH * jnp.abs(new), exact
        )

    yes = jnp.ones(one.shape, bool)
    start = _Search(jnp.zeros((), jnp.int32), one, 0 * one, one * jnp.inf, yes, ~yes)
    end = jax.lax.while_loop(lambda now: (now.count < STEPS) & jnp.any(now.going), refine, start)
    return jax.tree.map(lambda a, b: a + end.step * b, z, d), end.exact


def _slope(p: Problem, s: Groups, ds: Groups, step: Array) -> Array:
    """[3, N]: first and second derivative of all contacts' cost along the line, and how many rows
    turned.
    """
    of_row = lambda row: jnp.stack(contact.slope(row[0], row[1], row[2], step))
    of_all = lambda rows: sum_slots(of_row, rows, lambda row: row[0] > 0)
    of_bodies = lambda rows: total(per_body(of_all, rows), axis=1)
    rows = Groups(
        *((c.weight, *both) if c else None for c, *both in zip(p.contacts, s, ds, strict=True))
    )
    out = of_all(rows.static) if rows.static else jnp.zeros((3, *step.shape), step.dtype)
    for group in (rows.robot, rows.fixed, rows.floor):
        out = out + of_bodies(group) if group else out
    return out + only_if(p.paired, lambda: of_bodies(rows.pairs)) if rows.pairs else out
