"""`saddle train --learner:sac` and what follows it, and presets of SAC."""

import json

import numpy as np
import pytest
from report.pages import page_data

import saddle
from saddle import policies
from saddle.cli import main
from saddle.config import Member
from saddle.errors import SaddleError
from saddle.learners.sac.settings import SAC
from saddle.population import Population
from saddle.study import presets

TASK = "learners.toys:Regulator"
SMALL = ["--learner:sac", "--learner.steps-per-epoch", "100", "--learner.random-steps", "100"]
SMALL += ["--learner.replay", "400", "--learner.batch", "16", "--learner.hidden", "8"]
SMALL += ["--learner.actor-lr", "1e-3"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two seeds under the rule that moves lambda."""
    out = tmp_path_factory.mktemp("sac") / "run"
    words = ["train", TASK, "--limit", "1", "--seeds", "2", "--steps", "600", "--out", str(out)]
    assert main([*words, *SMALL]) == 0
    return saddle.open_study(out)


def test_runs_carry_the_algorithm(trained):
    assert set(trained.runs["algorithm"]) == {"sac"}
    assert set(trained.runs["status"]) == {"done"}
    assert all("-sac-ga-" in run for run in trained.runs["run"])


def test_metrics_are_stored(trained):
    metrics = trained.metrics
    late = metrics.filter(metrics["epoch"] == 5)
    for name in SAC.metrics:
        seen = metrics if name in ("grad_r", "grad_c") else late  # norms are looked at now and then
        assert np.isfinite(seen[name].to_numpy()).sum() >= 2, name
    assert "kl" not in metrics.columns and "passes" not in metrics.columns
    first = metrics.filter(metrics["epoch"] <= 1)  # an epoch and a cycle are random
    assert set(first["lambda"]) == {1.0} and late["lambda"].min() != 1.0


def test_critics_are_shown_beside_episodes(trained, tmp_path, capsys):
    assert main(["analyze", str(trained.path), "--json"]) == 0
    (part,) = json.loads(capsys.readouterr().out)["tasks"]
    assert [one["signal"] for one in part["critics"]] == ["reward", "cost"]
    for one in part["critics"]:
        assert one["seeds"] == 2 and one["bias"]["lo"] <= one["bias"]["value"] <= one["bias"]["hi"]
    assert main(["report", str(trained.path), "--out", str(tmp_path / "page.html")]) == 0
    (shown,) = page_data(tmp_path / "page.html")["tasks"]
    for there, here in zip(shown["critics"], part["critics"], strict=True):
        assert there["signal"] == here["signal"]
        assert there["said"]["value"] == pytest.approx(here["said"]["value"], rel=1e-5)


def test_policies_say_that_actions_are_squashed(trained):
    folder = trained.policy_folder(trained.runs["run"][0])
    facts = json.loads((folder / "policy.json").read_text())
    assert facts["squash"] is True and facts["obs_clip"] is None
    act = saddle.load_policy(folder)
    policy = policies.network(folder)
    obs = np.array([0.3], np.float32)
    output = policies.output(policy.form, policy.weights, obs)
    assert output.shape == (2,)
    np.testing.assert_allclose(act(obs), np.tanh(output[:1]), rtol=1e-6)


def test_policies_are_evaluated_and_played(trained, tmp_path, capsys):
    assert main(["evaluate", str(trained.path), "--episodes", "4", "--limit", "1", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {score["mode"] for score in scores} == {"deterministic", "stochastic"}
    folder = trained.policy_folder(trained.runs["run"][0])
    drawn = tmp_path / "episode.png"
    assert main(["play", TASK, "--policy", str(folder), "--out", str(drawn)]) == 0
    assert drawn.exists()


def test_training_begins_from_its_own_policies_and_no_others(trained, tmp_path):
    run = trained.policy_folder(trained.runs["run"][0])
    words = ["train", TASK, "--limit", "1", "--steps", "300", *SMALL]
    assert main([*words, "--out", str(tmp_path / "warm"), "--from", str(run)]) == 0
    small = saddle.PPO(steps_per_epoch=200, hidden=(8,), passes=1, start=str(run), obs_norm=False)
    with pytest.raises(
        SaddleError, match="has squash True, this learner False; begin from a policy of the same"
    ):
        Population(TASK, small, [Member()], 400).init()


def test_sweeps_of_both_algorithms_make_one_study(trained, tmp_path):
    small = saddle.PPO(steps_per_epoch=200, hidden=(8,), passes=1)
    other = saddle.train(TASK, tmp_path / "ppo", limits=(1.0,), steps=400, learner=small)
    paths = [str(trained.path), str(other.path)]
    assert main(["study", "merge", *paths, "--out", str(tmp_path / "both")]) == 0
    both = saddle.open_study(tmp_path / "both")
    assert set(both.runs["algorithm"]) == {"sac", "ppo"}
    assert {"kl", "q_c", "beta"} <= set(both.metrics.columns)


def test_a_study_file_may_ask_for_it(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        f'tasks = ["{TASK}"]\nseeds = [0]\nsteps = 300\n'
        '[learner]\nalgorithm = "sac"\nsteps_per_epoch = 100\nrandom_steps = 100\nreplay = 400\n'
        "batch = 16\nhidden = [8]\n"
        '[[stages]]\nname = "sweep"\nlambdas = [0.5, 2.0]\n'
    )
    assert main(["study", "run", str(file), "--out", str(tmp_path / "out")]) == 0
    study = saddle.open_study(tmp_path / "out")
    assert study.runs["algorithm"].to_list() == ["sac", "sac"]
    assert set(study.runs["status"]) == {"done"}


def test_a_training_that_is_all_random_is_refused(tmp_path, capsys):
    words = ["train", TASK, "--limit", "1", "--steps", "4e3", "--out", str(tmp_path / "run")]
    assert main([*words, "--learner:sac"]) == 2
    assert "actions are random for 10020" in capsys.readouterr().err


def test_the_bench_measures_it(capsys):
    words = ["bench", "learner", "--task", TASK, "--members", "2", "--epochs", "1", "--json"]
    assert main([*words, *SMALL]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["algorithm"] == "sac" and found["steps_per_second"] > 0
    assert found["flop_per_epoch"] > 0


def test_the_preset_is_the_published_sweep():
    plan = presets.load("paper-sac")
    (stage,) = plan.stages
    np.testing.assert_allclose(np.log10(stage.lambdas), np.linspace(-1, 1, 15), atol=1e-12)
    assert plan.seeds == tuple(range(5)) and plan.steps == 3_500_000
    assert plan.tasks == ("SafetyPointCircle1-v0",) and plan.learner == SAC()
    words, _ = presets.PRESETS["paper-sac"]
    assert "not stated" in words


def test_the_small_preset_is_for_a_cpu():
    plan = presets.load("quick-sac")
    assert isinstance(plan.learner, SAC) and plan.learner.layout == "wide"
    assert plan.learner.member_bytes(28, 2, 1) < 90e6


def test_a_plan_in_another_layout_has_its_worlds():
    plan = presets.load("paper-sac", layout="wide")
    assert plan.learner.worlds_for(500) == 20
    assert presets.load("paper-sac").learner.worlds_for(500) == 1


def test_memory_is_mostly_the_replay():
    """33 numbers a row on Circle1, a million rows; and a copy of them."""
    size = SAC().member_bytes(28, 2, 1)
    assert 264e6 < size < 326e6
    assert SAC(replay_type="bf16").member_bytes(28, 2, 1) < 0.65 * size


def test_what_does_not_fit_is_told_the_replay_that_would():
    there = 300_000_000
    advice = SAC().room_advice(there, 28, 2, 1)
    assert advice.startswith("lower the learner's replay to at most ")
    most = int(advice.rpartition(" ")[2].replace(",", ""))
    assert SAC(replay=most).member_bytes(28, 2, 1) <= there
    assert SAC(replay=most + 2).member_bytes(28, 2, 1) > there
    assert "hidden" in SAC().room_advice(1_000_000, 28, 2, 1)


def test_a_replay_beyond_all_memory_is_one_line(tmp_path, capsys):
    words = ["train", TASK, "--limit", "1", "--steps", "600", "--out", str(tmp_path / "run")]
    assert main([*words, *SMALL, "--learner.replay", "100_000_000_000"]) == 2
    said = capsys.readouterr().err
    (line,) = [line for line in said.splitlines() if "error" in line]
    assert "lower the learner's replay to at most" in line and "Traceback" not in said
