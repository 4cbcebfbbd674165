"""A float32 as two halves: the bfloat16 next to it, and what is left, 16 bits as well. Together
they are exact.

Who multiplies with the first half need not have it written beside the whole.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

# Half a unit of the high half's last bit: added, it makes cutting off rounding
MIDDLE = np.uint32(0x8000)


def split(x: Array) -> tuple[Array, Array]:
    """float32 -> bfloat16, uint16. Ties are rounded away from 0."""
    bits = jax.lax.bitcast_convert_type(x, jnp.uint32) + MIDDLE
    high = (bits >> 16).astype(jnp.uint16)
    return jax.lax.bitcast_convert_type(high, jnp.bfloat16), bits.astype(jnp.uint16)


def join(high: Array, low: Array) -> Array:
    """What `split` was given, bit by bit."""
    bits = jax.lax.bitcast_convert_type(high, jnp.uint16).astype(jnp.uint32) << 16 | low
    return jax.lax.bitcast_convert_type(bits - MIDDLE, jnp.float32)
