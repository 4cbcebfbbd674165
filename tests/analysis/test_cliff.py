"""Frontiers over a cliff: the line goes through the means that were observed, and says where it
does not.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest

from saddle.analysis import Options, analyze
from saddle.analysis.simulate import CLIFF, LAMBDAS, LINE, Truth, simulate
from saddle.study.presets import QUICKSTART

FEW = np.array(QUICKSTART.stages[0].lambdas)
SPAN = np.ptp(CLIFF.returns(LAMBDAS))


def only(findings) -> Any:
    """The findings of the only task. Here profile and frontier are always there."""
    (part,) = findings.tasks
    return part


def found(truth, lambdas, seeds=10, number=0, options=None) -> Any:
    runs, metrics = simulate(
        [truth], np.random.default_rng(number), seeds, lambdas=lambdas, compare=False
    )
    return only(analyze(runs, metrics, options or Options(replicates=200)))


def line_at(part, costs):
    return np.interp(costs, part.frontier.grid, part.frontier.curve.value)


@pytest.mark.parametrize("lambdas", [FEW, LAMBDAS], ids=["quickstart", "published"])
def test_the_frontier_is_not_below_the_truth_at_a_cliff(lambdas):
    """Mean error over studies at the true cost of lambdas on the cliff. LOWESS was off by a fifth
    of the span.
    """
    on_cliff = CLIFF.cost(lambdas[(lambdas > 1.2) & (lambdas < 2.6)])
    off = [
        line_at(found(CLIFF, lambdas, number=i), on_cliff) - CLIFF.gain(on_cliff) for i in range(8)
    ]
    assert np.abs(np.mean(off, axis=0)).max() < 0.08 * SPAN


def test_no_mean_of_a_falling_sweep_lies_off_the_line():
    quiet = Truth(
        CLIFF.task, CLIFF.cost, CLIFF.gain, CLIFF.limits, cost_noise=0.02, return_noise=0.01
    )
    part = found(quiet, FEW)
    on_cliff = [group for group in part.groups if 1.2 < group.lambda_ < 5]
    costs, returns = (
        np.array([getattr(g, name).value for g in on_cliff]) for name in ("cost", "return_")
    )
    np.testing.assert_allclose(line_at(part, costs), returns, rtol=1e-6)


def test_the_frontier_is_not_the_best_of_many_noisy_means():
    """Over a truth that is nearly flat the highest of the means within a cost is far above it, the
    frontier is not.
    """
    flat = Truth(
        "Flat-v0", LINE.cost, lambda c: 100 + 0.1 * c, (40.0,), cost_noise=0.02, return_noise=1.0
    )
    true = float(flat.gain(np.array(40.0)))
    parts = [found(flat, LAMBDAS, seeds=3, number=i) for i in range(12)]
    line = np.mean([line_at(part, 40.0) for part in parts]) - true
    best = (
        np.mean([max(g.return_.value for g in part.groups if g.cost.value <= 40) for part in parts])
        - true
    )
    assert best > 1.0 and abs(line) < best / 2


def test_the_profile_is_what_lambda_star_is_read_from():
    part = found(CLIFF, FEW, options=Options(limits=CLIFF.limits, replicates=100))
    for limit in part.limits:
        cost = np.interp(
            np.log(limit.lambda_.value), np.log(part.profile.lambda_), part.profile.cost.value
        )
        assert cost == pytest.approx(limit.limit, rel=1e-3)
        assert limit.crossings == pytest.approx([limit.lambda_.value])


def with_means(costs, returns, scatter=0.01, seeds=3, lambdas=FEW):
    """A study whose groups have these means, to a scatter."""
    runs, metrics = simulate(
        [CLIFF], np.random.default_rng(0), seeds, lambdas=lambdas, compare=False
    )
    place = runs["lambda"].rank("dense").to_numpy() - 1
    off = scatter * (runs["seed"].to_numpy() - (seeds - 1) / 2)
    own = {
        "run": runs["run"],
        "cost": np.array(costs)[place] + off,
        "return": np.array(returns)[place] + off,
    }
    columns = [pl.col(name).cast(pl.Float32) for name in ("cost", "return")]
    return runs, metrics.drop("cost", "return").join(
        pl.DataFrame(own).with_columns(columns), on="run"
    )


RETURNS = [50.0, 48.0, 46.0, 40.0, 34.0, 20.0, 3.0]
COSTS = [190.0, 150.0, 120.0, 70.0, 30.0, 10.0, 2.0]


def test_rises_are_told_between_lambdas_that_were_run():
    """Return rises from lambda 0.1 to 0.5, clearly; cost falls throughout. Nothing is said of
    places between.
    """
    part = only(analyze(*with_means(COSTS, [30.0, 48.0, *RETURNS[2:]]), Options(replicates=100)))
    (rise,) = part.profile.rises
    assert (rise.quantity, rise.lambda_from, rise.lambda_to, rise.clear) == (
        "return",
        0.1,
        0.5,
        True,
    )
    assert rise.rise.value == pytest.approx(18.0, rel=1e-5)


@pytest.mark.parametrize("number", range(6))
def test_every_rise_of_a_noisy_sweep_is_between_lambdas_that_were_run(number):
    part = found(CLIFF, FEW, seeds=3, number=number)
    swept = {group.lambda_: group for group in part.groups}
    for rise in part.profile.rises:
        name = "cost" if rise.quantity == "cost" else "return_"
        first, last = (
            getattr(swept[lam], name).value for lam in (rise.lambda_from, rise.lambda_to)
        )
        assert rise.rise.value == pytest.approx(last - first)


def test_a_clear_rise_stays_and_the_rest_falls():
    """Costs that clearly rise at the last lambda: the profile does too, and its lowest cost is the
    lambda before.
    """
    costs = [*COSTS[:5], 1.0, 40.0]
    part = only(analyze(*with_means(costs, RETURNS), Options(replicates=100)))
    assert [(rise.quantity, rise.lambda_to, rise.clear) for rise in part.profile.rises] == [
        ("cost", 10.0, True)
    ]
    assert part.profile.cost.value[-1] == pytest.approx(40.0) and min(
        part.profile.cost.value
    ) == pytest.approx(1.0)


def above(part):
    """Notes on means above the line."""
    return [note for note in part.notes if "above the frontier" in note]


def test_a_mean_above_the_line_is_explained():
    """The return at lambda 2 is above that at 1.4 by more than the noise, though smoothed it falls
    there.
    """
    bumped = with_means(COSTS, [50.0, 48.0, 46.0, 40.0, 42.0, 20.0, 3.0])
    part = only(analyze(*bumped, Options(replicates=100)))
    (note,) = above(part)
    assert note.startswith("Lambda 2: its mean lies") and "pooled" in note
    smooth = only(analyze(*bumped, Options.published(replicates=100)))
    assert any("smoothing" in note for note in above(smooth))
    fallen = only(analyze(*with_means(COSTS, RETURNS), Options(replicates=100)))
    assert above(fallen) == []


def test_a_mean_cheaper_than_the_line_is_explained():
    """Costs at lambda 3 are below those at 10 by more than the noise, though smoothed they fall
    there.
    """
    lambdas = np.concatenate([FEW[:-1], [3.5, 4.2, 5.0, 10.0]])
    costs = [190.0, 150.0, 120.0, 70.0, 30.0, 1.0, 8.0, 7.0, 6.0, 5.0]
    returns = [50.0, 48.0, 46.0, 40.0, 34.0, 20.0, 19.0, 18.0, 17.0, 3.0]
    part = only(analyze(*with_means(costs, returns, lambdas=lambdas), Options(replicates=100)))
    assert not any(rise.clear for rise in part.profile.rises) and min(part.frontier.grid) > 1.0
    (note,) = above(part)
    assert note.startswith("Lambda 3: its mean lies")
