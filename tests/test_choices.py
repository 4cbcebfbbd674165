"""A task whose actions are choices, through training, evaluation, Gymnasium and an exported policy.

What such a policy learns is in learners/test_cmdp.py.
"""

import json
import re
from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest
from learners.toys import Choices

import saddle
import saddle.gym
from saddle import policies, policy_files
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.gym.env import TaskEnv
from saddle.gym.vector import TaskVectorEnv
from saddle.tasks import TaskSpec

TASK = "learners.toys:Choices"
DOC = Path(__file__).parents[1] / "docs" / "explanation" / "algorithms.md"
SMALL = saddle.PPO(steps_per_epoch=256, hidden=(8, 8), passes=4, batch=64)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    out = tmp_path_factory.mktemp("choices") / "study"
    return saddle.train(TASK, out, rule=saddle.Fixed(1.0), steps=2048, learner=SMALL)


@pytest.fixture(scope="module")
def policy(study):
    return study.policy_folder(study.runs["run"][0])


def test_training_writes_a_policy_that_chooses(study, policy):
    arrays, facts = policy_files.read(policy)
    assert facts["choices"] == [3, 2]
    assert arrays["log_std"].shape == (0,) and arrays["w2"].shape == (8, 5)
    entropy = study.metrics["entropy"]
    assert entropy.is_between(0, np.log(3)).all()
    assert study.metrics["std"].is_nan().all()


def test_evaluation_plays_the_best_choice_and_draws(policy, capsys):
    assert main(["evaluate", str(policy), "--episodes", "64", "--json"]) == 0
    best, drawn = json.loads(capsys.readouterr().out)
    task = Choices()
    returns = [a + b for a in task.rewards[0] for b in task.rewards[1]]
    assert best["return_sd"] < 1e-6
    assert np.isclose(best["return_mean"], returns, atol=1e-5).any()
    assert drawn["return_sd"] > 0


def test_the_docs_numpy_policy_chooses_alike(policy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "POLICY").symlink_to(policy)
    blocks = re.findall(r"^```python\n(.*?)^```", DOC.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = (block for block in blocks if "def act(obs" in block)
    names = {}
    exec(block, names)
    ours = policies.load(policy)
    rng = np.random.default_rng(0)
    for obs in rng.normal(size=(10, 1)):
        np.testing.assert_array_equal(names["act"](obs), ours(obs))
    drawn = {tuple(names["act"](np.ones(1), rng)) for _ in range(200)}
    assert len(drawn) > 1 and drawn <= {(a, b) for a in range(3) for b in range(2)}


def test_gymnasium_takes_choices():
    one, many = TaskEnv(Choices()), TaskVectorEnv(Choices(), 4)
    assert one.action_space == gymnasium.spaces.MultiDiscrete([3, 2])
    one.reset(seed=0)
    assert one.step(np.array([1, 0]))[1] == pytest.approx(0.8)
    many.reset(seed=0)
    rewards = many.step(np.array([[0, 0], [1, 0], [2, 0], [2, 1]]))[1]
    np.testing.assert_allclose(rewards, [0, 0.8, 1, 1.5], rtol=1e-6)
    for wrong, complaint in {(3, 0): "below", (0, -1): "below", (0.5, 0): "whole number"}.items():
        one.reset(seed=0)
        with pytest.raises(SaddleError, match=complaint):
            one.step(np.array(wrong))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"choices": (3,)}, "choices has 1 entries, but action_dim is 2"),
        ({"choices": (3, 0)}, "how many choices"),
        ({"choices": [3, 2]}, "how many choices"),
    ],
)
def test_a_spec_with_wrong_choices_is_refused(wrong, complaint):
    with pytest.raises(SaddleError, match=complaint):
        TaskSpec("T", 1, 2, 1, 1.0, ("cost",), **wrong)


def test_a_policy_of_other_actions_does_not_fit(policy):
    spec = TaskSpec("Real", 1, 2, 1, 1.0, ("cost",))
    with pytest.raises(SaddleError, match=r"chooses among \[3, 2\] .*takes real numbers"):
        policies.load(policy, spec)


def test_the_random_policy_takes_every_choice():
    random = policies.random(Choices.spec)
    drawn = np.array([random(np.ones(1), key) for key in jax.random.split(jax.random.key(0), 50)])
    assert drawn.min(0).tolist() == [0, 0] and drawn.max(0).tolist() == [2, 1]
