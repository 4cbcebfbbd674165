"""Studies with a known truth, from the two tables to the findings."""

import itertools
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.analysis import Options, analyze
from saddle.analysis.agreement import compare_with_published
from saddle.analysis.dials import BY_MEAN_ACTION, SEEN_IN_TRAINING, spread_out
from saddle.analysis.margin import replicate_sds, rule_margin
from saddle.analysis.published import table
from saddle.analysis.simulate import BEND, LAMBDAS, LINE, STEPS, TRUTHS, Truth, simulate
from saddle.analysis.simulate_several import TwoCosts, simulate_two

QUIET = [
    Truth(truth.task, truth.cost, truth.gain, truth.limits, cost_noise=0.004, return_noise=0.005)
    for truth in TRUTHS
]


@pytest.fixture(scope="module")
def quiet():
    """Findings of the same tasks with hardly any noise, at limits within and beyond the profile."""
    runs, metrics = simulate(QUIET, np.random.default_rng(1))
    return {part.task: part for part in analyze(runs, metrics, Options(replicates=200)).tasks}


def part_of(findings, truth):
    return next(part for part in findings.tasks if part.task == truth.task)


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.task)
def test_lambda_star_and_frontier_are_near_the_truth(quiet, truth):
    for limit in quiet[truth.task].limits:
        assert limit.status == "reached"
        assert limit.lambda_.value == pytest.approx(truth.lambda_star(limit.limit), rel=0.06)
        assert limit.return_.value == pytest.approx(
            float(truth.gain(np.array(limit.limit))), rel=0.03
        )
    frontier = quiet[truth.task].frontier
    np.testing.assert_allclose(frontier.curve.value, truth.gain(np.array(frontier.grid)), rtol=0.06)


def of_a_dial():
    """A study of policies with a dial, whose costs are 20 and 5 in its two strata."""
    runs, metrics = simulate([BEND], np.random.default_rng(0), seeds=3, epochs=20, compare=False)
    dial = runs.unique("seed", keep="first", maintain_order=True)
    strata: dict = {}
    for stratum, lam, cost in (("", 0.5, 20.0), ("_1", 2.0, 5.0)):
        strata |= {
            f"dial_lambda{stratum}": pl.lit(lam),
            f"dial_return{stratum}": "return",
            f"dial_cost{stratum}": pl.lit(cost, pl.Float32),
            f"dial_episodes{stratum}": pl.lit(5, pl.Int32),
        }
    return dial, metrics.with_columns(**strata)


def test_limits_that_a_dial_does_not_reach_are_told_with_the_noise_of_training():
    (part,) = analyze(*spread_out(*of_a_dial()), Options(limits=(1.0, 10.0, 30.0))).tasks
    assert SEEN_IN_TRAINING in part.notes
    said = {at.status: at.reason for at in part.limits}
    assert "not reachable" in said["always above"] and said["always above"].endswith(BY_MEAN_ACTION)
    assert BY_MEAN_ACTION not in said["reached"] + said["always below"]


def test_so_are_those_of_several_constraints():
    axis = (0.5, 2.0)
    runs, metrics = simulate_two(TwoCosts(), np.random.default_rng(0), [axis, axis], seeds=2)
    as_strata = runs.with_columns(("dial-" + pl.col("run")).alias("trained"))
    (star,) = analyze(as_strata, metrics, Options(limits=((0.01, 1e3),))).joint
    beyond, within = star.multipliers
    assert beyond.status == "always above" and beyond.reason.endswith(BY_MEAN_ACTION)
    assert BY_MEAN_ACTION not in within.reason


def test_regimes_are_those_of_the_truth(quiet):
    bend, line = quiet[BEND.task], quiet[LINE.task]
    assert bend.regimes[0].kind == "restrictive" and bend.regimes[-1].kind == "unrestrictive"
    assert 10 < bend.regimes[0].cost_to < 45  # the bend lies at a cost of about 20
    assert {regime.kind for regime in line.regimes} == {"even"}
    assert quiet[STEPS.task].regimes[0].kind == "restrictive"
    for part in quiet.values():
        for regime in part.regimes:
            assert LAMBDAS[0] <= regime.lambda_to <= regime.lambda_from <= LAMBDAS[-1]
        kinds = [regime.kind for regime in part.regimes]
        assert [advice.kind for advice in part.recommended] == kinds
        for advice, regime in zip(part.recommended, part.regimes, strict=True):
            assert regime.cost_from <= advice.limit <= regime.cost_to
            assert regime.reason == advice.reason


def test_average_normalised_slope_is_one(quiet):
    for part in quiet.values():
        low, high = part.frontier.grid[0], part.frontier.grid[-1]
        rise = part.frontier.curve.value[-1] - part.frontier.curve.value[0]
        assert part.slope.average == pytest.approx(rise / (high - low))


def test_intervals_hold_their_estimates(findings):
    for part in findings.tasks:
        for group in part.groups:
            assert group.cost.lo < group.cost.value < group.cost.hi
        for limit in part.limits:
            assert limit.lambda_.lo is None or limit.lambda_.lo <= limit.lambda_.value
            assert limit.return_.lo <= limit.return_.value <= limit.return_.hi
        curve = part.frontier.curve
        inside = [
            lo <= value <= hi
            for value, lo, hi in zip(curve.value, curve.lo, curve.hi, strict=True)
            if lo
        ]
        assert np.mean(inside) > 0.95


def test_the_margin_gives_the_wanted_share(findings):
    """Fresh seeds drawn from the truth at the recommended training limit satisfy the limit as often
    as wanted.
    """
    part = part_of(findings, BEND)
    margin = part.limits[1].margins[0]
    assert margin.rule == "fixed" and margin.training_limit.value < part.limits[1].limit
    sigma = np.sqrt(np.log1p(BEND.cost_noise**2))
    noise = np.random.default_rng(9).normal(size=20_000)
    costs = margin.training_limit.value * np.exp(sigma * noise - sigma**2 / 2)
    assert np.mean(costs <= part.limits[1].limit) == pytest.approx(0.9, abs=0.06)
    assert margin.margin.value == pytest.approx(part.limits[1].limit - margin.training_limit.value)


@given(st.lists(st.floats(0, 100), min_size=2, max_size=4))
def test_the_variance_of_drawn_seeds_is_right_on_average(costs):
    """Over every way to draw n of n seeds, weighed by how likely it is."""
    n = len(costs)
    residuals = np.array([costs]) - np.mean(costs)
    ways = np.array(list(itertools.product(range(n), repeat=n)))
    counts = np.stack([(ways == seed).sum(1) for seed in range(n)], axis=1).astype(float)
    sd = np.std(costs, ddof=1, keepdims=True)
    drawn = replicate_sds(residuals, np.ones((1, n), bool), sd, counts)
    assert (drawn**2).mean() == pytest.approx(sd[0] ** 2, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("costs", "why"), [([40, 41, 42], "far above"), ([1, 9, 60], "scatter")])
def test_a_margin_that_cannot_be_had_says_why(costs, why):
    training, reason = rule_margin(np.array(costs, float), 20.0, Options())
    assert training.value is None and why in reason


def test_shares_of_violating_seeds_are_counted(findings, study):
    runs, metrics = study
    part = part_of(findings, STEPS)
    group = part.groups[12]
    names = runs.filter(
        (pl.col("task") == STEPS.task)
        & (pl.col("lambda") == group.lambda_)
        & (pl.col("stage") == "sweep")
    )
    last = metrics.filter((pl.col("epoch") == 19) & pl.col("run").is_in(names["run"].implode()))[
        "cost"
    ].to_numpy()
    for violation in group.violations:
        assert violation.share == np.mean(last > violation.limit)
        over = np.maximum(last - violation.limit, 0) / violation.limit
        assert violation.normalised == pytest.approx(over.mean(), rel=1e-5)


def test_limits_outside_the_profile_are_said_plainly(study):
    runs, metrics = study
    found = analyze(runs, metrics, Options(limits=(0.5, 1e4), replicates=100))
    for part in found.tasks:
        low, high = part.limits
        assert low.status == "always above" and "not reachable" in low.reason
        assert low.lambda_.value is None and low.return_.value is None and low.regime is None
        assert high.status == "always below" and "does not bind" in high.reason
        assert high.lambda_.value is None and high.margins[0].margin.value == 0


def test_a_dip_that_may_be_chance_does_not_reach_a_limit():
    """Costs of the last third scatter around 30, at two lambdas around 5: the mean cost dips below
    10 there.
    """
    runs, metrics = simulate([LINE], np.random.default_rng(2), seeds=3, epochs=20, compare=False)
    lambdas = runs["lambda"].unique().sort()
    high, dip = pl.col("lambda") > lambdas[15], pl.col("lambda").is_in(lambdas[19:21].to_list())
    scattered = pl.when(dip).then(5.0).otherwise(30.0) * pl.col(
        "seed"
    )  # of seeds 0, 1, 2: means 5 and 30
    settings = runs.select("run", "seed", "lambda")
    costs = pl.when(high).then(scattered).otherwise(pl.col("cost") + 40.0)
    changed = metrics.drop("lambda").join(settings, on="run").with_columns(costs.alias("cost"))
    (part,) = analyze(runs, changed, Options(limits=(2.0, 10.0), replicates=100, frac=0.1)).tasks
    below, within = part.limits
    assert part.profile is not None and not any(rise.clear for rise in part.profile.rises)
    least = min(float(group.cost.value or 0.0) for group in part.groups)
    lowest = f"the lowest mean cost of the sweep is {least:.3g}, at lambda"
    assert (
        below.status == within.status == "always above"
        and lowest in below.reason
        and lowest in within.reason
    )
    assert "rise again" in within.reason and "rise again" not in below.reason


def test_the_final_share_of_training_counts():
    runs, metrics = simulate([BEND], np.random.default_rng(2), seeds=2, epochs=100, compare=False)
    late = metrics.with_columns(
        pl.when(pl.col("epoch") < 95).then(1e6).otherwise(pl.col("cost")).alias("cost")
    )
    (part,) = analyze(runs, late, Options(replicates=100)).tasks
    assert max(seed.cost for seed in part.scatter) < 1e4
    (part,) = analyze(runs, late, Options(replicates=100, final_share=0.06)).tasks
    assert min(seed.cost for seed in part.scatter) > 1e5


def test_published_way_differs_in_smoothing_and_frontier(study):
    runs, metrics = study
    found = analyze(runs, metrics, Options.published(replicates=100))
    assert (
        found.options["scale"] == "linear"
        and found.options["frac"] == 0.5
        and not found.options["correct"]
    )
    frontier = found.tasks[0].frontier
    sweep = {group.lambda_ for group in found.tasks[0].groups}
    assert frontier and frontier.construction == "published" and set(frontier.lambda_) <= sweep


def test_json_is_plain_and_without_nan(findings):
    plain = json.loads(findings.to_json(), parse_constant=lambda name: pytest.fail(name))
    assert plain["schema"] == 1 and {"groups", "profile", "frontier", "limits", "notes"} <= set(
        plain["tasks"][0]
    )
    assert {"lambda", "return", "cost", "seeds"} <= set(plain["tasks"][0]["groups"][0])
    assert plain["tasks"][0]["frontier"]["grid"] == sorted(plain["tasks"][0]["frontier"]["grid"])


def test_json_names_a_group_and_a_cell_first_and_then_their_statistics(findings):
    part = findings.to_dict()["tasks"][0]
    statistics = ["seeds", "return", "return_sd", "return_iqm", "cost", "cost_sd", "cost_iqm"]
    assert list(part["groups"][0]) == ["lambda", *statistics, "violations", "env_steps"]
    marks = ["violated", "best", "violation", "gap", "gap_normalised", "env_steps"]
    marks += ["over_training"]
    assert list(part["comparison"][0]) == ["rule", "limit", "lambda", *statistics, *marks]


def test_same_seed_same_findings(study, findings):
    again = analyze(
        study[0].sample(fraction=1.0, shuffle=True, seed=1),
        study[1].lazy(),
        Options(replicates=300),
    )
    first, second = (
        {part.task: part.limits for part in found.tasks} for found in (findings, again)
    )
    assert first == second


def published_study():
    """Two seeds per published cell that have exactly its mean and SD."""
    rows, metrics = [], []
    for cell in table().iter_rows(named=True):
        for seed, sign in enumerate((-1, 1)):
            name = f"{cell['task']}-{cell['limit']}-{cell['rule']}-{seed}"
            fixed = {
                "stage": "compare",
                "algorithm": "ppo",
                "lambda": None,
                "steps": 1,
                "status": "done",
            }
            rows.append(
                fixed
                | {key: cell[key] for key in ("task", "rule", "limit")}
                | {"run": name, "seed": seed}
            )
            values = {
                key: cell[f"{key}_mean"] + sign * cell[f"{key}_sd"] / 2**0.5
                for key in ("return", "cost")
            }
            metrics.append({"run": name, "epoch": 0, "env_steps": 1} | values)
    return pl.DataFrame(rows, schema_overrides={"lambda": pl.Float64}), pl.DataFrame(metrics)


def test_the_published_table_as_a_study_agrees_with_itself():
    comparison = compare_with_published(analyze(*published_study(), Options(replicates=100)))
    assert len(comparison.cells) == 48
    for cell in comparison.cells:
        assert cell.mark == cell.published_mark
        assert cell.return_ == pytest.approx(
            cell.published_return
        ) and cell.return_sd == pytest.approx(cell.published_return_sd)
        assert cell.return_t == pytest.approx(0, abs=1e-6)
        assert cell.cost_t == pytest.approx(0, abs=1e-6)
        assert cell.return_p == pytest.approx(1) and cell.cost_p_holm == pytest.approx(1)
    overall = comparison.overall
    assert overall and overall.values == 96 and overall.below == overall.below_holm == 0
    assert overall.same_marks == overall.cells == 48
    assert overall.median_distance == pytest.approx(0, abs=1e-6)
