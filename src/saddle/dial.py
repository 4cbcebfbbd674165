"""A policy's dial: how multipliers enter a network that takes them as inputs."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

UNIT_SPREAD = 3**0.5  # what is uniform in [-1, 1], times this, has standard deviation 1


class Dial(NamedTuple):
    """The range of a dial's multipliers, and how networks see them; every constraint has one
    multiplier of its own.

    A network sees each multiplier's place in the range, on a logarithmic scale: as a number of
    about unit spread, and as hat functions on `knots` evenly spaced knots, so that it need not be
    linear in it.
    """

    low: float
    high: float
    knots: int
    constraints: int

    @property
    def width(self) -> int:
        """How many numbers a network sees."""
        return self.constraints * (1 + self.knots)

    def place(self, log_lambda: Array | np.ndarray) -> Array:
        """log10 of multipliers [..., m] -> their places in the range [..., m], -1 at its low end
        and 1 at its high end.
        """
        ends = np.log10([self.low, self.high])
        return jnp.asarray(2 * (log_lambda - ends[0]) / (ends[1] - ends[0]) - 1)

    def inputs(self, log_lambda: Array | np.ndarray) -> Array:
        """log10 of multipliers [..., m] -> what a network sees of them [..., width]."""
        place = self.place(log_lambda)
        knots = np.linspace(-1, 1, self.knots)
        apart = 2 / max(1, self.knots - 1)
        hats = jnp.maximum(0.0, 1 - jnp.abs(place[..., None] - knots) / apart)
        seen = jnp.concatenate([UNIT_SPREAD * place[..., None], hats], -1)
        return seen.reshape(*place.shape[:-1], self.width)
