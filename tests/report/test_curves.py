"""Training curves: whose runs they are of, and how they are shortened."""

import numpy as np
import polars as pl

from saddle.analysis.simulate import BEND, LINE, simulate
from saddle.report.curves import POINTS, training_curves


def test_runs_that_are_not_done_are_left_out_unless_they_are_asked_for():
    runs, metrics = simulate([LINE], np.random.default_rng(0), seeds=3, epochs=20)
    chosen = runs.filter(rule="pid", limit=LINE.limits[0]).sort("seed")
    stopped = chosen["run"][0]
    is_stopped = pl.col("run") == stopped
    own = metrics.filter(~is_stopped | (pl.col("epoch") < 10))
    status = pl.when(is_stopped).then(pl.lit("running")).otherwise("status")
    runs = chosen.with_columns(status=status)
    done = training_curves(runs, own)
    assert done.equals(training_curves(runs.filter(~is_stopped), own))
    every = training_curves(runs, own, unfinished=True)
    assert every["return_mean"][0] != done["return_mean"][0]
    assert every["return_mean"][-1] == done["return_mean"][-1]
    assert training_curves(
        runs.with_columns(status=pl.lit("failed")), own, unfinished=True
    ).is_empty()


def test_a_short_study_keeps_its_epochs_beside_a_long_one():
    long_runs, long = simulate([BEND], np.random.default_rng(0), seeds=2, epochs=2 * POINTS)
    runs, short = simulate([LINE], np.random.default_rng(0), seeds=2, epochs=20)
    named = pl.format("short-{}", "run").alias("run")
    every = pl.concat([long_runs, runs.with_columns(named)])
    curves = training_curves(every, pl.concat([long, short.with_columns(named)]))
    points = dict(curves.group_by("task").agg(pl.col("bin").n_unique()).iter_rows())
    assert points == {BEND.task: POINTS, LINE.task: 20}
