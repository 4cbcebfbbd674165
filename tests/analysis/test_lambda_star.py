"""lambda* by each method, and what stands for it where a limit is not reached."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from statsmodels.nonparametric.smoothers_lowess import lowess

from saddle.analysis import Options, analyze
from saddle.analysis.geometry import geometry
from saddle.analysis.limits import crossing, train_at
from saddle.analysis.profile import Sweep
from saddle.analysis.simulate import row_of
from saddle.analysis.simulate_several import TwoCosts, simulate_two
from saddle.analysis.summary import final_values
from saddle.study import open_study
from saddle.study.columns import metrics_frame, runs_frame
from saddle.study.dependent import lambda_stars

RESULTS = Path(__file__).parents[2] / "results"
LIMITS = ((10.0,), (25.0,))


def swept(name):
    """The sweep of a study that ships, and its metrics."""
    study = open_study(RESULTS / name)
    return study.runs.filter(stage="sweep"), study.scan_metrics()


def number(star):
    """A multiplier of one constraint."""
    assert isinstance(star.value, float)
    return star.value


def test_the_published_lambda_star_of_a_shipped_study():
    """By Saddle, and by statsmodels' LOWESS with lines over log lambda between its points."""
    runs, metrics = swept("circle1")
    stars = lambda_stars(runs, metrics, LIMITS, "published")
    found = {limit: number(star) for limit, star in stars.items()}
    assert found[25.0,] == pytest.approx(0.987, abs=5e-4)
    assert found[10.0,] == pytest.approx(1.383, abs=5e-4)
    assert [star.instead for star in stars.values()] == ["", ""]
    finals = final_values(runs, metrics, Options()).frame
    means = finals.group_by("lambda").agg(pl.col("cost").mean()).sort("lambda")
    lambdas, costs = means["lambda"].to_numpy(), means["cost"].to_numpy()
    smooth = lowess(costs, lambdas, frac=0.5, it=0, return_sorted=False)
    for (limit,), value in found.items():
        expected = np.exp(np.interp(-limit, -smooth, np.log(lambdas)))
        assert value == pytest.approx(expected, rel=1e-3)


def test_a_limit_that_is_not_reached_takes_the_nearest_setting_or_as_published_the_end():
    """On Goal1 costs of 8e6 steps rise again beyond lambda 7, so nothing keeps 10 for sure."""
    runs, metrics = swept("goal1")
    star = lambda_stars(runs, metrics, ((10.0,),))[10.0,]
    assert number(star) == pytest.approx(5.623, abs=1e-3)
    assert "not reachable" in star.instead
    assert "its nearest setting is lambda 5.62, with a mean cost of 12.7" in star.instead
    published = lambda_stars(runs, metrics, ((10.0,),), "published")[10.0,]
    assert number(published) == 10.0 and "the sweep ends at lambda 10" in published.instead


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ((69.44, 25.0), ""),
        ((40.0, 30.0), "second: does not bind: .*; the fixed lambdas are 1.19 and 0.2"),
        ((60.0, 0.5), "both: .*; second: not reachable: .*; the fixed lambdas are 2 and 2"),
    ],
)
def test_what_is_trained_for_limits_of_two_constraints_is_said(limits, said):
    """Where one of them is not reached, or does not bind."""
    axes = [np.geomspace(0.2, 2, 4)] * 2
    runs, metrics = simulate_two(TwoCosts(noise=0.01), np.random.default_rng(0), axes, seeds=2)
    star = lambda_stars(runs, metrics.lazy(), (limits,))[limits]
    assert re.fullmatch(said, star.instead)


def test_what_is_trained_is_what_the_analysis_says():
    """Whether costs clearly rise from lambda 1 to 2 is a close call of the bootstrap, and where
    they fall to 25 follows from it.
    """
    lambdas = (0.1, 0.5, 1.0, 1.4, 2.0, 3.0, 10.0)
    costs = np.array(
        [
            [69, 79, 77],
            [26, 32, 35],
            [21, 18, 22],
            [26, 28, 29],
            [37, 38, 52],
            [26, 20, 35],
            [4, 5, 3],
        ]
    )
    rows = [
        row_of("Hill-v0", "sweep", "fixed", lam, None, seed) for lam in lambdas for seed in range(3)
    ]
    runs = runs_frame([{**row, "run": f"r{i:02d}"} for i, row in enumerate(rows)])
    logged = {
        "env_steps": np.full(costs.size, 1000),
        "episodes": np.full(costs.size, 20),
        "cost": costs.ravel(),
        "return": 5 * np.sqrt(costs.ravel()),
    }
    metrics = metrics_frame(runs["run"].to_list(), 0, [logged]).lazy()
    star = lambda_stars(runs, metrics, ((25.0,),))[25.0,]
    (part,) = analyze(runs, metrics, Options(limits=(25.0,))).tasks
    assert number(star) == part.limits[0].train_at


@given(
    st.lists(st.floats(0, 100), min_size=5, max_size=9),
    st.floats(0, 120),
    st.sampled_from(["profile", "published"]),
)
@example([50.0, 100.0, 100.0, 1.0, 0.0], 0.0, "profile")  # at the sweep's end, but for rounding
@settings(max_examples=40, deadline=None)
def test_what_is_trained_at_lies_in_the_sweep(costs, limit, method):
    """lambda* lies between two settings; what stands for it is a setting: none is nearer."""
    lambdas = np.geomspace(0.1, 10, len(costs))
    column = np.array(costs)[:, None]
    options = Options.by_method(method, replicates=100)
    geo = geometry(Sweep(lambdas, np.arange(1), -column, column), options)
    found = crossing(geo, limit)
    at = train_at(geo, found, limit)
    assert lambdas[0] <= at <= lambdas[-1]
    if found.status != "reached":
        (place,) = np.flatnonzero(lambdas == at)
        if found.status == "always below":
            assert place == 0
        elif method == "published":
            assert place == len(costs) - 1
        else:
            assert abs(costs[place] - limit) == np.abs(column - limit).min()
