"""What goes into the report: packed curves, limits to answer, plans as study files, and what it
refuses.
"""

import base64
import itertools
import tomllib

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from report.made import store

from saddle import cli
from saddle.analysis import Options, analyze
from saddle.analysis.constraints import title
from saddle.analysis.simulate import BEND, Truth, simulate
from saddle.analysis.simulate_several import TwoCosts, simulate_two
from saddle.errors import SaddleError
from saddle.report.page.curves import LEVELS, POINTS, binned, pack
from saddle.report.page.data import in_order, study_data
from saddle.report.page.ladder import ladder
from saddle.report.page.reproduce import reproduce, to_toml
from saddle.study.plan_dict import to_dict
from saddle.study.presets import PRESETS, load
from saddle.study.store import open_study
from saddle.study.toml import plan_from
from saddle.words import scientific

finite = st.floats(-1e6, 1e6, width=32)


@given(
    hnp.arrays(
        float, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=finite | st.just(np.nan)
    )
)
def test_packed_curves_come_back_within_half_a_level(values):
    packed = pack(values)
    known = np.isfinite(values)
    if packed is None:
        assert not known.any()
        return
    half = (packed["hi"] - packed["lo"]) / (LEVELS - 1) / 2
    if not packed["runs"]:
        assert known.all() and np.ptp(values) == 0 and packed["lo"] == values[0, 0]
        return
    for text, row in zip(packed["runs"], values, strict=True):
        bits = np.unpackbits(
            np.frombuffer(base64.urlsafe_b64decode(text + "AA" * (len(text) // 2 % 2)), np.uint8)
        )
        codes = (bits.reshape(-1, 12) @ (1 << np.arange(12)[::-1]))[: len(row)]
        back = packed["lo"] + codes / (LEVELS - 1) * (packed["hi"] - packed["lo"])
        assert ((codes == LEVELS) == ~np.isfinite(row)).all()
        there = np.isfinite(row)
        np.testing.assert_allclose(back[there], row[there], rtol=1e-12, atol=half * (1 + 1e-9))


@pytest.mark.parametrize("epochs", [1, 7, 200, 201, 1750])
def test_bins_are_means_of_consecutive_epochs(epochs):
    rng = np.random.default_rng(epochs)
    values = rng.normal(size=(2, epochs))
    values[1, epochs // 2 :] = np.nan  # no episode finished any more
    frame = pl.DataFrame({
        "run": np.repeat(["b", "a"], epochs),
        "epoch": np.tile(np.arange(epochs, dtype=np.int32), 2),
        "env_steps": np.tile(np.arange(1, epochs + 1) * 100, 2),
        **dict.fromkeys(("return", "cost", "lambda"), values.ravel()),
    })  # fmt: skip
    steps, means = binned(["b", "a"], frame.sample(fraction=1.0, shuffle=True, seed=0))
    width = -(-epochs // POINTS)
    assert means.shape == (2, -(-epochs // width), 3) and means.shape[1] <= POINTS
    pieces = [slice(i, i + width) for i in range(0, epochs, width)]
    for row, many, ends in zip(values, means, steps, strict=True):
        wanted = [row[piece][np.isfinite(row[piece])] for piece in pieces]
        wanted = [piece.mean() if len(piece) else np.nan for piece in wanted]
        np.testing.assert_allclose(many, np.tile(wanted, (3, 1)).T, rtol=1e-12)
        assert ends.tolist() == [min(piece.stop, epochs) * 100 for piece in pieces]


@given(st.floats(1e-4, 1e6))
def test_the_ladder_is_plain_rising_and_reaches_the_top(top):
    limits = ladder(top)
    assert all(a < b for a, b in itertools.pairwise(limits))
    assert 0 < limits[0] <= top / 10 and top < limits[-1] <= 1.2 * top
    assert 20 <= len(limits) <= 50
    assert all(limit == float(f"{limit:.3g}") for limit in limits)


@pytest.mark.parametrize("top", [0.0, -1.0, float("nan"), float("inf")])
def test_no_ladder_without_costs(top):
    assert ladder(top) == []


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_plan_survives_its_study_file(name):
    plan = load(name)
    fields = tomllib.loads(to_toml(to_dict(plan)))
    assert plan_from(fields) == plan


def test_a_preset_is_reproduced_by_name_anything_else_by_its_plan():
    plan = to_dict(load("quickstart"))
    known = reproduce({"plan": plan})
    assert known["command"] == "saddle study run quickstart --out STUDY" and known["file"] is None
    other = reproduce({"plan": plan | {"steps": 7_000_000}})
    assert other["command"] == "saddle study run plan.toml --out STUDY"
    assert tomllib.loads(other["file"])["steps"] == 7_000_000
    assert "--sweep SWEEP" in reproduce({"plan": to_dict(load("limits"))})["command"]
    assert reproduce({"plan": {"imported": "omnisafe"}})["command"] is None


@pytest.mark.parametrize(
    ("plan", "order"),
    [
        ({"tasks": ["c", "a", "b"]}, ["c", "a", "b"]),
        (
            {"merged": [{"tasks": ["b"]}, {"merged": [{"tasks": ["c"]}, {"tasks": ["a"]}]}]},
            ["b", "c", "a"],
        ),
        ({"tasks": ["c"]}, ["c", "a", "b"]),
        ({"imported": "omnisafe"}, ["a", "b", "c"]),
    ],
)
def test_tasks_come_in_the_order_of_the_plan(plan, order):
    assert in_order(["a", "b", "c"], plan) == order


def test_shorter_training_than_published_is_told(tmp_path):
    goal = Truth("SafetyPointGoal1-v0", BEND.cost, BEND.gain, (10.0, 25.0))
    runs, metrics = simulate([goal], np.random.default_rng(0), seeds=2, epochs=4)
    (part,) = study_data(open_study(store(tmp_path / "s", runs, metrics)), Options(replicates=100))[
        "tasks"
    ]
    assert part["published_comparison"] == [10, 25]
    steps = float(metrics["env_steps"].to_numpy().max())
    assert any(
        "of the published 3.5e7 env steps" in note and scientific(steps) in note
        for note in part["notes"]
    )
    full = metrics.with_columns(env_steps=pl.lit(35_000_000, pl.Int64))
    runs = runs.with_columns(steps=pl.lit(35_000_000, pl.Int64))
    (part,) = study_data(open_study(store(tmp_path / "full", runs, full)), Options(replicates=100))[
        "tasks"
    ]
    assert not any("published" in note for note in part["notes"])


def refused(capsys, *words):
    assert cli.main(["report", *map(str, words)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("saddle: error: ") and error.count("\n") == 1
    return error


def test_what_it_refuses(tmp_path, capsys):
    runs, metrics = simulate([BEND], np.random.default_rng(0), seeds=2, epochs=2)
    good = store(tmp_path / "good", runs, metrics)
    empty = store(tmp_path / "empty", runs.clear(), metrics.clear())
    begun = store(tmp_path / "begun", runs.with_columns(pl.lit("running").alias("status")), metrics)
    out = tmp_path / "report.html"
    assert "is not a study" in refused(capsys, tmp_path / "nowhere", "--out", out)
    assert "it has no runs" in refused(capsys, empty, "--out", out)
    assert f"none of its {runs.height} runs is done" in refused(capsys, begun, "--out", out)
    assert "is a folder" in refused(capsys, good, "--out", tmp_path)
    assert "takes no files" in refused(
        capsys, good, "--out", good / "manifest.json" / "report.html"
    )
    assert "is not a cost" in refused(capsys, good, "--out", out, "--limit", "-3")
    assert not out.exists()


@pytest.mark.parametrize("limits", [((69.44, 25.0),), ()])
def test_each_of_several_constraints_has_its_own_answers(tmp_path, limits):
    """At limits of its own, while the other keeps its limit or has none."""
    axis = (0.1, 0.5, 2.0)
    runs, metrics = simulate_two(TwoCosts(), np.random.default_rng(0), [axis, axis], limits, 3)
    study = open_study(store(tmp_path / "s", runs, metrics))
    options = Options(replicates=100)
    parts = study_data(study, options)["tasks"]
    found = analyze(runs, metrics, options)
    assert [part["constraint"] for part in parts] == [title(one.constraint) for one in found.tasks]
    for part, own in zip(parts, found.tasks, strict=True):
        answers = {finding["limit"]: finding for finding in part["limits"]}
        assert len(answers) > 20 and {limit.limit for limit in own.limits} <= set(answers)
        for limit in own.limits:
            shown = answers[limit.limit]["lambda"]["value"]
            assert shown == pytest.approx(limit.lambda_.value, rel=1e-4)
        assert len(part["together"]) == len(limits)
        groups = part["series"][: len(part["groups"])]
        assert [(one["lambda"], one["others"]) for one in groups] == [
            (group["lambda"], group["others"]) for group in part["groups"]
        ]
        assert {len(one["runs"]) for one in groups} == {3}
        assert len(part["series"]) == len(part["groups"]) + len(limits)


def test_each_of_several_constraints_knows_what_was_asked_of_it(tmp_path):
    """Its own limit of each set, where the view's other limit is that of the set."""
    axis = (0.1, 0.5, 2.0)
    runs, metrics = simulate_two(TwoCosts(), np.random.default_rng(0), [axis, axis], (), 3)
    study = open_study(store(tmp_path / "s", runs, metrics))
    options = Options(replicates=100, limits=((69.44, 25.0), (50.0, 25.0)))
    parts = study_data(study, options)["tasks"]
    titles = [part["constraint"] for part in parts]
    assert titles == ["both (second at 25)", "second (both at 50)", "second (both at 69.44)"]
    assert [part["asked"] for part in parts] == [[69.44, 50], [25], [25]]


def test_a_constraint_that_not_every_task_has_is_looked_at_where_it_is(tmp_path):
    rng = np.random.default_rng(0)
    alone, curves = simulate([BEND], rng, seeds=2, epochs=10, compare=False)
    renamed = pl.format("bend-{}", "run").alias("run")
    runs, metrics = simulate_two(TwoCosts(), rng, [(0.1, 0.5, 2)] * 2, seeds=2, epochs=10)
    both = pl.concat([alone.with_columns(renamed), runs], how="diagonal")
    joined = pl.concat([curves.with_columns(renamed), metrics], how="diagonal")
    study = open_study(store(tmp_path / "S", both, joined))
    for wanted in ("second", 1):
        data = study_data(study, Options(replicates=100, constraint=wanted))
        (part,) = data["tasks"]
        assert part["task"] == TwoCosts().task and part["constraint"].startswith("second")
        note = f"{BEND.task} has no constraint {wanted}: it is left out."
        assert note in part["notes"]
    for wanted in ("third", 2):
        with pytest.raises(SaddleError, match=f"there is no constraint '?{wanted}'? here"):
            study_data(study, Options(replicates=100, constraint=wanted))
