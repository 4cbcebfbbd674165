"""Critics beside episodes, against a loop over runs; and where it is shown."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from saddle.analysis import Options, analyze
from saddle.analysis.show import show
from saddle.analysis.simulate import LINE, simulate
from saddle.analysis.simulate_several import TwoCosts, simulate_two
from saddle.report import tables

AT_THE_END = 0.5  # of the epochs
NAMES = ("start_q_r", "start_mc_r", "start_q_c", "start_mc_c")


@pytest.fixture(scope="module")
def study():
    """Runs whose cost critics say twice what comes, in those epochs in which an episode ended."""
    rng = np.random.default_rng(0)
    runs, metrics = simulate([LINE], rng, seeds=4)
    said = rng.normal(3, 0.1, (4, metrics.height))
    said[2] = 2 * said[3]
    said[:, metrics["epoch"].to_numpy() % 2 == 0] = np.nan
    columns = [pl.Series(name, values) for name, values in zip(NAMES, said, strict=True)]
    return runs, metrics.with_columns(columns)


@pytest.fixture(scope="module")
def findings(study):
    runs, metrics = study
    return analyze(runs, metrics, Options(replicates=200, final_share=AT_THE_END))


def test_biases_are_means_over_seeds_of_the_last_epochs(study, findings):
    runs, metrics = study
    (part,) = findings.tasks
    assert {one.signal for one in part.critics} == {"reward", "cost"}
    for one in part.critics:
        which = pl.col("rule").eq(one.rule) & pl.col("lambda").eq_missing(one.lambda_)
        own = runs.filter(which, pl.col("limit").eq_missing(one.limit)).sort("seed")
        kind = "r" if one.signal == "reward" else "c"
        tails = []
        for run in own["run"]:
            curve = metrics.filter(pl.col("run") == run).sort("epoch")
            end = curve.tail(int(np.ceil(AT_THE_END * curve.height)))
            values = end.select(f"start_q_{kind}", f"start_mc_{kind}").to_numpy()
            tails.append(np.nanmean(values, axis=0))
        said, came = np.array(tails).T
        assert one.seeds == len(own)
        assert one.said.value == pytest.approx(said.mean())
        assert one.came.value == pytest.approx(came.mean())
        low, high = stats.t.interval(0.95, 3, (said - came).mean(), stats.sem(said - came))
        assert (one.bias.lo, one.bias.hi) == pytest.approx((low, high))
        if kind == "c":
            assert one.share == pytest.approx(1.0, abs=1e-6)


def test_they_are_shown_in_words_json_and_tables(findings, capsys):
    show(findings)
    assert "beside what it comes to" in capsys.readouterr().out
    (plain,) = json.loads(findings.to_json())["tasks"]
    assert len(plain["critics"]) == len(findings.tasks[0].critics)
    (table,) = [one for one in tables.tables(findings) if one.name == "critics"]
    assert set(table.numbers["signal"]) == {"reward", "cost"}
    assert "+100%" in {row[-1] for row in table.rows}


def test_studies_that_do_not_log_it_say_nothing():
    found = analyze(*simulate([LINE], np.random.default_rng(0), seeds=2), Options(replicates=200))
    assert found.tasks[0].critics == ()
    assert "critics" not in json.loads(found.to_json())["tasks"][0]


def test_of_several_constraints_every_pair_of_lambdas_has_its_own_row():
    rng = np.random.default_rng(0)
    runs, metrics = simulate_two(TwoCosts(), rng, [(0.1, 0.3, 1), (0.1, 0.3, 1)], seeds=3)
    said = {f"start_q_{name}": pl.lit(5.0) for name in ("r", "c", "c_1")}
    came = {"start_mc_r": "return", "start_mc_c": "cost", "start_mc_c_1": "cost_1"}
    metrics = metrics.with_columns(**said, **{name: pl.col(own) for name, own in came.items()})
    findings = analyze(runs, metrics, Options(replicates=100))
    first, second = findings.tasks
    for part in (first, second):
        pairs = {(one.lambda_, *one.others) for one in part.critics}
        assert len(pairs) == 9 and len(part.critics) == 18
        assert {one.seeds for one in part.critics} == {3}
    (group,) = [one for one in second.groups if (one.lambda_, one.others) == (0.3, (1.0,))]
    (own,) = [
        one
        for one in second.critics
        if (one.lambda_, one.others, one.signal) == (0.3, (1.0,), "second")
    ]
    assert own.came.value == pytest.approx(group.cost.value)
    (table,) = [one for one in tables.tables(findings) if one.name == "critics"]
    assert any(row[2].endswith("= 0.1; 0.3") for row in table.rows)
