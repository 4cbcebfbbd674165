"""Two habits that XLA's CPU compiler needs for programs of many small expressions."""

import functools
import operator
from collections.abc import Iterable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

X = TypeVar("X")


def once(x: X) -> X:
    """x, computed here and stored.

    XLA's CPU compiler fuses cheap producers into every consumer, and for long chains of small expressions the copies
    multiply: six-fold code, and compile time with it. Its optimisation barrier does not stop that; a conditional does.
    """
    return lax.platform_dependent(x, cpu=_through_conditional, default=lax.optimization_barrier)


def _through_conditional(x: X) -> X:
    real = [leaf for leaf in jax.tree.leaves(x) if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size]
    if not real:
        return x
    always = real[0].ravel()[0] != jnp.inf  # not known at compile time
    return lax.cond(always, lambda y: y, lambda y: jax.tree.map(jnp.zeros_like, y), x)


def add_all(parts: Iterable[Array]) -> Array:
    """The sum of one or more arrays."""
    return functools.reduce(operator.add, parts)


def total(x: Array, axis: int = 0) -> Array:
    """Sum over a short leading axis, as additions: XLA's CPU reduction over an outer axis is not vectorised."""
    parts = [lax.index_in_dim(x, k, axis, keepdims=False) for k in range(x.shape[axis])]
    return add_all(parts) if parts else jnp.sum(x, axis=axis)
