"""A float32 in two halves."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from saddle.learners.networks.gpu import halves

BITS = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=64)


@given(BITS)
def test_halves_together_are_the_number_bit_by_bit(bits):
    x = np.array(bits, np.uint32)
    found = halves.join(*halves.split(jnp.asarray(x.view(np.float32))))
    np.testing.assert_array_equal(np.asarray(found).view(np.uint32), x)


@given(
    st.lists(
        st.floats(-(2.0**126), 2.0**126, width=32, allow_subnormal=False), min_size=1, max_size=64
    )
)
def test_the_high_half_is_the_nearest_bfloat16(numbers):
    x = jnp.asarray(numbers, jnp.float32)
    high, exact = np.asarray(halves.split(x)[0], np.float64), np.asarray(x, np.float64)
    nearest = np.asarray(x.astype(jnp.bfloat16), np.float64)
    np.testing.assert_array_equal(np.abs(high - exact), np.abs(nearest - exact))
