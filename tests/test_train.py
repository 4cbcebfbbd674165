"""saddle train, evaluate and export, from the command line and back."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import saddle
from saddle import policies
from saddle.cli import main

TASK = "SafetyPointCircle1-v0"
SMALL = (
    "--learner.steps-per-epoch",
    "1000",
    "--learner.hidden",
    "8",
    "8",
    "--learner.passes",
    "2",
    "--learner.batch",
    "500",
)
DOC = Path(__file__).parents[1] / "docs" / "explanation" / "algorithms.md"


def command(out, *more):
    rule = (
        "--multiplier:pid",
        "--multiplier.kp",
        "1e-3",
        "--limit",
        "25",
    )  # rules may come before other options
    return main(
        ["train", TASK, *rule, "--seeds", "2", "--steps", "4e3", "--out", str(out), *SMALL, *more]
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Stopped once, resumed, done."""
    out = tmp_path_factory.mktemp("train") / "run"
    assert command(out, "--limit-time", "0.1s", "--tensorboard") == 3
    assert command(out, "--resume") == 0
    return out


@pytest.mark.newest
def test_a_training_is_a_study(trained):
    study = saddle.open_study(trained)
    assert study.runs["status"].to_list() == ["done", "done"] and set(study.runs["rule"]) == {"pid"}
    metrics = study.metrics.sort("run", "epoch")
    assert metrics["epoch"].to_list() == [0, 1, 2, 3] * 2
    assert metrics["env_steps"].to_list() == [1000, 2000, 3000, 4000] * 2
    wanted = {
        "return",
        "cost",
        "window_cost",
        "lambda",
        "beta",
        "kl",
        "passes",
        "entropy",
        "std",
        "loss_pi",
    }
    assert wanted | {"loss_vr", "loss_vc", "ev_r", "ev_c", "grad_r", "grad_c", "grad_pi"} <= set(
        metrics.columns
    )
    assert json.loads(study.runs["params"][0])["rule"]["kp"] == 1e-3
    assert list((trained / "tensorboard").glob("events*"))


def test_it_is_not_run_twice(trained, capsys):
    assert command(trained) == 2
    assert "--resume" in capsys.readouterr().err
    assert command(trained, "--resume") == 0


def test_evaluate(trained, capsys):
    capsys.readouterr()
    assert main(["evaluate", str(trained), "--episodes", "3", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert [score["mode"] for score in scores] == ["deterministic", "stochastic"] * 2
    assert all(
        score["length_mean"] == 500 and score["limit"] == 25 and score["episodes"] == 3
        for score in scores
    )
    assert all(0 <= score["violating"] <= 1 for score in scores)
    assert scores[0]["return_mean"] != scores[1]["return_mean"]


def test_export_and_the_example_of_the_docs(trained, tmp_path, capsys, monkeypatch):
    assert main(["export", str(trained), "--out", str(tmp_path / "POLICY")]) == 2
    assert "choose one with --run" in capsys.readouterr().err
    run = saddle.open_study(trained).runs["run"][0]
    assert main(["export", str(trained), "--run", run, "--out", str(tmp_path / "POLICY")]) == 0
    code = re.search(r"```python\n(.*?)```", DOC.read_text(), re.DOTALL)
    assert code is not None
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    exec(code[1], scope)
    obs = np.random.default_rng(0).normal(size=28).astype(np.float32)
    np.testing.assert_allclose(
        scope["act"](obs), policies.load(tmp_path / "POLICY")(obs), atol=1e-5
    )
    assert scope["act"](obs, np.random.default_rng(0)).shape == (2,)
    assert (
        main(["evaluate", str(tmp_path / "POLICY"), "--episodes", "1", "--limit", "0", "--json"])
        == 0
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train", "SafetyPointCircel1-v0", "--out", "x"), "did you mean"),
        (("train", TASK, "--out", "x", "--limit", "-1"), "0 or more"),
        (("train", TASK, "--out", "x", "--limit", "1", "2"), "one per constraint"),
        (("train", TASK, "--out", "x", "--seeds", "0"), "at least 1"),
        (("train", TASK, "--out", "x", "--steps", "10"), "less than one epoch"),
        (
            ("train", TASK, "--out", "x", "--multiplier:fixed", "--multiplier.init", "-1"),
            "0 or more",
        ),
        (("evaluate", "nowhere"), "unknown policy"),
        (("evaluate", ".", "--episodes", "0"), "at least 1"),
        (("export", "nowhere", "--out", "x"), "not a study"),
        (("bench", "learner", "--members", "0"), "at least 1"),
    ],
)
def test_bad_input(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(list(words)) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error and len(error.strip().splitlines()) == 1
