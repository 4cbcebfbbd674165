"""How programs of many small expressions are laid out: stored results, and sums and maps over
contact slots.

On the CPU slots are an axis of the arrays. In a kernel (saddle.accelerate) they are a loop, which
keeps the code short and skips slots that are not in use.
"""

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from saddle.accelerate.compiler.rolled import is_rolled
from saddle.accelerate.compiler.team import shared

X = TypeVar("X")


def once(x: X) -> X:
    """x, computed here and stored.

    XLA's CPU compiler fuses cheap producers into every consumer, and for long chains of small
    expressions the copies multiply: six-fold code, and compile time with it. Its optimisation
    barrier does not stop that; a conditional does.
    """
    if is_rolled():
        return x
    return lax.platform_dependent(x, cpu=_through_conditional, default=lax.optimization_barrier)


def stored(x: X) -> X:
    """x, computed here and put where a loop over slots can index it."""
    return lax.optimization_barrier(x) if is_rolled() else once(x)


def _through_conditional(x: X) -> X:
    """x as the result of a condition that always holds."""

    def is_real(leaf: Array) -> bool:
        return bool(leaf.size) and jnp.issubdtype(leaf.dtype, jnp.floating)

    real = next((leaf for leaf in jax.tree.leaves(x) if is_real(leaf)), None)
    if real is None:
        return x
    always = real.ravel()[0] != jnp.inf  # not known at compile time

    def nothing(y: X) -> X:
        return jax.tree.map(jnp.zeros_like, y)

    return lax.cond(always, lambda y: y, nothing, x)


def only_if(pred: Array, f: Callable[[], X]) -> X:
    """f() where pred [] holds, else zeros."""
    shapes = jax.eval_shape(f)
    nothing = jax.tree.map(lambda v: jnp.zeros(v.shape, v.dtype), shapes)
    return lax.cond(pred, f, lambda: nothing)


def unless(pred: Array, f: Callable[[], X]) -> X:
    """f(), whose result nobody needs where pred [...] holds: there a kernel skips it, and has zeros
    instead.
    """
    return only_if(~jnp.all(pred), f) if is_rolled() else f()


def add_all(parts: Iterable[Array]) -> Array:
    """The sum of one or more arrays."""
    return functools.reduce(operator.add, parts)


def total(x: Array, axis: int = 0) -> Array:
    """Sum over a short leading axis, as additions: XLA's CPU reduction over an outer axis is not
    vectorised.
    """
    count = x.shape[axis]
    parts = [lax.index_in_dim(x, k, axis, keepdims=False) for k in range(count)]
    if not parts:
        return jnp.zeros((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype)
    return add_all(parts)


def sum_slots(f: Callable[[Any], Array], slots: Any, used: Callable[[Any], Array]) -> Array:
    """Sum over slots of f, which is 0 for those not `used`.

    Leaves of slots are [C, ...] or scalars. f maps them to [k, C, ...], or without C to [k, ...];
    used to bools.
    """
    if not is_rolled():
        return total(once(f(slots)), axis=1)
    rows, first, _ = _rows(slots)
    shape = jax.eval_shape(f, first)

    def add(acc: Array, row: Any) -> tuple[Array, None]:
        return lax.cond(jnp.any(used(row)), lambda: acc + f(row), lambda: acc), None

    def loop() -> Array:
        nothing = jnp.zeros(shape.shape, shape.dtype)
        summed, _ = lax.scan(add, nothing, rows)
        return summed

    return shared(loop)


def map_slots(
    f: Callable[[Any], X],
    slots: Any,
    used: Callable[[Any], Array],
    axis: int = 0,
    own: bool = False,
) -> X:
    """f of every slot, along `axis` of its results; where a slot is not used, anything finite.
    Shapes: sum_slots.

    With `own`, a kernel's threads share the slots: only sum_slots and map_slots with `own` may read
    the result.
    """
    if not is_rolled():
        return f(slots)
    rows, first, count = _rows(slots)
    if count == 1:
        return jax.tree.map(lambda v: jnp.expand_dims(v, axis), f(first))

    def one(row: Any) -> X:
        return only_if(jnp.any(used(row)), lambda: f(row))

    def loop() -> X:
        return lax.map(one, rows)

    found = shared(loop) if own else loop()
    return jax.tree.map(lambda v: jnp.moveaxis(v, 0, axis), found)


def fold_slots(f: Callable[[X, Any], X], start: X, slots: Any, used: Callable[[Any], Array]) -> X:
    """f(f(start, first slot), second slot) and so on, where f of a slot that is not used changes
    nothing.
    """
    if not is_rolled():
        _, _, count = _rows(slots)
        for k in range(count):
            slot = jax.tree.map(lambda v, k=k: v[k], slots)
            start = f(start, slot)
        return start

    def step(so_far: X, row: Any) -> tuple[X, None]:
        return lax.cond(jnp.any(used(row)), lambda: f(so_far, row), lambda: so_far), None

    end, _ = lax.scan(step, start, slots)
    return end


def per_body(f: Callable[[Any], X], bodies: Any) -> X:
    """f of every body, or of every pair of them, by itself.

    Leaves of `bodies` are [..., B, N] (or 1 for B or N, or scalars); those of f's result have B in
    the same place.
    """
    if not is_rolled():
        return f(bodies)
    count = max(v.shape[-2] for v in jax.tree.leaves(bodies) if jnp.ndim(v) > 1)

    def first(v: Array) -> Array:
        """Bodies along the first axis, one entry for each."""
        if not jnp.ndim(v):
            return jnp.full(count, v)
        wide = jnp.broadcast_to(v, (*v.shape[:-2], count, v.shape[-1]))
        return jnp.moveaxis(wide, -2, 0)

    rows = jax.tree.map(first, bodies)
    if count == 1:
        only = f(jax.tree.map(lambda v: v[0], rows))
        return jax.tree.map(lambda v: jnp.expand_dims(v, -2), only)
    return jax.tree.map(lambda v: jnp.moveaxis(v, 0, -2), lax.map(f, rows))


def _rows(slots: Any) -> tuple[Any, Any, int]:
    """Every leaf with a leading axis, the first row, and how many there are."""
    count = next(len(v) for v in jax.tree.leaves(slots) if jnp.ndim(v))
    rows = jax.tree.map(lambda v: v if jnp.ndim(v) else jnp.broadcast_to(v, (count,)), slots)
    return rows, jax.tree.map(lambda v: v[0], rows), count
