"""Critics beside episodes, against a loop over runs; and where it is shown."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from saddle.analysis import Options, analyze
from saddle.analysis.show import show
from saddle.analysis.simulate import LINE, simulate
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
