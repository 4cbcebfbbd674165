"""LOWESS against statsmodels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.nonparametric.smoothers_lowess import lowess as reference

from saddle.analysis.smooth import LEAST_NEIGHBOURS, lowess, smooth


def curve(seed, points):
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(0.01, 1.0, points))
    return x, np.sin(x) * 100 + rng.standard_t(2, points) * 20


@given(st.integers(0, 10**6), st.integers(5, 60), st.floats(0.2, 1.0))
def test_equals_statsmodels_at_the_points(seed, points, frac):
    x, y = curve(seed, points)
    expected = reference(y, x, frac=frac, it=0, return_sorted=False)
    np.testing.assert_allclose(lowess(x, y, frac), expected, rtol=1e-10, atol=1e-10)


# With few neighbours a line passes through the points, residuals are rounding, and weights drawn
# from them are noise.
@given(st.integers(0, 10**6), st.integers(12, 60), st.floats(0.5, 1.0), st.integers(1, 4))
def test_robust_equals_statsmodels(seed, points, frac, iterations):
    x, y = curve(seed, points)
    expected = reference(y, x, frac=frac, it=iterations, return_sorted=False)
    np.testing.assert_allclose(lowess(x, y, frac, iterations), expected, rtol=1e-10, atol=1e-10)


@given(st.integers(0, 10**6), st.integers(12, 60), st.floats(0.5, 1.0), st.integers(0, 3))
def test_equals_statsmodels_on_a_grid(seed, points, frac, iterations):
    x, y = curve(seed, points)
    at = np.linspace(x[0], x[-1], 37)
    expected = reference(y, x, frac=frac, it=iterations, xvals=at)
    np.testing.assert_allclose(lowess(x, y, frac, iterations, at), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scale", [np.log, np.asarray])
@pytest.mark.parametrize("iterations", [0, 2])
def test_many_curves_at_once_equal_one_at_a_time(scale, iterations):
    x = scale(np.logspace(-1, 1, 25))
    curves = np.random.default_rng(0).normal(size=(7, 25)).cumsum(axis=1)
    at = np.linspace(x[0], x[-1], 101)
    together = lowess(x, curves, 0.5, iterations, at)
    for fit, y in zip(together, curves, strict=True):
        np.testing.assert_allclose(
            fit, reference(y, x, frac=0.5, it=iterations, xvals=at), rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize("points", [2, 3, 4, 5, 25])
@pytest.mark.parametrize("correct", [False, True])
def test_a_line_stays_a_line(points, correct):
    x = np.linspace(-1, 1, points)
    at = np.linspace(-1, 1, 11)
    np.testing.assert_allclose(
        smooth(x, 3 - 2 * x, at, 0.2, correct=correct), 3 - 2 * at, atol=1e-12
    )


@given(
    st.floats(-1e6, 1e6), st.integers(2, 30), st.floats(0.2, 1.0), st.integers(0, 2), st.booleans()
)
def test_what_is_constant_stays_so_to_the_last_bit(value, points, frac, iterations, correct):
    """Else its rounding, another one on every machine, would make a frontier of it."""
    x = np.log(np.linspace(0.1, 10, points))
    at = np.linspace(x[0], x[-1], 41)
    np.testing.assert_array_equal(
        smooth(x, np.full((3, points), value), at, frac, iterations, correct), value
    )


def test_few_points_are_joined_not_smoothed():
    x = np.array([0.0, 1.0, 2.0])
    assert len(x) < LEAST_NEIGHBOURS
    np.testing.assert_allclose(
        smooth(x, np.array([0.0, 4.0, 2.0]), np.array([0.5, 1.0, 1.5]), 0.5), [2, 4, 3]
    )


def test_correction_takes_back_the_bias_at_a_bend():
    x = np.linspace(-1, 1, 25)
    y = 1 / (1 + np.exp(8 * x))
    plain, corrected = (
        np.abs(smooth(x, y, x, 0.4, correct=correct) - y).max() for correct in (False, True)
    )
    assert corrected < plain / 2


def test_an_outlier_counts_less_with_robust_iterations():
    x = np.arange(20.0)
    y = np.where(x == 10, 100.0, x + np.random.default_rng(0).normal(size=20))
    plain, robust = (lowess(x, y, 0.5, iterations)[10] for iterations in (0, 3))
    assert abs(robust - 10) < 0.2 * abs(plain - 10)
