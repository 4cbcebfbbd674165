"""The published marks, and the published table as input."""

import dataclasses

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from saddle.analysis import dials
from saddle.analysis.agreement import compare_with_published
from saddle.analysis.assemble import analyze
from saddle.analysis.bootstrap import draw_counts, replicate_means
from saddle.analysis.compare import MOST_NOTES, gap, improvement, looser_but_poorer, mark
from saddle.analysis.findings import Cell, Estimate, Violation
from saddle.analysis.frontier import Trace
from saddle.analysis.options import Options
from saddle.analysis.published import (
    comparison_limits,
    recommended_limits,
    steps_beside_published,
    table,
)
from saddle.analysis.simulate import BEND, LINE, Truth, simulate
from saddle.report import tables

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
    assert table().height == 8 * 2 * 3 and set(table()["task"]) == set(WINNERS)
    for task in WINNERS:
        assert set(table().filter(pl.col("task") == task)["limit"]) == set(comparison_limits(task))
        assert len(recommended_limits(task)) >= 2
    assert recommended_limits("Chess-v0") == comparison_limits("Chess-v0") == ()
    assert mark(table())["violated"].sum() == (table()["cost_mean"] > table()["limit"]).sum()


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12))
def test_improvement_is_mann_whitneys_u(seed, n, m):
    a, b = (
        np.random.default_rng(seed + i).integers(0, 6, size).astype(float)
        for i, size in ((0, n), (1, m))
    )
    found = improvement(a, b, 0.95)
    assert found.value == pytest.approx(scipy.stats.mannwhitneyu(a, b).statistic / (n * m))
    lo, value, hi = (float(end or 0) for end in (found.lo, found.value, found.hi))
    assert 0 <= lo <= value <= hi <= 1
    assert lo < hi  # even when every value of one exceeds the other's


def cell(limit, *returns, rule="fixed"):
    """A cell that returns (value, lo, hi)."""
    unknown = Estimate(None)
    return Cell(
        rule=rule,
        limit=limit,
        lambda_=None,
        seeds=3,
        return_=Estimate(*returns),
        return_sd=None,
        return_iqm=0.0,
        cost=Estimate(1.0),
        cost_sd=None,
        cost_iqm=1.0,
        violated=False,
        best=False,
        violation=Violation(limit, 0.0, 0.0),
        gap=unknown,
        gap_normalised=unknown,
        env_steps=1,
    )


def test_a_looser_limit_that_earns_less_is_told_with_both_intervals():
    (note,) = looser_but_poorer(
        [cell(25.0, 22.5, 4.6, 25.9), cell(10.0, 26.1, 20.0, 30.0), cell(40.0, 30.0, 29.0, 31.0)]
    )
    assert (
        "fixed returns 22.5 [4.6, 25.9] at limit 25, but 26.1 [20, 30] at the tighter limit 10."
        in note
    )
    assert "may be chance" in note
    (note,) = looser_but_poorer([cell(10.0, 26.1, 20.0, 30.0), cell(25.0, 2.5, 2.0, 3.0)])
    assert "intervals do not meet" in note


def test_returns_that_rise_with_the_limit_need_no_note():
    assert looser_but_poorer([cell(10.0, 1.0, 0.0, 2.0), cell(25.0, 3.0, 2.0, 4.0)]) == []
    assert looser_but_poorer([cell(10.0, 3.0, rule="ga"), cell(25.0, 1.0, rule="pid")]) == []


def test_many_such_limits_are_counted():
    cells = [cell(float(limit), 10.0 - limit) for limit in range(MOST_NOTES + 2)]
    notes = looser_but_poorer(cells)
    assert len(notes) == MOST_NOTES + 1 and "1 more pair of limits" in notes[-1]


def test_such_a_note_is_among_the_findings():
    runs, metrics = simulate([LINE], np.random.default_rng(0), seeds=3, epochs=40)
    loose = runs.filter((pl.col("limit") == runs["limit"].max()) & (pl.col("stage") != "sweep"))[
        "run"
    ]
    poor = (
        pl.when(pl.col("run").is_in(loose.implode()))
        .then(pl.col("return") - 1e6)
        .otherwise(pl.col("return"))
    )
    (part,) = analyze(
        runs, metrics.with_columns(poor.alias("return")), Options(replicates=100)
    ).tasks
    assert (
        sum("A looser limit forbids less" in note for note in part.notes) == 3
    )  # fixed, ga and pid


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([8_000_000], "The runs had 8.0e6 of the published 3.5e7 env steps (23 %)."),
        ([280_000, 280_000], "The runs had 2.8e5 of the published 3.5e7 env steps (0.8 %)."),
        (
            [280_000, 8_000_000],
            "The runs had 2.8e5 to 8.0e6 of the published 3.5e7 env steps (0.8 to 23 %).",
        ),
        ([35_000_000, 34_980_000], "The runs had all of the published 3.5e7 env steps."),
    ],
)
def test_steps_stand_beside_the_published_ones(steps, words):
    assert steps_beside_published(steps) == words


def test_one_cell_and_one_seed_are_singular_and_cells_know_their_steps():
    goal = Truth("SafetyPointGoal1-v0", LINE.cost, LINE.gain, (25.0,))
    runs, metrics = simulate([goal], np.random.default_rng(0), seeds=1, epochs=40)
    kept = runs.filter(pl.col("rule") == "ga")
    found = compare_with_published(analyze(kept, metrics, Options(replicates=100)))
    assert "1 cell has no p-value: one seed, or nothing varies." in found.notes
    assert found.overall is None
    assert any("only 1 seed:" in note for note in found.notes)
    assert (
        found.cells[0].env_steps == metrics["env_steps"].max()
        and found.cells[0].published_env_steps == 35_000_000
    )


def test_rules_in_a_stage_without_a_name_are_compared():
    """Such a stage is called "sweep", as a plan's first is; its rules are no sweep."""
    runs, metrics = simulate([LINE], np.random.default_rng(3), seeds=3)
    adaptive = pl.col("rule") != "fixed"
    called = pl.when(adaptive).then(pl.lit("sweep")).otherwise("stage").alias("stage")
    expected = analyze(runs, metrics, Options(replicates=100)).tasks[0]
    found = analyze(runs.with_columns(called), metrics, Options(replicates=100)).tasks[0]
    assert found.comparison == expected.comparison and len(found.comparison) > 0


def test_a_gap_keeps_the_side_of_the_cheap_seeds():
    frontier = Trace(np.array([2.0, 10.0, 100.0]), np.array([5.0, 20.0, 50.0]))
    returns = np.array([20.0, 21.0, 19.0])
    costs = np.array([7.3, 81.8, 1.9])
    options = Options(replicates=400)
    found = gap(returns, costs, frontier, [frontier] * 400, options)
    # By hand: replicate means, spread as the t-interval of three seeds is, none left out.
    counts = draw_counts(np.random.default_rng(options.seed + 1), 400, 3)
    means = replicate_means(np.stack([returns, costs]), counts, options.level)
    assert (means[:, 1] < 2.0).mean() > 0.2
    held = np.interp(np.maximum(means[:, 1], 2.0), frontier.cost, frontier.returns)
    low, high = np.quantile(means[:, 0] - held, [0.025, 0.975])
    assert found.value == pytest.approx(20.0 - np.interp(costs.mean(), *frontier))
    assert found.lo == pytest.approx(low, abs=0.5) and found.hi == pytest.approx(high, abs=0.5)
    assert high > 10


CIRCLE = Truth("SafetyPointCircle1-v0", BEND.cost, BEND.gain, (10.0, 25.0))


def test_lambda_0_may_stand_for_a_limit_that_does_not_bind():
    cheap = dataclasses.replace(CIRCLE, cost=lambda lam: 5 / (1 + lam))
    lambdas = np.array([0.0, 0.1, 0.3, 1.0, 3.0, 10.0])
    study = simulate([cheap], np.random.default_rng(0), seeds=3, lambdas=lambdas, compare=False)
    options = Options(replicates=100, limits=(10.0, 25.0), scale="linear", construction="published")
    found = compare_with_published(analyze(*study, options))
    assert [cell.lambda_ for cell in found.cells] == [0.0, 0.0]


def test_learners_are_named_and_settings_of_a_dial_stand_for_no_fixed_lambda():
    runs, metrics = simulate([CIRCLE], np.random.default_rng(0), seeds=3)
    renamed = pl.format("sac-{}", "run").alias("run")
    both = pl.concat([runs, runs.with_columns(renamed, algorithm=pl.lit("sac"))])
    findings = analyze(
        both, pl.concat([metrics, metrics.with_columns(renamed)]), Options(replicates=100)
    )
    alone = compare_with_published(dataclasses.replace(findings, tasks=findings.tasks[:1]))
    assert {alone.learner(cell) for cell in alone.cells} == {""}
    found = compare_with_published(findings)
    assert {found.learner(cell) for cell in found.cells} == {" (ppo)", " (sac)"}
    (table,) = [one for one in tables.tables(findings) if one.name == "agreement"]
    assert {row[0] for row in table.rows} == {"PointCircle1 (ppo)", "PointCircle1 (sac)"}
    first, second = findings.tasks
    dial = dataclasses.replace(second, notes=(*second.notes, dials.SEEN_IN_TRAINING))
    with_dial = compare_with_published(dataclasses.replace(findings, tasks=(first, dial)))
    rules = {(cell.algorithm, cell.rule) for cell in with_dial.cells}
    assert rules == {("ppo", "fixed"), ("ppo", "ga"), ("ppo", "pid"), ("sac", "ga"), ("sac", "pid")}
