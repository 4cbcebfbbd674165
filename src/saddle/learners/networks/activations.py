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


def _elu(y: Array) -> Array:
    return _elu_both(y)[0]


def _elu_slope(h: Array) -> Array:
    return jnp.minimum(h, 0.0) + 1.0


def _elu_both(y: Array) -> tuple[Array, Array]:
    slope = jnp.exp(jnp.minimum(y, 0.0))
    return jnp.maximum(y, slope - 1.0), slope  # exp(y) - 1 is nowhere less than y


def _tanh_slope(h: Array) -> Array:
    return 1.0 - h * h


def _relu(y: Array) -> Array:
    return jnp.maximum(y, 0.0)


def _relu_slope(h: Array) -> Array:
    return (h > 0).astype(h.dtype)


def _one_after_the_other(
    value: Callable[[Array], Array], slope: Callable[[Array], Array]
) -> Activation:
    def both(y: Array) -> tuple[Array, Array]:
        h = value(y)
        return h, slope(h)

    return Activation(value, slope, both)


ACTIVATIONS = {
    "elu": Activation(_elu, _elu_slope, _elu_both),
    "tanh": _one_after_the_other(jnp.tanh, _tanh_slope),
    "relu": _one_after_the_other(_relu, _relu_slope),
}
