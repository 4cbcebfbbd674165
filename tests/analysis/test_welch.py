"""Welch's test and Holm's correction, against SciPy and statsmodels; and which runs stand in the
row of fixed lambda*.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from saddle.analysis import Options
from saddle.analysis.agreement import compare_with_published
from saddle.analysis.from_store import analyze_store
from saddle.analysis.text import t_and_p
from saddle.analysis.welch import SURE, Sample, holm, welch

RESULTS = Path(__file__).parents[2] / "results"
MEANS, SDS, SEEDS = st.floats(-1e3, 1e3), st.floats(0.01, 100), st.integers(2, 30)


@given(MEANS, SDS, SEEDS, MEANS, SDS, SEEDS)
def test_welch_is_scipys(mean, sd, seeds, other, other_sd, other_seeds):
    found = welch(Sample(mean, sd, seeds), Sample(other, other_sd, other_seeds))
    ours, theirs = (mean, sd, seeds), (other, other_sd, other_seeds)
    expected = scipy.stats.ttest_ind_from_stats(*ours, *theirs, equal_var=False)
    assert found is not None
    assert (found.t, found.p) == pytest.approx(tuple(expected), rel=1e-9, abs=1e-300)


def test_degrees_of_freedom_of_seeds_themselves():
    a, b = np.random.default_rng(0).normal(size=(2, 10)) + [[0.0], [1.0]]
    found = welch(Sample(a.mean(), a.std(ddof=1), 10), Sample(b.mean(), b.std(ddof=1), 10))
    expected: Any = scipy.stats.ttest_ind(a, b, equal_var=False)
    assert found is not None
    assert found.t == pytest.approx(expected.statistic)
    assert found.degrees == pytest.approx(expected.df)
    assert found.p == pytest.approx(expected.pvalue)


def test_one_seed_and_seeds_that_do_not_vary_have_no_test():
    assert welch(Sample(1.0, None, 1), Sample(0.0, 1.0, 10)) is None
    assert welch(Sample(1.0, 0.0, 5), Sample(0.0, 0.0, 10)) is None
    one_side = welch(Sample(1.0, 0.0, 5), Sample(0.0, 1.0, 10))
    assert one_side is not None and one_side.degrees == pytest.approx(9)


@pytest.mark.parametrize("values", [[0.04], [0.5, 0.001, 0.03, 0.03, 1.0, 0.0, 0.012]])
def test_holm_is_statsmodels(values):
    _, expected, _, _ = multipletests(values, method="holm")
    assert holm(values) == pytest.approx(np.asarray(expected), rel=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.001, 0.5))
def test_holm_rejects_as_its_steps_do(values, level):
    """From the smallest on, each against the level divided by how many are left; the first that
    fails ends it.
    """
    rejected = 0
    for rank, p in enumerate(sorted(values)):
        if (len(values) - rank) * p >= level:
            break
        rejected += 1
    found = holm(values)
    assert sum(p < level for p in found) == rejected
    assert all(p <= q <= 1 for p, q in zip(values, found, strict=True))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.randoms())
def test_holm_does_not_see_the_order(values, random):
    assume(len(set(values)) == len(values))
    corrected = dict(zip(values, holm(values), strict=True))
    random.shuffle(values)
    assert holm(values) == [corrected[p] for p in values]


def test_t_and_p_as_text():
    assert t_and_p(1.04, 0.2512, 1.0) == "+1.0 (0.25)"
    assert t_and_p(-7.0, 0.00123, 0.014) == "-7.0 (0.0012)*"
    assert t_and_p(None, None, None) == "-"
    assert t_and_p(2.0, SURE / 2, SURE) == "+2.0 (0.025)"  # not below


@pytest.mark.parametrize("published", [False, True])
def test_a_limit_out_of_reach_has_the_nearest_setting_or_as_published_the_end(published):
    """Limit 10 on Goal1, whose study trained at lambda 10 for it."""
    options = Options.by_method("published" if published else "profile", replicates=100)
    found = compare_with_published(analyze_store(RESULTS / "goal1", options))
    cell = next(cell for cell in found.cells if (cell.limit, cell.rule) == (10.0, "fixed"))
    assert cell.lambda_ == pytest.approx(10.0 if published else 5.623, abs=1e-3)
    (note,) = [note for note in found.notes if "at limit 10" in note] or [""]
    assert ("not reachable" in note) != published
    assert len(found.cells) == 6


def test_of_many_cells_the_overall_figures_are_those_of_their_p_values():
    found = compare_with_published(analyze_store(RESULTS / "goal1", Options(replicates=100)))
    raw = [p for cell in found.cells for p in (cell.return_p, cell.cost_p) if p is not None]
    assert found.overall is not None
    assert found.overall.values == len(raw) == 12
    assert found.overall.below == sum(p < SURE for p in raw)
    assert found.overall.below_holm == sum(p < SURE for p in holm(raw))
    assert found.overall.least_holm == min(holm(raw))
