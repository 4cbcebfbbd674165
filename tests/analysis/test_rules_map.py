"""The map of rules, on made-up studies in which it is known which rule is good where."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report.made import store

from saddle.analysis import Options, analyze
from saddle.analysis.findings.study import plain_values
from saddle.analysis.rules_map import _beaten, is_map, maps, rules_map
from saddle.analysis.simulate import BEND, LAMBDAS, curves_of, row_of, sweep_finals
from saddle.analysis.simulate_several import TwoCosts, simulate_two
from saddle.analysis.spread_limits import _shared_out, spread_limits
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.study.columns import RUNS

LIMITS = (8.0, 20.0, 60.0)
SEEDS = 6
EPOCHS = 20
KINDS = {  # cost as a share of the limit, and return beside the frontier's as a share of its span
    "ga": (0.8, 0.0),
    "pid": (0.8, -0.3),
    "crpo": (1.6, 0.0),
}


def study_of(kinds, limits=LIMITS, noise=0.02):
    """Runs and metrics of a sweep and of these rules at these limits."""
    rng = np.random.default_rng(0)
    lambdas = LAMBDAS[::3]
    rows = [
        row_of(BEND.task, "sweep", "fixed", float(lam), None, seed)
        for lam in lambdas
        for seed in range(SEEDS)
    ]
    finals = [sweep_finals(BEND, rng, SEEDS, lambdas, 0.5)]
    span = np.ptp(BEND.returns(LAMBDAS))
    for limit in limits:
        for rule, (share, beside) in kinds.items():
            rows += [row_of(BEND.task, "map", rule, None, limit, seed) for seed in range(SEEDS)]
            costs = share * limit * (1 + noise * rng.normal(size=SEEDS))
            wobble = noise * span * rng.normal(size=SEEDS)
            returns = BEND.gain(costs) + beside * span + wobble
            finals.append(np.stack([returns, costs, np.ones(SEEDS)], -1))
    runs = pl.DataFrame(rows, schema=RUNS).with_columns(
        run=pl.format("r{}", pl.int_range(pl.len())), steps=pl.lit(20_000 * EPOCHS)
    )
    return runs, curves_of(runs, np.concatenate(finals), rng, EPOCHS)


@pytest.fixture(scope="module")
def known():
    return study_of(KINDS)


@pytest.fixture(scope="module")
def found(known):
    runs, metrics = known
    (one,) = maps(analyze(runs, metrics, Options(replicates=200)))
    return one


def test_the_good_rule_is_the_one_to_use(found):
    assert found.rules == ("ga", "pid", "crpo")
    assert [limit.limit for limit in found.limits] == list(LIMITS)
    for limit in found.limits:
        assert limit.use == ("ga",) and limit.decided
        assert limit.words.startswith("use GA, gap ")
        assert "less return at its cost: PID" in limit.words
        assert "above the limit: CRPO" in limit.words
    assert any("nothing beats GA" in words for words in found.words)
    assert not any("not decided" in words for words in found.words)


def test_every_cell_has_its_gap_and_violation_with_intervals(found):
    assert len(found.cells) == len(LIMITS) * len(KINDS)
    for cell in found.cells:
        assert cell.gap_normalised.lo is not None and cell.gap_normalised.hi is not None
        beside = KINDS[cell.rule][1]
        assert cell.gap_normalised.value == pytest.approx(beside, abs=0.12)
        assert cell.keeps == ("broken" if cell.rule == "crpo" else "kept")
        assert cell.violating.value == (1.0 if cell.rule == "crpo" else 0.0)
        assert cell.violating.lo is not None and cell.violating.hi is not None
        assert cell.violating.hi - cell.violating.lo > 0.4  # six seeds cannot say more
        assert cell.loses_to == (("ga",) if cell.rule == "pid" else ())
    json.dumps(plain_values(found), allow_nan=False)


def test_what_the_seeds_do_not_decide_is_said():
    runs, metrics = study_of({"ga": (0.9, 0.0), "pid": (0.9, 0.0)}, noise=0.3)
    (one,) = maps(analyze(runs, metrics, Options(replicates=100)))
    undecided = [limit for limit in one.limits if not limit.decided]
    assert len(undecided) == len(LIMITS)
    for limit in undecided:
        assert set(limit.use) == {"ga", "pid"}
        assert "not decided between any of the 2 rules; " in limit.words
        assert "of none of them it is decided whether the mean cost keeps" in limit.words
    assert one.words[-1] == "not decided at 8, 20, 60: more seeds would tell"


def test_where_all_rules_break_the_limit_there_is_none_to_use():
    runs, metrics = study_of({"ga": (1.5, 0.0), "pid": (1.6, 0.0)})
    (one,) = maps(analyze(runs, metrics, Options(replicates=100)))
    assert {limit.words.split(";")[0] for limit in one.limits} == {"no rule keeps the limit"}


def test_a_comparison_at_two_limits_is_no_map(known):
    runs, metrics = study_of(KINDS, LIMITS[:2])
    (part,) = analyze(runs, metrics, Options(replicates=100)).tasks
    assert not is_map(part)
    swept = known[0].filter(pl.col("stage") == "sweep")
    assert maps(analyze(swept, known[1], Options(replicates=100))) == []


def test_holm_stops_at_the_first_pair_that_is_not_decided():
    """Of three pairs the smallest p-value is held to a third of 5 %, the next to a half."""
    rng = np.random.default_rng(1)
    gaps = {"a": rng.normal(0, 1, 8), "b": rng.normal(0.1, 1, 8), "c": rng.normal(-9, 1, 8)}
    assert _beaten(gaps, 0.95) == {"c": ["b", "a"]} or _beaten(gaps, 0.95) == {"c": ["a", "b"]}
    apart = {"a": np.array([0.0, 1, 2, 3]), "b": np.array([3.0, 4, 5, 6])}
    assert _beaten(apart, 0.95) == {"a": ["b"]}
    assert _beaten(apart | {"c": np.array([1.5, 2.5, 3.5, 4.5])}, 0.95) == {}  # p is 0.017


def test_limits_are_spread_over_every_regime(known):
    runs, metrics = known
    (part,) = analyze(runs, metrics, Options(replicates=200)).tasks
    assert part.frontier is not None and len(part.regimes) > 1
    for count in (len(part.regimes), 6):
        limits = spread_limits(part, count)
        assert len(set(limits)) == count and list(limits) == sorted(limits)
        dearest = max(group.cost.value or 0.0 for group in part.groups)
        assert limits[0] > 0 and limits[-1] <= dearest
        for regime in part.regimes:
            slack = 0.05 * regime.cost_to  # limits are rounded
            inside = [d for d in limits if regime.cost_from - slack <= d <= regime.cost_to + slack]
            assert inside, regime


@settings(max_examples=40)
@given(st.lists(st.floats(0.1, 1), min_size=1, max_size=4), st.integers(1, 12))
def test_stretches_share_limits_by_their_length(lengths, count):
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    stretches = list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
    found = _shared_out(stretches, count)
    assert sum(found) == count
    assert min(found) >= 1 or count < len(lengths)
    if min(found) > 1:  # nobody would gain by giving one away
        spacing = [length / inside for length, inside in zip(lengths, found, strict=True)]
        after = [length / (inside + 1) for length, inside in zip(lengths, found, strict=True)]
        assert max(after) <= min(spacing) * (1 + 1e-9)


def test_a_frontier_that_spans_nothing_has_no_limits_to_give(known):
    runs, metrics = known
    swept = runs.filter(pl.col("stage") == "sweep")
    flat = metrics.with_columns(pl.lit(1.0, pl.Float32).alias("return"))
    (part,) = analyze(swept, flat, Options(replicates=100)).tasks
    with pytest.raises(SaddleError, match="spans no cost or no return; give the stage limits"):
        spread_limits(part, 3)


def test_the_verb_the_figures_and_the_page_show_it(known, tmp_path, capsys):
    folder = str(store(tmp_path / "s", *known))
    assert main(["map", folder]) == 0
    said = capsys.readouterr().out
    assert "gap to frontier" in said and "use GA, gap" in said
    assert main(["map", folder, "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["maps"]
    assert [limit["use"] for limit in one["limits"]] == [["ga"]] * 3
    assert main(["report", folder, "--out", str(tmp_path / "r.html")]) == 0
    assert '"map":{"task":"Bend-v0"' in (tmp_path / "r.html").read_text()


def test_the_figure_has_a_number_for_every_cell(found):
    from saddle.report import figures_map, style

    with style.styled():
        above, below = figures_map.heat(found).axes
    for axes in (above, below):
        assert len(axes.texts) == len(LIMITS) * len(KINDS)
    assert len(above.patches) == len(LIMITS)  # frames around the rule to use
    assert len(below.lines) == len(LIMITS)  # crosses at the rule that breaks each limit


def test_a_study_without_a_map_says_what_makes_one(known, tmp_path, capsys):
    swept = known[0].filter(pl.col("stage") == "sweep")
    folder = str(store(tmp_path / "s", swept, known[1]))
    assert main(["map", folder]) == 2
    assert "saddle study run rules-map" in capsys.readouterr().err


def test_of_several_constraints_a_rule_that_breaks_another_limit_is_broken():
    rng = np.random.default_rng(0)
    grid = [(0.1, 0.3, 1, 3)] * 2
    sets = [(first, second) for second in (20.0, 40.0) for first in (60.0, 80.0, 100.0)]
    runs, metrics = simulate_two(TwoCosts(noise=0.03), rng, grid, sets, seeds=5)
    name = pl.format("pid-{}", "run").alias("run")
    # PID keeps the first limit, as gradient ascent does, and spends more than 20 of the second.
    copied = runs.filter(rule="ga").with_columns(name, rule=pl.lit("pid"))
    own = metrics.with_columns(name).filter(pl.col("run").is_in(copied["run"].implode()))
    own = own.with_columns(cost_1=pl.lit(30.0, pl.Float32), cost=0.9 * pl.col("cost"))
    # Worse only where the second limit is 40.
    loose = copied.filter(limit_1=40.0)["run"].implode()
    poorer = pl.when(pl.col("run").is_in(loose)).then(30.0).otherwise(0.0)
    own = own.with_columns((pl.col("return") - poorer).cast(pl.Float32).alias("return"))
    findings = analyze(
        pl.concat([runs, copied]), pl.concat([metrics, own]), Options(replicates=100)
    )
    tight, slack = [part for part in findings.tasks if part.constraint and is_map(part)][:2]
    kept = [part.constraint.others[0].limit for part in (tight, slack) if part.constraint]
    assert kept == [20.0, 40.0]
    for part in (tight, slack):
        compared = [seed for seed in part.scatter if seed.limit is not None]
        assert len(compared) == sum(cell.seeds for cell in part.comparison)
    for part, broken in ((tight, True), (slack, False)):
        cells = [cell for cell in rules_map(part, 0.95).cells if cell.rule == "pid"]
        assert {cell.keeps == "broken" for cell in cells} == {broken}
        assert {"ga" in cell.loses_to for cell in cells} == {not broken}
