"""Policies that leave Saddle: in the environment itself they do what they do in Saddle's worlds."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tray
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import saddle
from saddle import policy_files
from saddle.errors import SaddleError
from saddle.tasks.gymnasium.worker.spaces import Actions, as_described, described, flat

DOC = Path(__file__).parents[1] / "docs/explanation/algorithms.md"

SPACES = [
    spaces.Box(np.zeros(2), np.array([1.0, 4.0]), dtype=np.float64),
    spaces.Box(-np.inf, np.inf, (2, 3)),
    spaces.Box(0, 255, (2, 2, 3), np.uint8),
    spaces.Box(0.0, 1.0, ()),
    spaces.Discrete(5, start=2),
    spaces.MultiDiscrete(np.array([[2, 3], [4, 1]])),
    spaces.MultiBinary((2, 2)),
    spaces.Dict(b=spaces.Discrete(2), a=spaces.Tuple((spaces.Box(-1, 1, (2,)),))),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
@given(seed=st.integers(0, 1000))
def test_a_described_space_flattens_alike(space, seed):
    space.seed(seed)
    ours = flat(space, "it")
    theirs = flat(as_described(json.loads(json.dumps(described(space)))), "it")
    np.testing.assert_array_equal((ours.low, ours.high), (theirs.low, theirs.high))
    value = space.sample()
    rows = np.zeros((2, ours.size))
    ours.write(value, rows[0])
    theirs.write(value, rows[1])
    np.testing.assert_array_equal(rows[0], rows[1])


@pytest.mark.parametrize("space", [*SPACES[:2], *SPACES[4:6]], ids=str)
@given(seed=st.integers(0, 1000))
def test_a_described_space_takes_the_same_actions(space, seed):
    ours = Actions(space)
    theirs = Actions(as_described(json.loads(json.dumps(described(space)))))
    rows = 1.5 * ours.random(np.random.default_rng(seed), 3) if not ours.choices else None
    if rows is None:
        rows = ours.random(np.random.default_rng(seed), 3)
    for one, other in zip(ours.of(rows), theirs.of(rows), strict=True):
        np.testing.assert_array_equal(one, other)
        assert space.contains(one)


@pytest.fixture(scope="module", params=["Tray", "Switch"])
def trained(request, tmp_path_factory):
    """The environment, and the folder of a policy that was trained a little in it."""
    folder = tmp_path_factory.mktemp("native") / "S"
    environment = saddle.Environment(f"tray:{request.param}", cost="cost", length=20)
    learner = saddle.PPO(steps_per_epoch=400, hidden=(8,), passes=4, batch=100, actor_lr=1e-2)
    study = saddle.train(environment, folder, rule=saddle.Fixed(0.1), steps=4000, learner=learner)
    (run,) = study.runs["run"]
    return getattr(tray, request.param), study.policy_folder(run)


def test_in_the_environment_itself_it_scores_the_same(trained):
    kind, folder = trained
    policy = saddle.load_policy(folder)
    (score,) = [one for one in saddle.evaluate(folder, episodes=200) if one.mode == "deterministic"]
    returns = []
    for seed in range(200):
        env = kind()
        obs, _ = env.reset(seed=seed)
        total = 0.0
        for _ in range(20):
            obs, reward, *_ = env.step(policy(obs))
            total += float(reward)
        returns.append(total)
    error = np.hypot(score.return_sd, np.std(returns)) / np.sqrt(200)
    assert np.mean(returns) == pytest.approx(score.return_mean, abs=4 * error)


def test_the_docs_numpy_policy_gives_the_same_actions(trained, tmp_path, monkeypatch):
    kind, folder = trained
    monkeypatch.chdir(tmp_path)
    (tmp_path / "POLICY").symlink_to(folder)
    blocks = re.findall(r"^```python\n(.*?)^```", DOC.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = (block for block in blocks if "def act(obs" in block)
    names = {}
    exec(block, names)
    policy = saddle.load_policy(folder)
    env = kind()
    obs, _ = env.reset(seed=0)
    space = flat(kind.observation_space, "it")
    for _ in range(30):
        row = np.zeros(space.size)
        space.write(obs, row)
        action = policy(obs)
        np.testing.assert_allclose(names["native"](names["act"](row)), action, rtol=1e-5, atol=1e-6)
        obs, *_ = env.step(action)


def test_what_is_no_observation_and_no_space_is_said(trained, tmp_path):
    _, folder = trained
    policy = saddle.load_policy(folder)
    no_observations: list[Any] = [
        np.zeros(5),
        {"place": np.zeros(2)},
        {"place": 0, "side": 0, "pushed": 0},
        None,
    ]
    for wrong in no_observations:
        with pytest.raises(SaddleError, match="this is no observation of tray"):
            policy(wrong)
    arrays, facts = policy_files.read(folder)
    for spaces_, said in (({}, "observation"), ({"observation": {"kind": "Graph"}}, "Graph")):
        policy_files.save(tmp_path, dict(arrays), facts | {"spaces": spaces_})
        with pytest.raises(SaddleError, match=f"has spaces that are not.*{said}"):
            saddle.load_policy(tmp_path)


def test_a_policy_of_a_task_of_saddles_own_takes_rows():
    assert policy_files.read("circle1-fixed-1")[1]["spaces"] is None
    assert saddle.load_policy("circle1-fixed-1")(np.zeros((3, 28))).shape == (3, 2)
