"""Statistics over seeds against scipy and against their definitions."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from saddle.analysis.bootstrap import (
    draw_counts,
    expansion,
    interquartile_mean,
    interval,
    mean_interval,
    replicate_means,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40).map(np.array)


@given(VALUES)
def test_interquartile_mean_drops_a_quarter_at_each_end(values):
    ordered = sorted(values)
    cut = int(len(ordered) / 4)
    middle = ordered[cut : len(ordered) - cut]
    assert interquartile_mean(values) == pytest.approx(sum(middle) / len(middle))
    assert interquartile_mean(values) == pytest.approx(scipy.stats.trim_mean(values, 0.25))


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30, unique=True).map(np.array),
    st.floats(0.5, 0.99),
)
def test_mean_interval_is_students(values, level):
    error = values.std(ddof=1) / np.sqrt(len(values))
    if error > 1e-9:
        expected = scipy.stats.t.interval(level, len(values) - 1, values.mean(), error)
        assert mean_interval(values, level) == pytest.approx(expected)


def test_one_seed_has_no_interval():
    assert np.isnan(mean_interval(np.array([3.0]), 0.95)).all()
    assert expansion(1, 0.95) == 0


@pytest.mark.parametrize("seeds", [5, 10, 30])
def test_expanded_bootstrap_of_a_mean_is_the_t_interval(seeds):
    rng = np.random.default_rng(0)
    values = scipy.stats.norm.ppf(
        (np.arange(seeds) + 0.5) / seeds
    )  # a normal sample without its luck
    means = replicate_means(values[None], draw_counts(rng, 100_000, seeds), 0.95)[:, 0]
    np.testing.assert_allclose(interval(means, 0.95), mean_interval(values, 0.95), rtol=0.04)


def test_seeds_are_drawn_whole():
    values = np.arange(6.0)[None] + np.array(
        [[0.0], [100.0]]
    )  # two groups that differ by a constant for every seed
    means = replicate_means(values, draw_counts(np.random.default_rng(1), 500, 6), 0.95)
    np.testing.assert_allclose(means[:, 1] - means[:, 0], 100.0)


def test_missing_runs_are_left_out_of_their_group():
    values = np.array([[1.0, 2.0, np.nan], [1.0, 2.0, 3.0]])
    counts = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    means = replicate_means(values, counts, 0.95)
    factor = expansion(np.array([2, 3]), 0.95)
    np.testing.assert_allclose(means[0], [1.5 - 0.5 * factor[0], 2 - factor[1]])
    assert means[1, 0] == 1.5  # none of its seeds was drawn: the mean stays


def test_interval_keeps_infinite_ends_and_drops_nan():
    replicates = np.concatenate([np.full(10, -np.inf), np.arange(100.0), np.full(60, np.nan)])
    lo, hi = interval(replicates, 0.9)
    assert lo == -np.inf and hi == 94.0
    assert np.isnan(interval(np.array([1.0, np.nan, np.nan]), 0.9)).all()
