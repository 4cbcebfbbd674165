"""Environments of packages that nobody here wrote: checked, and trained on a little."""

import importlib.util
import json

import pytest

import saddle
from saddle.cli import main


def package(module):
    """Skips where it is not installed."""
    missing = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(missing, reason=f"{module} is not installed (extra 'environments')")


CASES = [
    pytest.param(
        "gym:water-reservoir-v0 --import mo_gymnasium --reward 1 --cost flood=-0 "
        "--episode-length 50",
        ("flood",),
        id="water-reservoir",
        marks=package("mo_gymnasium"),
    ),
    pytest.param(
        "gym:mo-hopper-v5 --import mo_gymnasium --reward 0 --cost package_costs:effort",
        ("effort",),
        id="mo-hopper",
        marks=package("mo_gymnasium"),
    ),
    pytest.param(
        "gym:Cont-CC-PMSM-v0 --import gym_electric_motor --cost package_costs:current "
        "--episode-length 100",
        ("current",),
        id="gym-electric-motor",
        marks=package("gym_electric_motor"),
    ),
    pytest.param(
        "gym:SafetyBallReach-v0 --import bullet_safety_gym --cost collisions=info:cost_collisions "
        "--cost range=info:cost_out_of_range --episode-length 50",
        ("collisions", "range"),
        id="bullet-safety-gym",
        marks=[package("bullet_safety_gym"), package("pybullet")],
    ),
]
SMALL = (
    "--learner.steps-per-epoch 400 --learner.worlds 4 --learner.batch 400 --learner.hidden 4 "
    "--learner.passes 1 --steps 800"
)


@pytest.mark.parametrize(("words", "constraints"), CASES)
def test_a_package_is_checked_and_trained_on(words, constraints, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("saddle.trial.EPISODES", 8)
    monkeypatch.setattr("saddle.trial.WORLDS", 2)
    assert main(["check", *words.split(), "--quick", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert tuple(report["spec"]["constraints"]) == constraints
    assert not any(problem["wrong"] for problem in report["problems"])
    assert max(report["random_policy"]["share_of_steps_with_cost"]) > 0
    limits = ["1"] * len(constraints)
    out = tmp_path / "t"
    line = ["train", *words.split(), *SMALL.split(), "--limit", *limits, "--out", str(out)]
    assert main(line) == 0
    study = saddle.open_study(out)
    assert study.finished and study.runs["status"].to_list() == ["done"]
    assert study.metrics["env_steps"].max() == 800
