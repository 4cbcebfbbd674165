"""A network as exported policies hold it: w0, b0, w1, ..., by name."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from saddle.errors import SaddleError
from saddle.learners.networks.plain import Net


def to_arrays(net: Net) -> dict[str, Any]:
    """Weights [in, out] and biases of each layer."""
    arrays: dict[str, Any] = {}
    for layer, (weights, biases) in enumerate(net):
        arrays[f"w{layer}"] = weights
        arrays[f"b{layer}"] = biases
    return arrays


def layers_of(arrays: Mapping[str, Any], hidden: int) -> tuple[tuple[Any, Any], ...]:
    """Weights and biases of a network with so many hidden layers, as `to_arrays` named them."""
    return tuple((arrays[f"w{i}"], arrays[f"b{i}"]) for i in range(hidden + 1))


PLAIN = {"dial": None, "squash": False, "choices": []}
"""What a learner that does not speak of these has."""


def begun_from(ours: Mapping[str, Any], arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> Net:
    """The network of an exported policy, of which all that a learner says of its own holds."""
    for name, value in {**PLAIN, **ours}.items():
        if facts[name] != value:
            advice = "give it the same"
            if name in PLAIN:
                advice = "begin from a policy of the same algorithm"
            raise SaddleError(
                f"the policy to begin from has {name} {facts[name]}, this learner {value}; {advice}"
            )
    layers = layers_of(arrays, len(ours["hidden"]))
    return tuple((jnp.asarray(weights), jnp.asarray(biases)) for weights, biases in layers)
