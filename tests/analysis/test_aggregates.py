"""Rules over all tasks and limits, against plain loops and SciPy."""

import itertools
import json

import numpy as np
import polars as pl
import pytest
from analysis.test_rules_map import KINDS, LIMITS, SEEDS, study_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from report.made import store
from scipy import stats

from saddle.analysis import Options, analyze
from saddle.analysis.aggregates import aggregates, score_rules
from saddle.analysis.bootstrap import interquartile_mean
from saddle.analysis.findings.study import plain_values
from saddle.analysis.stratified import (
    draw_strata,
    improvement,
    replicate_improvements,
    replicate_iqms,
    same_scores,
    stratified_interval,
)
from saddle.cli import main

SMALL = {"level": 0.95, "replicates": 200, "seed": 0}
SCORES = st.lists(
    hnp.arrays(float, st.integers(1, 6), elements=st.integers(-8, 8)), min_size=1, max_size=4
)


@pytest.fixture(scope="module")
def known():
    """The made-up study twice, as two tasks."""
    parts = []
    for task in ("Bend-v0", "Other-v0"):
        runs, metrics = study_of(KINDS)
        own = pl.format(task + "-{}", "run").alias("run")
        unit = pl.format(task + "-{}", "unit").alias("unit")
        parts.append((runs.with_columns(own, unit, task=pl.lit(task)), metrics.with_columns(own)))
    return pl.concat([runs for runs, _ in parts]), pl.concat([metrics for _, metrics in parts])


@pytest.fixture(scope="module")
def analysed(known):
    runs, metrics = known
    return analyze(runs, metrics, Options(replicates=200))


@pytest.fixture(scope="module")
def found(analysed):
    (one,) = aggregates(analysed)
    return one


def drawn_apart(strata, counts):
    """The drawn values of a replicate, one stratum after the other."""
    values = np.concatenate(strata)
    return np.repeat(values, counts.astype(int))


@settings(max_examples=40)
@given(SCORES)
def test_each_replicate_is_the_mean_of_the_middle_half_of_what_was_drawn(strata):
    counts = draw_strata(np.random.default_rng(0), 5, strata)
    values = np.concatenate(strata)
    found = replicate_iqms(values, counts)
    for own, drawn in zip(found, counts, strict=True):
        assert own == pytest.approx(stats.trim_mean(drawn_apart(strata, drawn), 0.25))
    as_it_is = replicate_iqms(values, np.ones((1, len(values))))
    assert as_it_is == pytest.approx(interquartile_mean(values))


@settings(max_examples=40)
@given(SCORES)
def test_every_stratum_keeps_its_number_of_runs(strata):
    counts = draw_strata(np.random.default_rng(1), 20, strata)
    ends = np.cumsum([len(own) for own in strata])[:-1]
    for own, drawn in zip(strata, np.split(counts, ends, axis=1), strict=True):
        assert (drawn.sum(1) == len(own)).all()


@settings(max_examples=30, deadline=None)
@given(SCORES, st.integers(-5, 5), st.sampled_from((0.5, 2.0, 4.0)), st.randoms())
def test_the_bootstrap_follows_units_and_forgets_the_order_of_runs(strata, shift, factor, random):
    """Another origin and another unit of the score move estimate and interval with them; the order
    of runs and rules' names of tasks do not matter.
    """
    own = {("task", float(i + 1)): values for i, values in enumerate([*strata, np.zeros(2)])}
    other = {at: values + 1.0 for at, values in own.items()}
    moved = {at: factor * values + shift for at, values in own.items()}
    moved_other = {at: factor * values + shift for at, values in other.items()}
    shuffled = {}
    for at in random.sample(list(own), len(own)):
        values = own[at].tolist()
        random.shuffle(values)
        shuffled[at] = np.array(values)
    plain = score_rules("gap", {"ga": own, "pid": other}, SMALL)
    assert score_rules("gap", {"ga": shuffled, "pid": other}, SMALL) == plain
    changed = score_rules("gap", {"ga": moved, "pid": moved_other}, SMALL)
    for before, after in zip(plain.rules, changed.rules, strict=True):
        for end in ("value", "lo", "hi"):
            expected = factor * getattr(before.iqm, end) + shift
            assert getattr(after.iqm, end) == pytest.approx(expected, abs=1e-9)
    assert [pair.p for pair in changed.improvements] == [pair.p for pair in plain.improvements]


def test_for_one_stratum_the_interval_of_a_mean_is_the_t_interval():
    values = np.random.default_rng(2).normal(size=8)
    counts = draw_strata(np.random.default_rng(3), 40_000, [values])
    lo, hi = stratified_interval(values.mean(), counts @ values / 8, 8, 1, 0.95)
    t = stats.t.interval(0.95, 7, values.mean(), stats.sem(values))
    assert (lo, hi) == pytest.approx(t, rel=0.06, abs=0.03)


def test_the_intervals_hold_what_they_say():
    """Five strata of four runs each: the truth lies within 95 % of intervals."""
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(300):
        strata = list(rng.normal(size=(5, 4)))
        values = np.concatenate(strata)
        drawn = replicate_iqms(values, draw_strata(rng, 200, strata))
        lo, hi = stratified_interval(interquartile_mean(values), drawn, 20, 5, 0.95)
        held += lo <= 0 <= hi
    assert 0.90 <= held / 300 <= 0.99


@settings(max_examples=40)
@given(SCORES, st.integers(0, 100))
def test_improvement_is_the_share_of_pairs_won(first, seed):
    rng = np.random.default_rng(seed)
    second = [rng.integers(-8, 8, rng.integers(1, 6)).astype(float) for _ in first]
    counts = [draw_strata(rng, 3, own) for own in (first, second)]
    assert improvement(first, second) == pytest.approx(pairs_won(first, second))
    found = replicate_improvements(first, second, *counts)
    for i, own in enumerate(found):
        drawn_first = split(first, counts[0][i])
        drawn_second = split(second, counts[1][i])
        assert own == pytest.approx(pairs_won(drawn_first, drawn_second))
    assert improvement(second, first) == pytest.approx(1 - improvement(first, second))


def split(strata, counts):
    sizes = np.cumsum([len(own) for own in strata])[:-1]
    parts = zip(strata, np.split(counts, sizes), strict=True)
    return [np.repeat(own, drawn.astype(int)) for own, drawn in parts]


def pairs_won(first, second):
    shares = []
    for a, b in zip(first, second, strict=True):
        won = [1.0 if x > y else 0.5 if x == y else 0.0 for x, y in itertools.product(a, b)]
        shares.append(sum(won) / len(won))
    return sum(shares) / len(shares)


@settings(max_examples=40)
@given(SCORES, st.integers(0, 100))
def test_one_stratum_is_mann_and_whitneys_test(first, seed):
    a = first[0]
    b = np.random.default_rng(seed).integers(-8, 8, 5).astype(float)
    if len(np.unique(np.concatenate([a, b]))) == 1:
        assert same_scores([a], [b]) is None
        return
    test = stats.mannwhitneyu(a, b, use_continuity=False, method="asymptotic")
    assert same_scores([a], [b]) == pytest.approx(test.pvalue)
    assert improvement([a], [b]) == pytest.approx(test.statistic / (len(a) * len(b)))


def test_equal_rules_are_told_apart_as_often_as_chance_has_it():
    rng = np.random.default_rng(5)
    values = []
    for _ in range(2000):
        first, second = rng.normal(size=(2, 6, 3))
        values.append(same_scores(list(first), list(second)))
    assert np.mean(np.array(values, float) <= 0.05) == pytest.approx(0.05, abs=0.015)


def test_what_is_known_of_the_rules_is_found(found):
    assert found.tasks == ("Bend-v0", "Other-v0") and found.gap.left_out == 0
    assert found.gap.strata == found.violation.strata == 2 * len(LIMITS)
    gaps = {rule.rule: rule for rule in found.gap.rules}
    violations = {rule.rule: rule for rule in found.violation.rules}
    assert {rule.runs for rule in gaps.values()} == {2 * len(LIMITS) * SEEDS}
    for kind, (share, beside) in KINDS.items():
        assert gaps[kind].iqm.value == pytest.approx(beside, abs=0.12)
        expected = max(share - 1, 0.0)
        assert violations[kind].iqm.value == pytest.approx(expected, abs=0.02)
        assert violations[kind].profile.value[0] == (1.0 if share < 1 else 0.0)
        profile = np.array(violations[kind].profile.value)
        assert (np.diff(profile) >= 0).all() and (np.diff(gaps[kind].profile.value) <= 0).all()
    assert found.gap.better_than("ga", 0.05)[0] == "pid"
    assert found.violation.better_than("pid", 0.05) == ("crpo",)
    assert found.violation.better_than("crpo", 0.05) == ()
    assert "violation over 6 pairs of task and limit: " in found.violation.words
    json.dumps(plain_values(found), allow_nan=False)


def test_the_scores_are_those_of_a_loop_over_runs(analysed, found):
    part, other = analysed.tasks
    own = []
    for task in (part, other):
        span = max(task.frontier.return_.value) - min(task.frontier.return_.value)
        for seed in task.scatter:
            if seed.rule == "pid" and seed.limit is not None:
                at = np.interp(seed.cost, task.frontier.cost.value, task.frontier.return_.value)
                own.append((seed.return_ - at) / span)
    pid = next(rule for rule in found.gap.rules if rule.rule == "pid")
    assert pid.iqm.value == pytest.approx(stats.trim_mean(own, 0.25))
    profile = [np.mean([gap >= tau for gap in own]) for tau in found.gap.taus]
    assert pid.profile.value == pytest.approx(profile)


def test_only_where_every_rule_has_runs_are_rules_compared(known):
    runs, metrics = known
    missing = (pl.col("rule") == "crpo") & (pl.col("limit") == LIMITS[0])
    (one,) = aggregates(analyze(runs.filter(~missing | missing.is_null()), metrics))
    assert (one.gap.strata, one.gap.left_out) == (4, 2)
    assert one.gap.words.endswith("; 2 left out, where some rule has no score")
    only = (pl.col("rule") != "crpo") | (pl.col("limit") == LIMITS[0])
    alone = runs.filter(only, pl.col("task") == "Bend-v0")
    (one,) = aggregates(analyze(alone, metrics, Options(replicates=100)))
    assert one.gap.rules == () and "at fewer than two pairs" in one.gap.words


def test_one_limit_of_one_task_is_no_aggregate():
    runs, metrics = study_of(KINDS, LIMITS[:1])
    assert aggregates(analyze(runs, metrics, Options(replicates=100))) == []


def test_the_verb_shows_it(known, tmp_path, capsys):
    folder = str(store(tmp_path / "s", *known))
    assert main(["map", folder]) == 0
    said = capsys.readouterr().out
    assert "2 tasks, all limits" in said and "runs within limit" in said
    assert main(["map", folder, "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["aggregates"]
    assert one["gap"]["strata"] == 2 * len(LIMITS)


def test_the_table_and_the_figure_say_the_same(analysed, found):
    from saddle.report import figures_aggregates, style
    from saddle.report.tables.rules import over_all

    table = over_all(analysed)
    assert len(table.rows) == 2 * len(KINDS)
    assert table.numbers["iqm"].to_list() == [
        rule.iqm.value for score in (found.gap, found.violation) for rule in score.rules
    ]
    with style.styled():
        above, below = figures_aggregates.profiles(found).axes
    for axes, score in ((above, found.gap), (below, found.violation)):
        for line, rule in zip(axes.lines, score.rules, strict=True):
            np.testing.assert_allclose(
                np.asarray(line.get_ydata(), float), 100 * np.array(rule.profile.value)
            )
