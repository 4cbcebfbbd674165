"""A policy's dial: how multipliers enter a network that takes them as inputs."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

UNIT_SPREAD = 3**0.5  # what is uniform in [-1, 1], times this, has standard deviation 1


class Dial(NamedTuple):
    """The range of a dial's multipliers, of which every constraint has one of its own."""

    low: float
    high: float
    constraints: int
    film: bool = False
    """The dial also scales: its products with every observation are inputs too."""

    def width(self, obs_dim: int) -> int:
        """How many inputs of a network are the dial's."""
        return self.constraints * (1 + obs_dim * self.film)

    def behind(self, obs: Array, log_lambda: Array) -> Array:
        """Observations [..., obs_dim] with the dial's inputs behind them: those of `inputs`, and
        with `film` each of them times every observation.
        """
        inputs = self.inputs(log_lambda)
        if not self.film:
            return jnp.concatenate([obs, inputs], -1)
        products = inputs[..., :, None] * obs[..., None, :]
        flat = products.reshape(*obs.shape[:-1], self.constraints * obs.shape[-1])
        return jnp.concatenate([obs, inputs, flat], -1)

    def first_layer(
        self, weights: np.ndarray, biases: np.ndarray, log_lambda: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weights [in, out] and biases of the first layer at one setting, where it takes an
        observation alone.
        """
        inputs = np.asarray(self.inputs(log_lambda), np.float32)
        obs_dim = self.obs_dim(weights.shape[0])
        own, shift = weights[:obs_dim], weights[obs_dim : obs_dim + self.constraints]
        if self.film:
            scales = weights[obs_dim + self.constraints :]
            scales = scales.reshape(self.constraints, obs_dim, weights.shape[1])
            own = own + np.tensordot(inputs, scales, 1)
        return own, biases + inputs @ shift

    def obs_dim(self, inputs: int) -> int:
        """How many of a network's inputs are the observation."""
        return (inputs - self.constraints) // (1 + self.constraints * self.film)

    def settings(self, count: int) -> list[float]:
        """So many multipliers of the range, evenly spaced in their logarithm, ends included."""
        return [float(value) for value in np.geomspace(self.low, self.high, count)]

    def inputs(self, log_lambda: Array | np.ndarray) -> Array:
        """What a network sees of log10 of multipliers [..., m]: a number of about unit spread for
        each, 0 in the middle of the range [..., m].
        """
        low, high = np.log10([self.low, self.high])
        place = 2 * (log_lambda - low) / (high - low) - 1
        return UNIT_SPREAD * jnp.asarray(place)
