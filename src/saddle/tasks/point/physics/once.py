"""How programs of many small expressions are laid out: stored results, and sums and maps over contact slots.

On the CPU slots are an axis of the arrays. In a kernel (saddle.tasks.kernel) they are a loop, which
keeps the code short and skips slots that are not in use.
"""

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from saddle.tasks.kernel.rolled import is_rolled

X = TypeVar("X")


def once(x: X) -> X:
    """x, computed here and stored.

    XLA's CPU compiler fuses cheap producers into every consumer, and for long chains of small expressions the copies
    multiply: six-fold code, and compile time with it. Its optimisation barrier does not stop that; a conditional does.
    """
    if is_rolled():
        return x
    return lax.platform_dependent(x, cpu=_through_conditional, default=lax.optimization_barrier)


def stored(x: X) -> X:
    """x, computed here and put where a loop over slots can index it."""
    return lax.optimization_barrier(x) if is_rolled() else once(x)


def _through_conditional(x: X) -> X:
    real = [leaf for leaf in jax.tree.leaves(x) if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size]
    if not real:
        return x
    always = real[0].ravel()[0] != jnp.inf  # not known at compile time
    return lax.cond(always, lambda y: y, lambda y: jax.tree.map(jnp.zeros_like, y), x)


def only_if(pred: Array, f: Callable[[], X]) -> X:
    """f() where pred [] holds, else zeros."""
    nothing = jax.tree.map(lambda v: jnp.zeros(v.shape, v.dtype), jax.eval_shape(f))
    return lax.cond(pred, f, lambda: nothing)


def unless(pred: Array, f: Callable[[], X]) -> X:
    """f(), whose result nobody needs where pred [...] holds: there a kernel skips it, and has zeros instead."""
    return only_if(~jnp.all(pred), f) if is_rolled() else f()


def add_all(parts: Iterable[Array]) -> Array:
    """The sum of one or more arrays."""
    return functools.reduce(operator.add, parts)


def total(x: Array, axis: int = 0) -> Array:
    """Sum over a short leading axis, as additions: XLA's CPU reduction over an outer axis is not vectorised."""
    parts = [lax.index_in_dim(x, k, axis, keepdims=False) for k in range(x.shape[axis])]
    return add_all(parts) if parts else jnp.zeros((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype)


def sum_slots(f: Callable[[Any], Array], slots: Any, used: Array) -> Array:
    """Sum over slots of f, which is 0 for those not used.

    Leaves of slots are [C, ...] or scalars, used [C, ...] bool. f maps them to [k, C, ...], or without C to [k, ...].
    """
    if not is_rolled():
        return total(once(f(slots)), axis=1)
    rows, first = _rows(slots, used.shape[0])
    shape = jax.eval_shape(f, first)

    def add(acc: Array, row: tuple[Any, Array]) -> tuple[Array, None]:
        return lax.cond(jnp.any(row[1]), lambda: acc + f(row[0]), lambda: acc), None

    return lax.scan(add, jnp.zeros(shape.shape, shape.dtype), (rows, used))[0]


def sum_slots_from(f: Callable[[Any], Array], slots: Any, used: Array, split: int) -> tuple[Array, Array]:
    """sum_slots over the first `split` slots, and over all."""
    if is_rolled():
        part = lambda cut: jax.tree.map(lambda v: v[cut] if jnp.ndim(v) else v, (slots, used))
        first, rest = (sum_slots(f, *part(cut)) for cut in (slice(split), slice(split, None)))
        return first, first + rest
    every = once(f(slots))
    first = total(every[:, :split], axis=1)
    return once((first, first + total(every[:, split:], axis=1)))


def map_slots(f: Callable[[Any], X], slots: Any, used: Array, axis: int = 0) -> X:
    """f of every slot, along `axis` of its results; where a slot is not used, anything finite. Shapes: sum_slots."""
    if not is_rolled():
        return f(slots)
    rows, first = _rows(slots, used.shape[0])
    if used.shape[0] == 1:
        return jax.tree.map(lambda v: jnp.expand_dims(v, axis), f(first))
    one = lambda row: only_if(jnp.any(row[1]), lambda: f(row[0]))
    return jax.tree.map(lambda v: jnp.moveaxis(v, 0, axis), lax.map(one, (rows, used)))


def fold_slots(f: Callable[[X, Any], X], start: X, slots: Any, used: Array) -> X:
    """f(f(start, first slot), second slot) and so on, where f of a slot that is not used changes nothing."""
    if not is_rolled():
        for k in range(used.shape[0]):
            start = f(start, jax.tree.map(lambda v, k=k: v[k], slots))
        return start
    step = lambda so_far, row: (lax.cond(jnp.any(row[1]), lambda: f(so_far, row[0]), lambda: so_far), None)
    return lax.scan(step, start, (slots, used))[0]


def per_body(f: Callable[[Any], X], bodies: Any) -> X:
    """f of every body, or of every pair of them, by itself.

    Leaves of `bodies` are [..., B, N] (or 1 for B or N, or scalars); those of f's result have B in the same place.
    """
    if not is_rolled():
        return f(bodies)
    count = max(v.shape[-2] for v in jax.tree.leaves(bodies) if jnp.ndim(v) > 1)
    wide = lambda v: jnp.broadcast_to(v, (*v.shape[:-2], count, v.shape[-1]))
    rows = jax.tree.map(lambda v: jnp.moveaxis(wide(v), -2, 0) if jnp.ndim(v) else jnp.full(count, v), bodies)
    if count == 1:
        return jax.tree.map(lambda v: jnp.expand_dims(v, -2), f(jax.tree.map(lambda v: v[0], rows)))
    return jax.tree.map(lambda v: jnp.moveaxis(v, 0, -2), lax.map(f, rows))


def _rows(slots: Any, count: int) -> tuple[Any, Any]:
    """Every leaf with a leading axis, and the first row."""
    rows = jax.tree.map(lambda v: v if jnp.ndim(v) else jnp.broadcast_to(v, (count,)), slots)
    return rows, jax.tree.map(lambda v: v[0], rows)
