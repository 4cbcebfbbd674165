"""Slope and regimes of frontiers whose shape is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.analysis.restrictiveness import arc, round_limit, segments, slopes, to_slope


def broken_line(corner_cost, corner_return, noise=0.002, points=60):
    """A frontier of two straight pieces from (0, 0) over a corner to (100, 50); its replicates
    scatter a little.
    """
    cost = np.linspace(0, 100, points)
    returns = np.interp(cost, [0, corner_cost, 100], [0, corner_return, 50])
    rng = np.random.default_rng(0)
    many = returns + noise * 50 * rng.normal(size=(200, points))
    frontier = arc(-cost, cost, returns, np.broadcast_to(cost, many.shape), many)
    assert frontier
    return frontier


def test_two_pieces_give_two_regimes_at_the_corner():
    frontier = broken_line(20, 40)
    first, second = segments(frontier, slopes(frontier, 0.95), 0.95)
    assert (first.kind, second.kind) == ("restrictive", "unrestrictive")
    assert np.interp(first.end, frontier.place, frontier.cost) == pytest.approx(20, abs=5)
    assert first.slope == pytest.approx((40 / 50) / (20 / 100), rel=0.2)
    assert second.slope == pytest.approx((10 / 50) / (80 / 100), rel=0.2)


def test_one_piece_is_even():
    frontier = broken_line(50, 25)
    (only,) = segments(frontier, slopes(frontier, 0.95), 0.95)
    assert only.kind == "even" and only.slope == pytest.approx(1)


def test_slopes_do_not_depend_on_units():
    frontier = broken_line(20, 40)
    costs, returns = 7 * frontier.costs, 3 * frontier.many_returns
    scaled = arc(frontier.axis, 7 * frontier.cost, 3 * frontier.returns, costs, returns)
    assert scaled
    np.testing.assert_allclose(slopes(scaled, 0.95).angle, slopes(frontier, 0.95).angle)


def test_a_single_point_has_no_arc():
    one = np.array([1.0])
    assert arc(one, one, one, one[None], one[None]) is None
    flat = np.array([1.0, 2.0, 3.0])
    assert arc(flat, flat, np.ones(3), flat[None], np.ones((1, 3))) is None


def test_upright_has_no_finite_slope():
    assert np.isinf(to_slope(np.array(np.pi / 2))) and to_slope(
        np.array(np.pi / 4)
    ) == pytest.approx(1)


COSTS = st.just(0.0) | st.floats(1e-9, 1e4)


@given(COSTS, COSTS, st.just(0.0) | st.floats(1e-6, 1))
def test_rounded_limits_stay_in_their_regime(a, b, weight):
    low, high = sorted((a, b))
    target = low + weight * (high - low)
    limit = round_limit(target, low, high)
    assert low - 5e-3 * low <= limit <= high + 5e-3 * high
    if low > 0 and high > 3 * low:
        assert float(f"{limit:.2g}") == limit  # a plain number fits
