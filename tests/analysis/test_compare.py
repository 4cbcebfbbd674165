"""The study's marks, and the published table as input."""

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from saddle.analysis.agreement import z_score
from saddle.analysis.compare import improvement, mark
from saddle.analysis.published import comparison_limits, recommended_limits, table

WINNERS = {
    "SafetyPointCircle1-v0": ("fixed", "pid"),
    "SafetyPointGoal1-v0": ("ga", None),
    "SafetyPointButton1-v0": ("ga", "pid"),
    "SafetyPointPush1-v0": ("ga", "pid"),
    "SafetyHopperVelocity-v1": ("ga", "pid"),
    "SafetyWalker2dVelocity-v1": ("ga", "ga"),
    "SafetyHalfCheetahVelocity-v1": ("pid", "fixed"),
    "SafetyAntVelocity-v1": ("pid", "ga"),
}


@pytest.mark.parametrize("task", WINNERS)
def test_published_table_gives_the_published_winners(task):
    marked = mark(table())
    found = []
    for limit in comparison_limits(task):
        best = marked.filter((pl.col("task") == task) & (pl.col("limit") == limit) & pl.col("best"))
        assert best.height <= 1
        found.append(best["rule"][0] if best.height else None)
    assert tuple(found) == WINNERS[task]


def test_published_table_is_whole():
    assert table().height == 8 * 2 * 3 and set(table()["task"]) == set(recommended_limits()) == set(WINNERS)
    assert mark(table())["violated"].sum() == (table()["cost_mean"] > table()["limit"]).sum()


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12))
def test_improvement_is_mann_whitneys_u(seed, n, m):
    a, b = (np.random.default_rng(seed + i).integers(0, 6, size).astype(float) for i, size in ((0, n), (1, m)))
    found = improvement(a, b, 0.95)
    assert found.value == pytest.approx(scipy.stats.mannwhitneyu(a, b).statistic / (n * m))
    lo, value, hi = (float(end or 0) for end in (found.lo, found.value, found.hi))
    assert 0 <= lo <= value <= hi <= 1
    assert lo < hi  # even when every value of one exceeds the other's


def test_z_score_is_welchs_t():
    a, b = np.random.default_rng(0).normal(size=(2, 10)) + [[0.0], [1.0]]
    expected, _ = scipy.stats.ttest_ind(a, b, equal_var=False)
    assert z_score(a.mean(), a.std(ddof=1), 10, b.mean(), b.std(ddof=1), 10) == pytest.approx(expected)
    assert z_score(1.0, None, 1, 0.0, 1.0) is None and z_score(1.0, 0.0, 5, 0.0, 0.0) is None
