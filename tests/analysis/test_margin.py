"""Limits to train at: shares of seeds that are exact, and ends that lie beyond the sweep."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from saddle.analysis import Options, analyze
from saddle.analysis.simulate import BEND, row_of, simulate
from saddle.study.columns import RUNS

LIMIT = 20.0
LAMBDAS = np.geomspace(0.1, 10, 7)
MEANS = np.array([60, 40, 20, 15, 12, 8, 4.0])
OF_SEEDS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.9])
"""Costs as shares of the mean: where that is from 10.5 to 15.4, one seed of ten is above LIMIT."""


def level(costs):
    """Runs and metrics whose costs [lambdas, seeds] stay as they are, and returns 10 above."""
    rows = []
    for lam in LAMBDAS:
        for seed in range(costs.shape[1]):
            rows.append(row_of("Level-v0", "sweep", "fixed", float(lam), None, seed))
    runs = pl.DataFrame(rows, schema=RUNS).with_columns(
        run=pl.format("r{}", pl.int_range(pl.len())), steps=pl.lit(40_000)
    )
    ends = runs.select("run", "lambda").with_columns(
        pl.Series("cost", costs.ravel()),
        window_cost=costs.ravel(),
        window_return=10 + costs.ravel(),
    )
    ends = ends.with_columns(pl.col("window_return").alias("return"), episodes=20)
    epochs = pl.DataFrame({"epoch": [0, 1], "env_steps": [20_000, 40_000]})
    return runs, ends.join(epochs, how="cross")


def margin(study, limit, share=0.9):
    """Limit to train at and lambda, for a fixed lambda."""
    runs, metrics = study
    options = Options(limits=(limit,), replicates=200, satisfied_share=share)
    (part,) = analyze(runs, metrics, options).tasks
    (finding,) = part.limits
    found = finding.margins[0]
    assert found.lambda_ is not None
    return found.training_limit, found.lambda_


def test_one_seed_of_ten_is_the_tenth_that_may_be_above():
    study = level(MEANS[:, None] * OF_SEEDS / OF_SEEDS.mean())
    exact, exact_lambda = margin(study, LIMIT, 0.9)
    less, less_lambda = margin(study, LIMIT, 0.9 - 1e-6)
    assert exact.value == pytest.approx(less.value, rel=1e-3)
    assert exact_lambda.value == pytest.approx(less_lambda.value, rel=1e-3)
    stricter, _ = margin(study, LIMIT, 0.9 + 1e-6)
    assert (stricter.value or 0.0) < 0.9 * (exact.value or 0.0)


def test_an_interval_whose_replicates_leave_the_sweep_is_open_there():
    truth = dataclasses.replace(BEND, cost_noise=0.6)
    lambdas = np.geomspace(0.1, 5, 9)
    rng = np.random.default_rng(2)
    study = simulate([truth], rng, seeds=5, lambdas=lambdas, compare=False)
    training_limit, lam = margin(study, 8.0)
    assert training_limit.value is not None
    assert lam.hi is None
    assert training_limit.lo is None
    assert training_limit.hi is not None
