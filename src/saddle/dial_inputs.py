"""A policy's dial: how multipliers enter a network that takes them as inputs."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

UNIT_SPREAD = 3**0.5  # what is uniform in [-1, 1], times this, has standard deviation 1

SETTINGS = 9
"""At which a dial is looked at, where nobody says how many."""


class Dial(NamedTuple):
    """The range of a dial's multipliers, of which every constraint has one of its own."""

    low: float
    high: float
    constraints: int

    def settings(self, count: int = SETTINGS) -> list[float]:
        """So many multipliers of the range, evenly spaced in their logarithm, ends included."""
        return [float(value) for value in np.geomspace(self.low, self.high, count)]

    def inputs(self, log_lambda: Array | np.ndarray) -> Array:
        """What a network sees of log10 of multipliers [..., m]: a number of about unit spread for
        each, 0 in the middle of the range [..., m].
        """
        low, high = np.log10([self.low, self.high])
        place = 2 * (log_lambda - low) / (high - low) - 1
        return UNIT_SPREAD * jnp.asarray(place)
