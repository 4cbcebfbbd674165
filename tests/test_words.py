"""Numbers in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.words import plus_minus


@pytest.mark.parametrize(
    ("value", "spread", "said"),
    [
        (12.345, 1.2, "12.35 ± 1.20"),
        (208_621.4, 30.26, "208621.40 ± 30.26"),
        (0.00049, 0.000123, "0.00049 ± 0.00012"),
        (0.5, 0.0, "0.50 ± 0.00"),
        (0.00049, 0.0, "0.00049 ± 0.00000"),
        (0.0, 0.0, "0.00 ± 0.00"),
    ],
)
def test_small_numbers_keep_their_digits(value, spread, said):
    assert plus_minus(value, spread) == said


@given(st.floats(1e-7, 1e6), st.floats(1e-7, 1e6))
def test_what_is_said_is_the_number_within_a_tenth_of_its_spread(value, spread):
    mean, width = (float(part) for part in plus_minus(value, spread).split(" ± "))
    assert mean == pytest.approx(value, abs=max(0.1 * spread, 0.005))
    assert width == pytest.approx(spread, rel=0.1)
