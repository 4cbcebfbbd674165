"""Powers of two that bring an array's numbers to where float16 holds them with all its bits.

float16 holds numbers between 6e-5 and 65504 with all its bits, and nothing below 6e-8. A critic of
a cost that stays away for long has weights far below: its L2 penalty draws them to 0. So arrays are
kept times a power of two, their unit, which brings them there; multiplying with it and dividing by
it is exact.
"""

import math

import jax.numpy as jnp
from jax import Array

# The least power of two that a network's weights are brought back from; L2 alone takes them to
# 2^-106
DEEP = 110


def unit(largest: Array, most: int = 60) -> Array:
    """A power of two, hence exact, that brings `largest` to between 1 and 2, where float16 holds it
    and less best.

    Samples' weights differ by many powers of ten: about 1 / N, but where no sample has a cost, beta
    and they are huge. No power above `most` is taken, so that what is multiplied with it stays
    finite.
    """
    usable = (largest > 0) & jnp.isfinite(largest)
    _, exponent = jnp.frexp(jnp.where(usable, largest, 1.0))
    return jnp.ldexp(jnp.ones_like(largest), jnp.clip(1 - exponent, -most, most))


def inverse(*units: Array) -> Array:
    """[1], one over their product, which itself may be too large a number."""
    return math.prod((1 / unit for unit in units), start=jnp.ones(1))
