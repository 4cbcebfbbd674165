"""How far to go along a direction: along a line the cost of a substep (problem.py) is convex,
piecewise quadratic.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.physics import contact
from saddle.tasks.point.physics.contact import Strain
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
# A relative change: so near the minimum will do, since Newton's method goes on from there
ENOUGH = 0.05


class _Slope(NamedTuple):
    """Of the contacts' cost along the line, [N] each."""

    first: Array  # derivative
    second: Array  # derivative
    turned: Array  # how many rows began or ceased to push back


class _Row(NamedTuple):
    """Contacts as the line sees them."""

    weight: Array
    strain: Strain  # at its start
    change: Strain  # per unit of the step


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
        # With equality: where Newton's step is exact, 1 is both.
        inside = (guess >= low) & (guess <= high)
        middle = jnp.where(jnp.isinf(high), 2 * low + 1, 0.5 * (low + high))
        exact = now.exact | ((now.step == 1) & (turned == 0))
        new = jnp.where(exact, 1, jnp.where(inside | (first == 0), guess, middle))
        return _Search(
            count=now.count + 1,
            step=new,
            low=low,
            high=high,
            going=jnp.abs(new - now.step) > ENOUGH * jnp.abs(new),
            exact=exact,
        )

    def unfinished(now: _Search) -> Array:
        return (now.count < STEPS) & jnp.any(now.going)

    yes = jnp.ones(one.shape, bool)
    start = _Search(
        count=jnp.zeros((), jnp.int32),
        step=one,
        low=0 * one,
        high=one * jnp.inf,
        going=yes,
        exact=~yes,
    )
    end = jax.lax.while_loop(unfinished, refine, start)
    found = jax.tree.map(lambda a, b: a + end.step * b, z, d)
    return found, end.exact


def _slope(p: Problem, s: Groups, ds: Groups, step: Array) -> _Slope:
    """Of all contacts with strains s + step * ds."""

    def of_row(row: _Row) -> Array:
        return jnp.stack(contact.slope(row.weight, row.strain, row.change, step))

    def of_all(rows: _Row) -> Array:
        return sum_slots(of_row, rows, lambda row: row.weight > 0)

    def of_bodies(rows: _Row) -> Array:
        return total(per_body(of_all, rows), axis=1)

    rows = _rows(p.contacts, s, ds)
    out = of_all(rows.static) if rows.static else jnp.zeros((3, *step.shape), step.dtype)
    for group in (rows.robot, rows.fixed, rows.floor):
        if group:
            out = out + of_bodies(group)
    if rows.pairs:
        out = out + only_if(p.paired, lambda: of_bodies(rows.pairs))
    return _Slope(*out)


def _rows(contacts: Groups, s: Groups, ds: Groups) -> Groups:
    """Of every group of contacts that there is, a _Row."""
    rows = []
    for group, strain, change in zip(contacts, s, ds, strict=True):
        rows.append(_Row(group.weight, strain, change) if group else None)
    return Groups(*rows)
