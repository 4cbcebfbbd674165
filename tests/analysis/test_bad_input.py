"""Studies that show little: each says what can and cannot be concluded, and nothing is invented."""

import json

import numpy as np
import polars as pl
import pytest

from saddle.analysis import Options, analyze
from saddle.analysis.agreement import compare_with_published
from saddle.analysis.simulate import BEND, LINE, simulate
from saddle.errors import SaddleError
from saddle.report.curves import training_curves
from saddle.report.write import write_all

FEW = Options(replicates=100)


def made(seeds=3, epochs=20, **kwargs):
    return simulate([BEND], np.random.default_rng(0), seeds=seeds, epochs=epochs, **kwargs)


def only(findings):
    json.loads(findings.to_json())
    (part,) = findings.tasks
    return part


def said(notes, words):
    assert any(words in note for note in notes), notes


def test_without_a_sweep_only_the_comparison_is_left():
    runs, metrics = made()
    part = only(analyze(runs.filter(pl.col("stage") == "compare"), metrics, FEW))
    said(part.notes, "no sweep")
    assert (
        part.profile is part.frontier is part.slope is None
        and part.regimes == part.recommended == ()
    )
    assert all(limit.lambda_.value is None and limit.status is None for limit in part.limits)
    assert len(part.comparison) == 6 and all(cell.gap.value is None for cell in part.comparison)


def test_one_lambda_is_no_sweep():
    part = only(analyze(*made(lambdas=np.array([1.0])), FEW))
    said(part.notes, "only one fixed lambda")
    assert part.profile is None and len(part.groups) == 1


def test_three_lambdas_are_joined_by_lines():
    part = only(analyze(*made(lambdas=np.array([0.1, 1.0, 10.0])), FEW))
    said(part.notes, "only 3 lambdas")
    means = [group.cost.value for group in part.groups]
    assert part.profile and [part.profile.cost.value[i] for i in (0, 50, 100)] == pytest.approx(
        means
    )


def test_one_seed_has_no_intervals():
    part = only(analyze(*made(seeds=1), FEW))
    said(part.notes, "one seed")
    assert part.profile is not None and set(part.profile.cost.lo) == {None}
    assert part.frontier is not None and part.frontier.hypervolume.lo is None
    assert part.regimes == () and part.recommended == ()
    for limit in part.limits:
        assert limit.lambda_.value is not None and limit.lambda_.lo is limit.lambda_.hi is None
        assert limit.violation_share.value is None and limit.margins[0].training_limit.value is None
    assert all(group.cost_sd is None and group.cost.lo is None for group in part.groups)
    assert all(cell.gap.lo is None for cell in part.comparison)


def test_all_costs_zero_means_no_limit_binds():
    runs, metrics = made()
    part = only(analyze(runs, metrics.with_columns(cost=pl.lit(0.0, pl.Float32)), FEW))
    said(part.notes, "Every final cost of the sweep is 0")
    said(part.notes, "spans no cost")
    assert part.slope is None and part.regimes == ()
    assert all(
        limit.status == "always below" and limit.violation_share.value == 0 for limit in part.limits
    )


def test_constant_return_has_no_slope():
    runs, metrics = made()
    part = only(analyze(runs, metrics.with_columns(pl.lit(7.0, pl.Float32).alias("return")), FEW))
    said(part.notes, "spans no cost or no return")
    assert part.slope is None and part.frontier and len(part.frontier.lambda_) == 1


def test_members_that_are_nan_are_left_out_and_counted():
    runs, metrics = made()
    dead = runs["run"][:4]
    broken = metrics.with_columns(
        pl.when(pl.col("run").is_in(dead.implode()))
        .then(float("nan"))
        .otherwise(pl.col("cost"))
        .alias("cost")
    )
    found = analyze(runs, broken, FEW)
    said(found.notes, "4 runs have no finite return or cost")
    assert found.runs.without_values == 4 and found.runs.used == runs.height - 4
    part = only(found)
    assert dead[0] not in {seed.run for seed in part.scatter}
    said(part.notes, "seeds")


def test_epochs_without_episodes_do_not_spoil_a_run():
    runs, metrics = made(epochs=100)
    gappy = metrics.with_columns(
        pl.when(pl.col("epoch") == 98).then(float("nan")).otherwise(pl.col("cost")).alias("cost")
    )
    found = analyze(runs, gappy, FEW)
    assert found.runs.without_values == 0 and found.notes == ()


def test_missing_epochs_are_told():
    runs, metrics = made(epochs=100)
    found = analyze(runs, metrics.filter(pl.col("epoch") != 97), FEW)
    said(found.notes, f"{runs.height} runs lack epochs")
    short = analyze(runs, metrics.filter(pl.col("epoch") < 50), FEW)
    said(short.notes, "end before their planned number of env steps")


def test_failed_and_unfinished_runs_do_not_count():
    runs, metrics = made()
    states = ["failed"] * 3 + ["running"] * 2 + ["planned"] + ["done"] * (runs.height - 6)
    found = analyze(runs.with_columns(status=pl.Series(states)), metrics, FEW)
    assert (found.runs.failed, found.runs.unfinished, found.runs.used) == (3, 3, runs.height - 6)
    said(found.notes, f"3 of {runs.height} runs failed")
    partial = analyze(
        runs.with_columns(status=pl.Series(states)),
        metrics,
        Options(replicates=100, unfinished=True),
    )
    assert partial.runs.used == runs.height - 3


def test_nothing_finished_concludes_nothing(tmp_path):
    runs, metrics = made()
    found = analyze(runs.with_columns(status=pl.lit("running")), metrics, FEW)
    said(found.notes, "nothing can be concluded")
    assert found.tasks == ()
    assert write_all(found, training_curves(runs.clear(), metrics), tmp_path) == []


def test_an_empty_study(tmp_path):
    runs, metrics = (frame.clear() for frame in made())
    found = analyze(runs, metrics, FEW)
    assert found.runs.total == 0 and found.tasks == ()
    assert write_all(found, training_curves(runs, metrics), tmp_path) == []


def test_mixed_tasks_stay_apart():
    runs, metrics = simulate([BEND, LINE], np.random.default_rng(0), seeds=2)
    found = analyze(runs, metrics, Options(limits=(100.0,), replicates=100))
    by_task = {part.task: part.limits[0] for part in found.tasks}
    assert by_task[BEND.task].status == "reached" and by_task[LINE.task].status == "always below"


def test_mixed_lengths_are_told():
    runs, metrics = made()
    steps = pl.when(pl.col("seed") == 0).then(10).otherwise(pl.col("steps")).alias("steps")
    said(only(analyze(runs.with_columns(steps), metrics, FEW)).notes, "env steps are mixed")


def test_lambda_zero_stays_out_of_the_log_profile():
    lambdas = np.concatenate([[1e-9], np.logspace(-1, 1, 9)])
    runs, metrics = made(lambdas=lambdas)
    runs = runs.with_columns(
        pl.when(pl.col("lambda") < 1e-6).then(0.0).otherwise(pl.col("lambda")).alias("lambda")
    )
    part = only(analyze(runs, metrics, FEW))
    said(part.notes, "Lambda 0 has no logarithm")
    assert (
        part.groups[0].lambda_ == 0
        and part.profile
        and part.profile.lambda_[0] == pytest.approx(0.1)
    )


def test_settings_of_a_rule_are_told_apart():
    runs, metrics = made(seeds=2)
    gain = pl.when(pl.col("seed") == 0).then(pl.lit("0.1")).otherwise(pl.lit("0.2"))
    params = pl.concat_str(pl.lit('{"rule": {"kp": '), gain, pl.lit(', "init": 1.0}}'))
    part = only(analyze(runs.with_columns(params.alias("params")), metrics, FEW))
    assert {cell.rule for cell in part.comparison} == {
        "fixed",
        "ga kp=0.1",
        "ga kp=0.2",
        "pid kp=0.1",
        "pid kp=0.2",
    }


def test_no_cell_in_common_with_the_published_table():
    comparison = compare_with_published(analyze(*made(), FEW))
    assert comparison.cells == () and "no cell" in comparison.notes[0]
    json.loads(comparison.to_json())


def test_tables_without_their_columns_are_refused():
    runs, metrics = made()
    with pytest.raises(SaddleError, match="runs table lacks stage"):
        analyze(runs.drop("stage"), metrics)
    with pytest.raises(SaddleError, match="metrics table lacks cost"):
        analyze(runs, metrics.drop("cost"))
    with pytest.raises(SaddleError, match="no constraint 1 here"):
        analyze(runs.with_columns(limit_1=pl.lit(1.0)), metrics, Options(constraint=1))


@pytest.mark.parametrize(
    "bad",
    [
        {"frac": 0.0},
        {"final_share": 2.0},
        {"level": 1.0},
        {"replicates": 3},
        {"limits": (-1.0,)},
        {"grid": 2},
    ],
)
def test_options_that_make_no_sense_are_refused(bad):
    with pytest.raises(SaddleError):
        Options(**bad)


def test_costs_near_zero_are_never_estimated_below_it():
    runs, metrics = made(seeds=4)
    rare = pl.when(pl.col("cost") > 60).then(pl.col("cost")).otherwise(0.0).alias("cost")
    part = only(analyze(runs, metrics.with_columns(rare), FEW))
    assert part.profile and part.frontier
    for curve in (
        part.profile.cost.value,
        part.profile.cost.lo,
        [group.cost.lo for group in part.groups],
    ):
        assert np.min(np.array(curve, float)) == 0
    assert min(part.frontier.grid) >= 0
