"""Recommended limits keep to what costs can resolve."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.analysis import Options, analyze
from saddle.analysis.resolution import standard_error, unit_of, unit_of_limits, whole_costs
from saddle.analysis.restrictiveness import round_limit
from saddle.analysis.simulate import Truth, simulate

EPISODES = 20
# Most of the return is had below a cost of 1: the middle of the steep stretch is less than one
# step.
RARE = Truth(
    task="Rare-v0",
    cost=lambda lam: 40 / (1 + lam**3),
    gain=lambda c: 10 * (1 - np.exp(-c / 0.3)) + 0.02 * c,
    limits=(1.0,),
    cost_noise=0.02,
    return_noise=0.01,
)


def table(costs, episodes):
    """Metrics of one run."""
    columns = {"run": ["a"] * len(costs), "cost": pl.Series(costs, dtype=pl.Float32)}
    return pl.DataFrame(columns | {"episodes": pl.Series(episodes, dtype=pl.Int32)}).lazy()


def unit(costs, episodes):
    return unit_of(whole_costs(table(costs, episodes), "cost"))


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 2000)), min_size=1))
def test_means_of_counted_costs_are_seen_as_such(rows):
    means = [np.float32(total / episodes) for total, episodes in rows]
    counted = unit(means, [episodes for _, episodes in rows])
    judged = any(0 < total < 5e5 for total, _ in rows)
    assert counted == 1.0 or not judged


def test_other_costs_have_no_unit():
    rng = np.random.default_rng(0)
    costs = rng.uniform(0, 30, 50)
    assert unit(costs, [EPISODES] * 50) == 0 and unit(costs, [None] * 50) == 0
    assert unit([0.0, 0.0], [EPISODES] * 2) == 0  # says nothing
    assert unit([0.5, 1.0], [EPISODES] * 2) == 1 and unit([0.513, 1.0], [EPISODES] * 2) == 0


def test_imported_means_of_counted_costs_are_seen_though_the_number_of_episodes_is_not_known():
    assert unit([0.4, 0.04, 0.82, 0.0, 36.0], [None] * 5) == 1
    without = table([0.4, 0.82], [None] * 2).drop("episodes")
    assert unit_of(whole_costs(without, "cost")) == 1


def analysed(unit_cost):
    """A study of RARE whose costs are counted in units, or not at all (0), and its recommended
    limits.
    """
    runs, metrics = simulate([RARE], np.random.default_rng(0), 3, epochs=40, compare=False)
    if unit_cost:
        totals = (pl.col("cost") * EPISODES / unit_cost).round() * unit_cost
        metrics = metrics.with_columns((totals / EPISODES).cast(pl.Float32).alias("cost"))
    (part,) = analyze(runs, metrics, Options(replicates=100)).tasks
    assert part.regimes[0].kind == "restrictive"
    return part


def test_counted_costs_get_no_limit_below_one():
    fine, counted = analysed(0), analysed(1)
    assert fine.recommended[0].limit < 1
    limits = [advice.limit for advice in counted.recommended]
    assert min(limits) >= 1 and all(limit == round(limit) for limit in limits)
    assert all(
        advice.kind in {regime.kind for regime in counted.regimes} for advice in counted.recommended
    )


def test_a_limit_is_not_below_the_noise_of_the_costs_around_it():
    wide = Truth(RARE.task, RARE.cost, RARE.gain, RARE.limits, cost_noise=1.2, return_noise=0.01)
    runs, metrics = simulate([wide], np.random.default_rng(1), 3, compare=False)
    (part,) = analyze(runs, metrics, Options(replicates=100)).tasks
    for advice in part.recommended:
        regime = next(regime for regime in part.regimes if regime.reason == advice.reason)
        inside = [g for g in part.groups if regime.lambda_to <= g.lambda_ <= regime.lambda_from]
        noise = np.sqrt(np.mean([(g.cost_sd or 0.0) ** 2 / g.seeds for g in inside]))
        assert advice.limit >= 0.99 * noise


def of_whole_costs(factor):
    """A study of RARE with costs times this factor, counted over many episodes."""
    runs, metrics = simulate([RARE], np.random.default_rng(0), 3, epochs=40, compare=False)
    episodes = 10_000
    totals = (pl.col("cost") * factor * episodes).round()
    metrics = metrics.with_columns(
        (totals / episodes).alias("cost"), pl.lit(episodes).alias("episodes")
    )
    (part,) = analyze(runs, metrics, Options(replicates=100)).tasks
    return part


def test_chances_get_limits_below_one():
    """Costs of 0 or 1 an episode: a limit of 0.01 is one episode of a hundred."""
    part = of_whole_costs(1 / 50)
    assert part.regimes and len(part.recommended) == len(part.regimes)
    assert all(0 < advice.limit < 1 for advice in part.recommended)
    assert not any("No limit is recommended" in note for note in part.notes)


def test_a_frontier_of_few_units_has_no_unit():
    assert unit_of_limits(1.0, 1.0) == 0 and unit_of_limits(1.0, 40.0) == 1
    assert unit_of_limits(0.0, 0.0) == 0


def test_noise_is_told_as_the_reason_where_it_leaves_no_limit():
    noisy = Truth(RARE.task, RARE.cost, RARE.gain, RARE.limits, cost_noise=8.0, return_noise=0.01)
    runs, metrics = simulate([noisy], np.random.default_rng(1), 3, epochs=40, compare=False)
    (part,) = analyze(runs, metrics, Options(replicates=100)).tasks
    notes = [note for note in part.notes if "No limit is recommended" in note]
    assert notes and all("have a standard error of" in note for note in notes)


def test_a_stretch_too_low_for_any_limit_is_said():
    part = of_whole_costs(1 / 8)
    below = [regime for regime in part.regimes if regime.cost_to < 1]
    assert below and len(part.recommended) == len(part.regimes) - len(below)
    notes = [note for note in part.notes if "No limit is recommended" in note]
    assert len(notes) == len(below)
    for note, regime in zip(notes, below, strict=True):
        assert f"where the frontier is {regime.kind}: costs are counted" in note


@given(
    st.floats(0.01, 1e4), st.floats(0.01, 1e4), st.floats(0, 1), st.sampled_from([0.5, 1.0, 5.0])
)
def test_rounded_limits_are_multiples_of_the_unit(a, b, weight, unit_cost):
    low, high = sorted((a, b))
    limit = round_limit(low + weight * (high - low), low, high, unit_cost)
    if limit is None:
        assert np.floor(high / unit_cost) < max(np.ceil(low / unit_cost), 1)
    else:
        assert (
            limit % unit_cost == pytest.approx(0, abs=1e-9) and low <= limit <= high and limit > 0
        )


def test_standard_error_is_of_a_mean():
    costs = np.random.default_rng(0).normal(5, 3, size=(4000, 9))
    assert standard_error(costs) == pytest.approx(1.0, rel=0.02)
    assert standard_error(np.array([[1.0, np.nan], [2.0, np.nan]])) == 0
