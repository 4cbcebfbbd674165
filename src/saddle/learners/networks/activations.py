"""Activations, each with its derivative as a function of its OUTPUT, so that going back needs one
array per layer.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array


class Activation(NamedTuple):
    """A function of what enters it, its slope as a function of what leaves it, and both of what
    enters.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    both: Callable[[Array], tuple[Array, Array]]


def _elu(y: Array) -> tuple[Array, Array]:
    below = jnp.exp(jnp.minimum(y, 0.0))  # 1 above zero, as the slope is
    return jnp.maximum(y, below - 1.0), below  # exp(y) - 1 is nowhere less than y


def _then(value: Callable[[Array], Array], slope: Callable[[Array], Array]) -> Activation:
    def both(y: Array) -> tuple[Array, Array]:
        h = value(y)
        return h, slope(h)

    return Activation(value, slope, both)


ACTIVATIONS = {
    "elu": Activation(lambda y: _elu(y)[0], lambda h: jnp.minimum(h, 0.0) + 1.0, _elu),
    "tanh": _then(jnp.tanh, lambda h: 1.0 - h * h),
    "relu": _then(lambda y: jnp.maximum(y, 0.0), lambda h: (h > 0).astype(h.dtype)),
}
