"""Adam with a bound on the gradient's norm, as PyTorch computes them, for one network of one
member.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from saddle.adam import BETA_1, BETA_2, EPSILON
from saddle.learners.networks.plain import squares


class Adam(NamedTuple):
    """Moments, shaped like the parameters."""

    mu: Any
    nu: Any
    count: Array  # [] int32, steps so far


def init(params: Any) -> Adam:
    """No step yet."""
    zeros = jax.tree.map(jnp.zeros_like, params)
    return Adam(zeros, zeros, jnp.zeros((), jnp.int32))


def norm(tree: Any) -> Array:
    """[] over all leaves."""
    return jnp.sqrt(squares(tree))


def step(
    state: Adam,
    params: Any,
    grads: Any,
    lr: Array | float,
    max_norm: float,
    size: Array | None = None,
) -> tuple[Adam, Any]:
    """Scale the gradient to at most max_norm, then descend. size [] is its norm, where that is
    known.
    """
    if size is None:
        size = norm(grads)
    scale = jnp.minimum(1.0, max_norm / (size + 1e-6))
    count = state.count + 1

    def first_moment(m: Array, g: Array) -> Array:
        return BETA_1 * m.astype(g.dtype) + (1 - BETA_1) * scale * g

    def second_moment(v: Array, g: Array) -> Array:
        return BETA_2 * v + (1 - BETA_2) * (scale * g) ** 2

    mu = jax.tree.map(first_moment, state.mu, grads)
    nu = jax.tree.map(second_moment, state.nu, grads)
    rate = lr / (1 - BETA_1**count)
    spread = jnp.sqrt(1 - BETA_2**count)

    def descend(p: Array, m: Array, v: Array) -> Array:
        return p - rate * m / (jnp.sqrt(v) / spread + EPSILON)

    kept = jax.tree.map(lambda new, old: new.astype(old.dtype), mu, state.mu)
    return Adam(kept, nu, count), jax.tree.map(descend, params, mu, nu)


def narrow(state: Adam, dtype: DTypeLike) -> Adam:
    """With the first moment of every matrix rounded to dtype, which `step` then keeps it in."""

    def rounded(m: Array) -> Array:
        return m.astype(dtype) if m.ndim > 1 else m

    return state._replace(mu=jax.tree.map(rounded, state.mu))
