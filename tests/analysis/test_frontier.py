"""Frontiers: dominance by its definition, hypervolume and attainment against moocore."""

import moocore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from saddle.analysis import Options
from saddle.analysis.frontier import (
    attainment,
    hypervolume,
    nondominated,
    return_at,
    running_maxima,
    trace,
)
from saddle.analysis.geometry import geometry
from saddle.analysis.profile import Sweep

# Few distinct values, so that ties and equal points are common.
POINTS = st.integers(1, 25).flatmap(
    lambda n: arrays(float, (2, n), elements=st.integers(0, 8).map(float))
)


def dominates(a, b):
    return a[0] <= b[0] and a[1] >= b[1] and (a[0] < b[0] or a[1] > b[1])


@given(POINTS)
def test_keeps_exactly_the_undominated_points(points):
    keep = nondominated(*points)
    pairs = points.T
    expected = [not any(dominates(other, point) for other in pairs) for point in pairs]
    assert keep.tolist() == expected


@given(POINTS, st.randoms(use_true_random=False))
def test_order_does_not_matter(points, random):
    order = list(range(points.shape[1]))
    random.shuffle(order)
    np.testing.assert_array_equal(nondominated(*points)[order], nondominated(*points[:, order]))


@given(POINTS)
def test_trace_is_the_kept_points_once_and_rises(points):
    cost, returns = trace(*points)
    kept = {tuple(p) for p in points.T[nondominated(*points)]}
    assert {*zip(cost, returns, strict=True)} == kept and len(cost) == len(kept)
    assert (np.diff(cost) > 0).all() and (np.diff(returns) > 0).all()


@given(POINTS)
def test_hypervolume_equals_moocore(points):
    reference = (9.0, -1.0)
    expected = moocore.hypervolume(
        np.stack([points[0], -points[1]], 1), ref=[reference[0], -reference[1]]
    )
    assert hypervolume(trace(*points), reference) == pytest.approx(expected)


@given(st.integers(0, 10**6), st.sampled_from([20, 40, 60, 100]))
def test_attainment_equals_moocore(seed, percent):
    rng = np.random.default_rng(seed)
    costs, returns = rng.integers(0, 20, (2, 5, 6)).astype(float)
    at = np.arange(21.0)
    points = np.stack([costs.ravel(), -returns.ravel()], 1)
    surface = moocore.eaf(points, np.repeat(np.arange(5), 6), percentiles=[percent])
    expected = [
        -surface[surface[:, 0] <= c, 1].min() if (surface[:, 0] <= c).any() else np.nan for c in at
    ]
    np.testing.assert_array_equal(attainment(costs, returns, at, percent / 100), expected)


def test_return_between_points_is_a_mixture_of_their_policies():
    frontier = trace(np.array([1.0, 3.0, 2.0]), np.array([0.0, 4.0, 0.5]))
    np.testing.assert_allclose(
        return_at(frontier, np.array([0.5, 1.0, 2.5, 9.0])), [np.nan, 0.0, 2.25, 4.0]
    )


def test_published_construction_keeps_a_dominated_tie_that_ours_drops():
    cost, returns = np.array([1.0, 2.0, 2.0]), np.array([5.0, 6.0, 7.0])
    assert running_maxima(cost, returns).tolist() == [True, True, True]
    assert nondominated(cost, returns).tolist() == [True, False, True]


def test_of_equal_costs_the_published_frontier_has_the_best_return():
    """Where a smoothed cost is cut to 0 several points have that cost; LOWESS over four equal costs
    is exact.
    """
    lambdas = np.geomspace(0.1, 10, 9)
    costs = np.tile([[90.0], [60], [30], [10], [0], [0], [0], [0], [0]], 2)
    returns = np.tile([[9.0], [8], [7], [6], [1], [2], [3], [4], [5]], 2)
    sweep = Sweep(lambdas, np.arange(2), returns, costs)
    options = Options(construction="published", replicates=100)
    found = geometry(sweep, options)
    cost, value = found.points.costs.value, found.points.returns.value
    cheapest = cost == cost.min()
    assert cheapest.sum() > 1
    assert value[found.kept[0]] == value[cheapest].max()
    assert (np.diff(cost[found.kept]) > 0).all()
