"""The range of multipliers in parts of equal width in log lambda, one axis a constraint: K parts
in all.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class Strata(NamedTuple):
    """How the range is divided."""

    low: float  # least multiplier
    high: float  # largest multiplier
    each: int  # parts of one constraint's range
    constraints: int

    @property
    def count(self) -> int:
        """K, in all combinations."""
        return self.each**self.constraints

    def centres(self) -> np.ndarray:
        """Multipliers in the middle of every part [K, m]."""
        places = np.stack(np.unravel_index(np.arange(self.count), self._shape), -1)
        low, step = self._scale
        return 10.0 ** (low + step * (places + 0.5))

    def draw(self, worlds: int, key: Array) -> Array:
        """log10 of multipliers for episodes that begin [worlds, m]. Those of one draw are spread
        evenly over the parts.
        """
        where, inside = jax.random.split(key)
        share = (jnp.arange(worlds) / worlds + jax.random.uniform(where)) % 1.0
        part = jnp.minimum((share * self.count).astype(jnp.int32), self.count - 1)
        corner = jnp.stack(jnp.unravel_index(part, self._shape), -1)
        within = jax.random.uniform(inside, (worlds, self.constraints))
        low, step = self._scale
        return low + step * (corner + within)

    def membership(self, log_lambda: Array) -> Array:
        """Which part holds log10 of multipliers [N, m]: one 1 in each row of [N, K], else 0."""
        low, step = self._scale
        corner = jnp.clip(((log_lambda - low) / step).astype(jnp.int32), 0, self.each - 1)
        part = jnp.ravel_multi_index(tuple(corner.T), self._shape, mode="clip")
        return jax.nn.one_hot(part, self.count)

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.each,) * self.constraints

    @property
    def _scale(self) -> tuple[float, float]:
        """log10 of the low end, and the width of a part."""
        low, high = np.log10([self.low, self.high])
        return float(low), float((high - low) / self.each)


def sums(membership: Array, values: Array) -> Array:
    """Of the values [N, ...] in every part: [K, ...]."""
    return jnp.tensordot(membership, values, axes=(0, 0), precision="highest")


def standardised(membership: Array, advantage: Array, scale: bool) -> Array:
    """Advantages [N, S] of reward and costs with mean 0 in every part; with `scale` also those of
    the reward with standard deviation 1. Costs keep their scale: lambda prices it.
    """
    count = jnp.maximum(membership.sum(0), 1)[:, None]
    centred = advantage - membership @ (sums(membership, advantage) / count)
    if not scale:
        return centred
    deviation = jnp.sqrt(sums(membership, centred[:, :1] ** 2) / count)
    reward = centred[:, :1] / (membership @ deviation + 1e-8)
    return jnp.concatenate([reward, centred[:, 1:]], -1)
