"""Studies of tasks with several constraints: views of each at the others' limits, and lambda* of
all together beside a known truth.
"""

import dataclasses
import itertools
import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import root
from scipy.stats import binom

from saddle.analysis import Options, analyze
from saddle.analysis.constraints import choose, limit_sets, note, views
from saddle.analysis.findings import Constraint, OtherConstraint
from saddle.analysis.joint import joint_lambda
from saddle.analysis.several import Several
from saddle.analysis.show import show
from saddle.analysis.simulate import BEND, LINE, simulate
from saddle.analysis.simulate_several import TwoCosts, simulate_two
from saddle.analysis.surface import value_at
from saddle.analysis.violating import NEAR, share_interval, violating_any
from saddle.errors import SaddleError

LAMBDAS = np.geomspace(0.05, 5, 7)
BOTH, SLACK_SECOND, SLACK_FIRST = (69.44, 25.0), (40.0, 30.0), (150.0, 25.0)
TRUTH = TwoCosts(noise=0.02)


@pytest.fixture(scope="module")
def study():
    """A grid of lambdas, and gradient ascent at three pairs of limits."""
    limits = [BOTH, SLACK_SECOND, SLACK_FIRST]
    return simulate_two(TRUTH, np.random.default_rng(0), [LAMBDAS, LAMBDAS], limits, seeds=4)


@pytest.fixture(scope="module")
def findings(study):
    return analysed(study, replicates=200)


def analysed(study, **options):
    runs, metrics = study
    return analyze(runs, metrics, Options(**{"replicates": 100, **options}))


def joint_at(findings, limits):
    for found in findings.joint:
        if tuple(share.limit for share in found.multipliers) == limits:
            return found
    raise AssertionError(f"nothing at {limits}")


@pytest.mark.parametrize("limits", [BOTH, SLACK_SECOND, SLACK_FIRST])
def test_joint_lambda_star_is_the_truths(findings, limits):
    """Also where a limit does not bind: its multiplier is then at the bottom of the grid."""
    found = joint_at(findings, limits)
    for share, star in zip(found.multipliers, TRUTH.lambda_star(limits), strict=True):
        if star == 0:
            assert share.status == "always below" and share.lambda_.value is None
            assert share.binds is False
            assert share.train_at == pytest.approx(LAMBDAS[0]) and share.binds_share == 0
            assert share.cost.value < share.limit
        else:
            assert share.status == "reached" and share.binds_share == 1
            assert share.lambda_.value == pytest.approx(star, rel=0.12)
            assert share.cost.value == pytest.approx(share.limit, rel=0.05)
    expected = TRUTH.returns(np.array(TRUTH.lambda_star(limits)))
    assert found.return_.value == pytest.approx(expected, abs=3)


def test_intervals_of_the_joint_lambda_star_hold_it_as_often_as_they_say():
    """On a grid that resolves the truth: of 2 x 20 intervals of 95 %, at most 6 may miss (the
    chance of more is below 1 %).
    """
    truth, missed = TwoCosts(noise=0.15), 0
    lambdas = np.geomspace(0.1, 2.5, 9)
    for number in range(20):
        rng = np.random.default_rng(number)
        tables = simulate_two(truth, rng, [lambdas, lambdas], seeds=5, epochs=2)
        (found,) = analysed(tables, limits=(BOTH,), seed=number).joint
        for share, star in zip(found.multipliers, truth.lambda_star(BOTH), strict=True):
            low, high = share.lambda_.lo or 0.0, share.lambda_.hi or math.inf
            missed += not low <= star <= high
    assert missed <= 6


def test_a_constraint_has_its_frontier_at_the_others_limit(findings):
    """Return against the first cost, while the second keeps 25."""
    (part,) = [
        part
        for part in findings.tasks
        if part.constraint == Constraint(0, "both", (OtherConstraint("second", 25.0),))
    ]
    grid = np.array(part.frontier.grid)
    inside = (grid > 10) & (grid < 100)
    wanted = TRUTH.frontier(grid[inside], 25.0)
    np.testing.assert_allclose(np.array(part.frontier.curve.value)[inside], wanted, atol=4)
    assert [limit.limit for limit in part.limits] == [69.44, 150.0]
    for group in part.groups:  # runs whose other cost keeps its limit
        _, second = TRUTH.costs(np.array([group.lambda_, *group.others]))
        assert second < 25 * 1.05
    assert len(part.groups) < len(LAMBDAS) ** 2


def test_who_violates_any_limit_counts(findings, study):
    """A run that keeps the limit that is looked at and breaks the other one violates."""
    runs, metrics = study
    last = metrics.filter(pl.col("epoch") == 19)
    for part in findings.tasks:
        other = part.constraint.others[0].limit
        for cell in part.comparison:
            limits = (cell.limit, other) if part.constraint.index == 0 else (other, cell.limit)
            own = runs.filter(limit=limits[0], limit_1=limits[1])["run"]
            finals = last.filter(pl.col("run").is_in(own.implode()))
            costs = finals.select("cost", "cost_1").to_numpy()
            assert cell.violation.share == pytest.approx((costs > limits).any(1).mean())
            assert cell.violated == bool((costs.mean(0) > limits).any())
            assert cell.best != cell.violated


def test_the_same_joint_lambda_is_in_each_view(findings):
    for found in findings.joint:
        for i, share in enumerate(found.multipliers):
            (own,) = [
                limit.lambda_
                for part in findings.tasks
                for limit in part.limits
                if part.constraint.index == i
                and limit.limit == share.limit
                and part.constraint.others[0].limit == found.multipliers[1 - i].limit
            ]
            assert own == share.lambda_


def test_what_is_printed_and_the_json(findings, capsys):
    show(findings)
    said = capsys.readouterr().out
    assert "TwoCosts-v0 · ppo · both (second at 25)" in said
    assert "all constraints" in said and "at most 0.05" in said and "binds" in said
    assert "seeds violating any limit: cannot be told, no run has lambdas within 5% of" in said
    plain = findings.to_dict()
    assert [share["constraint"] for share in plain["joint"][0]["multipliers"]] == ["both", "second"]
    assert plain["tasks"][0]["constraint"]["others"] == [{"name": "second", "limit": 30.0}]
    json.dumps(plain, allow_nan=False)


def test_limits_have_a_number_for_each_constraint(study):
    found = analysed(study, limits=((60.0, 20.0),))
    assert [one.multipliers[1].limit for one in found.joint] == [20.0]
    assert all(share.lambda_.value is not None for share in found.joint[0].multipliers)
    message = r"2 constraints: both, second; give one value for each"
    for limits in ((25.0,), ((1.0, 2.0, 3.0),)):
        with pytest.raises(SaddleError, match=message):
            analysed(study, limits=limits)
    assert limit_sets(((10.0, 25.0), 3.0), "any", ("cost",)) == [(10.0,), (25.0,), (3.0,)]


def test_a_constraint_is_chosen_by_name_or_place(study):
    for wanted in ("second", 1):
        found = analysed(study, constraint=wanted).tasks
        assert {part.constraint and part.constraint.name for part in found} == {"second"}
    with pytest.raises(SaddleError, match="there is no constraint 'secnd' here; did you mean"):
        analysed(study, constraint="secnd")
    with pytest.raises(SaddleError, match="there is no constraint 2 here"):
        analysed(study, constraint=2)
    assert Options.of_command((), False, "1", False).constraint == 1
    with pytest.raises(SaddleError, match="constraint is -1"):
        Options.of_command((), False, "-1", False)


def test_a_task_that_lacks_the_constraint_is_left_out(study):
    runs, metrics = simulate([LINE], np.random.default_rng(1), seeds=3, epochs=20, compare=False)
    names = pl.concat_str(pl.lit("line"), "run").alias("run")
    both = [
        pl.concat([ours, theirs.with_columns(names)], how="diagonal_relaxed")
        for ours, theirs in zip(study, (runs, metrics), strict=True)
    ]
    found = analysed(both, constraint=1)
    assert {part.task for part in found.tasks} == {"TwoCosts-v0"}
    assert "Line-v0 has no constraint 1: it is left out." in found.notes
    every = analysed(both)
    assert [part.constraint for part in every.tasks if part.task == "Line-v0"] == [None]


def test_runs_with_fewer_constraints_are_left_out(study):
    runs, metrics = study
    poor = runs.filter(stage="sweep")["run"].head(3).to_list()
    second = pl.when(pl.col("run").is_in(poor)).then(None).otherwise(pl.col("cost_1"))
    found = analysed((runs, metrics.with_columns(cost_1=second)), limits=(BOTH,))
    assert any(text.startswith("3 runs of TwoCosts-v0 with fewer") for text in found.notes)
    assert {part.constraint and len(part.constraint.others) for part in found.tasks} == {1}


def made():
    """Two tasks; the first has a second constraint, whose cost is three times that of the first.
    Their stores know one lambda for all constraints.
    """
    runs, metrics = simulate([BEND, LINE], np.random.default_rng(0), seeds=3, epochs=20)
    several = runs["task"] == runs["task"][0]
    own = pl.col("run").is_in(runs.filter(several)["run"].to_list())
    metrics = metrics.with_columns(cost_1=pl.when(own).then(3 * pl.col("cost")))
    return runs.filter(stage="sweep"), metrics


def test_one_lambda_for_all_constraints_gives_one_multiplier():
    runs, metrics = made()
    found = analyze(runs, metrics, Options(replicates=100))
    assert [part.constraint and part.constraint.index for part in found.tasks] == [0, 1, None]
    assert not found.joint
    first, second, _ = found.tasks
    costs = [part.groups[0].cost.value or 0.0 for part in (first, second)]
    assert costs[1] == pytest.approx(3 * costs[0], rel=1e-5)
    assert any("one lambda for all constraints" in text for text in first.notes)
    bend = runs.filter(task=BEND.task)
    (joint,) = analyze(bend, metrics, Options(limits=((25.0, 30.0),), replicates=100)).joint
    (alone,) = analyze(
        bend, metrics, Options(limits=((1e6, 30.0),), replicates=100, constraint=1)
    ).tasks
    for share in joint.multipliers:  # the second needs more, and both get it
        assert share.lambda_ == alone.limits[0].lambda_
        assert share.train_at == pytest.approx(share.lambda_.value)
        assert (share.cost.value or 0.0) <= share.limit * 1.0001
    assert [share.binds for share in joint.multipliers] == [False, True]
    assert "takes a grid of lambdas" in joint.reason


def without(study, keep):
    runs, metrics = study
    return runs.filter(pl.col("stage") == "sweep", keep), metrics


def test_a_grid_with_holes_counts_where_it_is_full(study):
    """Without one combination, the lambda with the fewest others is given up."""
    hole = (pl.col("lambda") == LAMBDAS[2]) & (pl.col("lambda_1") == LAMBDAS[3])
    found = analysed(without(study, ~hole), limits=(BOTH,))
    (joint,) = found.joint
    for share, star in zip(joint.multipliers, TRUTH.lambda_star(BOTH), strict=True):
        assert share.lambda_.value == pytest.approx(star, rel=0.2)
    assert any("in no full grid" in text for text in found.tasks[0].notes)


def test_what_fills_no_grid_says_so(study):
    diagonal = pl.col("lambda") * pl.col("lambda_1")
    odd = (diagonal - LAMBDAS[0] * LAMBDAS[6]).abs() < 1e-9
    found = analysed(without(study, odd), limits=(BOTH,))
    assert found.tasks[0].frontier is None and len(found.joint) == 1
    assert {share.status for share in found.joint[0].multipliers} == {None}
    assert any("fill no grid" in text for text in found.tasks[0].notes)


def test_one_lambda_of_a_constraint_tells_nothing_of_its_multiplier(study):
    found = analysed(without(study, pl.col("lambda_1") == LAMBDAS[0]), limits=(BOTH,))
    first, second = found.tasks
    assert second.frontier is None
    assert any("only one fixed lambda of second" in text for text in second.notes)
    assert first.profile is None or first.notes  # the second limit may not be kept anywhere
    assert found.joint[0].multipliers[1].train_at == pytest.approx(LAMBDAS[0])


def test_limits_that_cannot_be_kept_are_said(study):
    found = analysed(study, limits=((60.0, 0.5),))
    (joint,) = found.joint
    assert joint.multipliers[1].status == "always above" and joint.multipliers[1].binds is None
    assert joint.multipliers[1].train_at == pytest.approx(LAMBDAS[-1])
    assert found.tasks[0].frontier is None
    assert any("fewer than two lambdas of both" in text for text in found.tasks[0].notes)


def test_costs_that_are_never_negative_have_no_mean_below_zero():
    noisy = simulate_two(TwoCosts(noise=1.5), np.random.default_rng(0), [LAMBDAS, LAMBDAS], seeds=3)
    found = analysed(noisy, limits=((8.0, 2.0), (70.0, 25.0)))
    ends = [share.cost.lo for joint in found.joint for share in joint.multipliers]
    assert 0.0 in ends and all(end is not None and end >= 0 for end in ends)


def test_two_lambdas_of_each_are_told_to_be_few(study):
    few = pl.col("lambda").is_in(LAMBDAS[[1, 5]]) & pl.col("lambda_1").is_in(LAMBDAS[[1, 5]])
    found = analysed(without(study, few), limits=(BOTH,))
    assert any("only 2 lambdas" in text for part in found.tasks for text in part.notes)
    assert found.joint[0].multipliers[0].lambda_.value is not None


def three_costs(lambdas):
    """Each falls most with its own multiplier and some with the others'."""
    return 100 / (1 + lambdas + 0.3 * (lambdas.sum(-1, keepdims=True) - lambdas)) ** 2


def test_three_multipliers_are_found_together():
    """Against scipy's root of the three limits; the last limit does not bind in the second set."""
    axis = np.geomspace(0.1, 4, 9)
    rows = []
    for lambdas in itertools.product(axis, repeat=3):
        costs = three_costs(np.array(lambdas))
        row = {"rule": "fixed", "stage": "sweep", "limit": None, "return": costs.sum()}
        own = {"lambdas": lambdas, "costs": costs.tolist(), "lambda": lambdas[0], "cost": costs[0]}
        rows += [row | own | {"seed": seed} for seed in (0, 1)]
    schema = {"limit": pl.Float64, "lambdas": pl.List(pl.Float64)}
    finals = pl.DataFrame(rows, schema_overrides=schema)
    several = Several(finals, Options(replicates=100))
    called = ("a", "b", "c")
    binding = [20.0, 30.0, 15.0]
    stars = root(lambda lam: three_costs(lam) - binding, np.ones(3)).x
    found = joint_lambda(several, "t", "ppo", called, binding)
    for share, star in zip(found.multipliers, stars, strict=True):
        assert share.lambda_.value == pytest.approx(star, rel=0.06, abs=0.03)
        assert share.cost.value == pytest.approx(share.limit, rel=0.03)
    loose = [20.0, 30.0, 90.0]
    stars = root(lambda lam: three_costs(np.append(lam, axis[0]))[:2] - loose[:2], np.ones(2)).x
    found = joint_lambda(several, "t", "ppo", called, loose)
    assert [share.status for share in found.multipliers] == ["reached", "reached", "always below"]
    for share, star in zip(found.multipliers, stars, strict=False):
        assert share.lambda_.value == pytest.approx(star, rel=0.06, abs=0.03)


def fixed_runs(lambdas, costs):
    """A run of each seed at these lambdas."""
    schema = {"rule": pl.String, "seed": pl.Int64, "lambdas": pl.List(pl.Float64)}
    rows = [
        {"rule": "fixed", "seed": seed, "lambdas": lambdas, "costs": own}
        for seed, own in enumerate(costs)
    ]
    return pl.DataFrame(rows, schema=schema | {"costs": pl.List(pl.Float64)})


def at_star(found, *lambdas):
    """These multipliers of two constraints as the joint lambda*."""
    return [
        dataclasses.replace(share, train_at=lam)
        for share, lam in zip(found.multipliers, lambdas, strict=True)
    ]


def test_a_seed_that_breaks_any_limit_at_the_joint_lambda_star_counts_once(findings):
    """Each limit is broken by half of the seeds, and three of four break one of them."""
    costs = [[11.0, 1.0], [11.0, 21.0], [1.0, 21.0], [1.0, 1.0]]
    there = fixed_runs([0.5, 0.2], costs)
    elsewhere = fixed_runs([0.9, 0.2], [[99.0, 99.0]] * 4)
    stars = at_star(joint_at(findings, BOTH), 0.5 / (1 - NEAR / 2), 0.2)
    found = violating_any(pl.concat([elsewhere, there, there]), (10.0, 20.0), stars, 0.95)
    assert (found.lambdas, found.seeds, found.share.value) == ((0.5, 0.2), 4, 0.75)
    assert (found.share.lo, found.share.hi) == pytest.approx(share_interval(3, 4, 0.95))
    far = violating_any(elsewhere, (10.0, 20.0), stars, 0.95)
    assert far.share.value is None and "no run has lambdas within 5% of (0.513, 0.2)" in far.reason
    none = violating_any(there.clear(), (10.0, 20.0), stars, 0.95)
    assert none.share.value is None and none.seeds == 0


def test_what_breaks_any_limit_is_told_where_somebody_ran(study):
    """Not between the lambdas of a grid, nor where no lambda* keeps all limits."""
    impossible, between = analysed(study, limits=((60.0, 0.5), (60.0, 20.0))).joint
    assert "no run has lambdas within" in between.violating.reason
    assert impossible.violating.reason == "there is no lambda* that keeps all limits"
    assert between.violating.share.value is impossible.violating.share.value is None
    at_bottom = tuple(float(cost) + 5 for cost in TRUTH.costs(LAMBDAS[[0, 0]]))
    (found,) = analysed(study, limits=(at_bottom,)).joint
    assert found.violating.lambdas == pytest.approx(LAMBDAS[[0, 0]])
    assert found.violating.seeds == 4 and found.violating.share.value is not None


@given(st.integers(1, 40), st.data())
def test_intervals_of_shares_are_exact(total, data):
    """The end is the share at which so many, or more, come in one of forty."""
    count = data.draw(st.integers(0, total))
    lo, hi = share_interval(count, total, 0.95)
    assert 0 <= lo <= count / total <= hi <= 1
    assert count == 0 or binom.sf(count - 1, total, lo) == pytest.approx(0.025)
    assert count == total or binom.cdf(count, total, hi) == pytest.approx(0.025)


def test_views_and_words():
    called = ("a", "b", "c")
    sets = [(1.0, 2.0, 3.0), (9.0, 2.0, 3.0)]
    found = views(called, sets, (0, 1))
    assert [(view.index, view.others) for view in found] == [
        (0, (2.0, 3.0)),
        (1, (1.0, 3.0)),
        (1, (9.0, 3.0)),
    ]
    assert views(called, [], (2,))[0].others == (math.inf, math.inf)
    (said,) = note(found[0].finding())
    assert said == (
        "Looked at the first of 3 constraints: a. The others keep their limits: b 2, c 3."
    )
    (free,) = note(views(called, [], (2,))[0].finding())
    assert free == "Looked at the third of 3 constraints: c. The others have no limit: a, b."
    assert note(None) == []
    assert choose(None, {"t": called}) == {"t": (0, 1, 2)}


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.integers(1, 3))
def test_values_on_a_grid_are_linear_along_each_axis(seed, constraints):
    """Products of lines are met exactly everywhere, and a NaN without weight does no harm."""
    rng = np.random.default_rng(seed)
    axes = [np.sort(rng.uniform(-3, 3, rng.integers(1, 5))) for _ in range(constraints)]
    slopes = rng.normal(size=constraints)
    mesh = np.meshgrid(*axes, indexing="ij")
    values = np.prod([1 + s * x for s, x in zip(slopes, mesh, strict=True)], axis=0)[None]
    at = np.stack([rng.uniform(axis[0], axis[-1], (1, 4)) for axis in axes])
    wanted = np.prod([1 + s * x for s, x in zip(slopes, at, strict=True)], axis=0)
    np.testing.assert_allclose(value_at(axes, values, at), wanted, rtol=1e-6, atol=1e-6)
    spoilt = values.copy()
    spoilt[(0, *(-1,) * constraints)] = np.nan
    corner = np.stack([np.full((1, 1), axis[0]) for axis in axes])
    if all(len(axis) > 1 for axis in axes):
        assert np.isfinite(value_at(axes, spoilt, corner)).all()
