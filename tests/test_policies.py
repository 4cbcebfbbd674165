"""Scripted, random and exported policies."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from saddle import policies, rollouts, tasks
from saddle.errors import SaddleError

SPEC = tasks.make("SafetyPointGoal1-v0").spec
GOAL = SPEC.name


def phase(lidar):
    """The heading as TASKS.md writes it, with complex numbers."""
    return np.angle(np.sum(lidar * np.exp(2j * np.pi * (np.arange(16) + 0.5) / 16)))


# A lidar sees one thing: a bin and its two neighbours. That keeps the heading away from 0 / 0.
seen = st.tuples(st.integers(0, 15), st.floats(0.05, 1), st.floats(0, 1))


def lidar_of(thing):
    k, near, share = thing
    lidar = np.zeros(16)
    lidar[[k, (k + 1) % 16, (k - 1) % 16]] = near, near * share, near * (1 - share)
    return lidar


@pytest.mark.parametrize(
    ("task", "first"),
    [("SafetyPointGoal1-v0", 12), ("SafetyPointButton1-v0", 28), ("SafetyPointPush1-v0", 60)],
)
@given(thing=seen, noise=arrays(np.float64, 76, elements=st.floats(0, 1)))
def test_scripted_drives_towards_what_it_seeks(task, first, thing, noise):
    obs = noise[: tasks.make(task).spec.obs_dim].copy()
    obs[first : first + 16] = lidar_of(thing)
    angle = phase(lidar_of(thing))
    throttle, turn = policies.scripted(tasks.make(task))(obs.astype(np.float32))
    if abs(abs(angle) - 0.5) > 1e-4:
        assert throttle == (abs(angle) < 0.5)
    if abs(angle) < 3.1:  # straight behind, left and right are the same
        assert turn == pytest.approx(np.clip(1.5 * angle, -1, 1), abs=1e-4)


@given(thing=seen)
def test_scripted_keeps_the_centre_of_the_circle_on_its_left(thing):
    obs = np.concatenate([np.ones(12), lidar_of(thing)])
    off = (phase(lidar_of(thing)) - np.pi / 2 + np.pi) % (2 * np.pi) - np.pi
    throttle, turn = policies.scripted(tasks.make("SafetyPointCircle1-v0"))(obs.astype(np.float32))
    assert throttle == 1
    if abs(off) < 3.1:
        assert turn == pytest.approx(np.clip(off, -1, 1), abs=1e-4)


def test_scripted_acts_in_many_worlds_at_once():
    obs = np.zeros((5, 60), np.float32)
    obs[:, 12] = 1
    assert jax.vmap(policies.scripted(tasks.make(GOAL)))(obs).shape == (5, 2)


def test_there_is_no_script_for_every_task():
    with pytest.raises(SaddleError, match="SafetyAntVelocity-v1 has no scripted policy"):
        policies.scripted(tasks.make("SafetyAntVelocity-v1"))


def test_random_is_uniform_in_the_box_and_driven_by_its_key():
    act = jax.vmap(policies.random(SPEC), (None, 0))
    actions = np.asarray(act(np.zeros(60), jax.random.split(jax.random.key(0), 4000)))
    assert actions.shape == (4000, 2) and np.abs(actions).max() <= 1
    np.testing.assert_allclose(
        np.quantile(actions, [0.25, 0.5, 0.75], axis=0).T, [[-0.5, 0, 0.5]] * 2, atol=0.06
    )
    assert abs(np.corrcoef(actions.T)[0, 1]) < 0.06
    with pytest.raises(SaddleError, match="needs a key"):
        policies.random(SPEC)(np.zeros(60))


def weights(obs_dim=60, hidden=(8, 4), action_dim=2) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    sizes = [obs_dim, *hidden, action_dim]
    found = {}
    for i, (a, b) in enumerate(pairwise(sizes)):
        found |= {f"w{i}": rng.normal(size=(a, b)) / np.sqrt(a), f"b{i}": rng.normal(size=b)}
    found |= {"log_std": np.zeros(action_dim), "obs_mean": rng.normal(size=obs_dim)}
    return found | {"obs_var": np.concatenate([np.zeros(3), rng.uniform(0.1, 4, obs_dim - 3)])}


def facts(**changes):
    return {"task": GOAL, "activation": "tanh", "hidden": [8, 4], "obs_clip": 5.0} | changes


@pytest.fixture
def exported(tmp_path):
    """A way to write an exported policy, whole or not."""

    def write(arrays: Any = None, description: Any = None):
        np.savez(tmp_path / "policy.npz", **(weights() if arrays is None else arrays))
        (tmp_path / "policy.json").write_text(
            json.dumps(facts() if description is None else description)
        )
        return tmp_path

    return write


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("clip", [5.0, 0.3, None])
def test_an_exported_policy_acts_by_its_mean(exported, activation, clip):
    folder, w = exported(description=facts(activation=activation, obs_clip=clip)), weights()
    obs = np.random.default_rng(1).normal(size=60, scale=3)
    x = (obs - w["obs_mean"]) / np.maximum(np.sqrt(w["obs_var"]), 0.01)
    x = x if clip is None else np.clip(x, -clip, clip)
    bend = np.tanh if activation == "tanh" else lambda z: np.maximum(z, 0)
    expected = bend(bend(x @ w["w0"] + w["b0"]) @ w["w1"] + w["b1"]) @ w["w2"] + w["b2"]
    for path in (folder, folder / "policy.npz", folder / "policy.json", str(folder)):
        np.testing.assert_allclose(
            policies.load(path)(obs.astype(np.float32)), expected, rtol=2e-3, atol=2e-3
        )


def squashed():
    """Of two actions: means, then log standard deviations, the last of which is cut to 2."""
    arrays = weights(action_dim=4)
    arrays["b2"] = arrays["b2"] + np.array([0, 0, -3, 50])
    return arrays | {"log_std": np.zeros(0)}


def snippet():
    """The function of docs/explanation/algorithms.md that plays a policy with NumPy alone."""
    text = (Path(__file__).parents[1] / "docs" / "explanation" / "algorithms.md").read_text()
    return next(part for part in text.split("```") if part.startswith("python\nimport json"))[7:]


@pytest.mark.parametrize(
    ("arrays", "description"), [(weights(), facts()), (squashed(), facts(squash=True))]
)
def test_what_the_docs_say_plays_a_policy(exported, arrays, description):
    folder = exported(arrays, description)
    play: dict[str, Any] = {}
    exec(snippet().replace("POLICY", str(folder)), play)
    obs = np.random.default_rng(1).normal(size=60, scale=3).astype(np.float32)
    np.testing.assert_allclose(policies.load(folder)(obs), play["act"](obs), rtol=2e-3, atol=2e-3)
    own = policies.network(folder)
    output = policies.output(own.form, own.weights, np.tile(obs, (20000, 1)))
    drawn = own.form.family.draw(output, own.weights.log_std, jax.random.key(0))
    rng = np.random.default_rng(2)
    theirs = np.array([play["act"](obs, rng) for _ in range(4000)])
    np.testing.assert_allclose(drawn.mean(0), theirs.mean(0), atol=0.08)
    np.testing.assert_allclose(drawn.std(0), theirs.std(0), atol=0.08)


def test_a_squashed_policy_acts_by_the_tanh_of_its_mean(exported):
    folder = exported(squashed(), facts(squash=True))
    policy = policies.network(folder, SPEC)
    obs = np.random.default_rng(1).normal(size=60).astype(np.float32)
    mean = policies.output(policy.form, policy.weights, obs)[:2]
    np.testing.assert_allclose(policies.load(folder, SPEC)(obs), np.tanh(mean), rtol=1e-6)
    assert policy.form.action_dim == 2


def test_a_policy_may_be_a_single_layer(exported):
    folder = exported(weights(hidden=()), facts(hidden=[]))
    assert policies.get(str(folder), tasks.make(GOAL))(np.zeros(60, np.float32)).shape == (2,)


def without(name):
    return {key: value for key, value in weights().items() if key != name}


@pytest.mark.parametrize(
    ("arrays", "description", "complaint"),
    [
        (without("w1"), None, "lacks w1"),
        (without("log_std"), None, "lacks log_std"),
        ({}, None, "lacks w0, b0, log_std, obs_mean, obs_var"),
        (weights() | {"b0": np.zeros(7)}, None, "weights and biases that do not fit"),
        (weights() | {"w1": np.zeros((9, 4))}, None, "layers that do not fit"),
        (
            weights() | {"obs_mean": np.zeros(59)},
            None,
            "obs_mean, obs_var or log_std that do not fit",
        ),
        (
            weights() | {"log_std": np.zeros(3)},
            None,
            "obs_mean, obs_var or log_std that do not fit",
        ),
        (weights() | {"w0": np.full((60, 8), np.nan)}, None, "not finite"),
        (weights() | {"obs_var": -np.ones(60)}, None, "negative variance"),
        (weights() | {"w0": np.array([["a"]])}, None, "damaged"),
        (weights() | {"w0": np.array([None])}, None, "damaged"),
        (weights(obs_dim=28), None, r"maps 28 observations to 2 actions .* has 60 and 2"),
        (weights(action_dim=3), None, "maps 60 observations to 3 actions"),
        (None, facts(hidden=[8, 8]), r"hidden layers \[8, 4\], but .* says \[8, 8\]"),
        (None, facts(activation="swish"), "activation 'swish'; known are elu, tanh, relu"),
        (None, facts(activation=["tanh"]), "activation"),
        (None, facts(obs_clip=-1), "obs_clip -1"),
        (None, facts(squash="yes"), "squash 'yes'; it must be true or false"),
        (None, facts(squash=True), "log_std that do not fit"),
        (
            weights(action_dim=3) | {"log_std": np.zeros(0)},
            facts(squash=True),
            "3 outputs, but .* says squash",
        ),
        (squashed(), facts(squash=True, choices=[2, 2]), "nothing to squash"),
        (weights() | {"log_std": np.zeros(0)}, facts(squash=True), "to 1 actions"),
        (None, facts(dial={"low": 0.1, "high": 10.0, "constraints": 0}), "a dial of 0 constraints"),
        (None, facts(dial={"low": True, "high": 10.0, "constraints": 1}), "a dial from True to 10"),
        (None, facts(dial={"low": 0.1, "high": np.inf, "constraints": 1}), "from 0.1 to inf"),
        (None, {"activation": "tanh"}, "names no task"),
        (None, [], "names no task"),
    ],
)
def test_a_policy_that_does_not_fit_gets_one_clear_line(exported, arrays, description, complaint):
    with pytest.raises(SaddleError, match=complaint) as caught:
        policies.load(exported(arrays, description), SPEC)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_a_damaged_file_gets_one_clear_line(exported, damage):
    folder = exported()
    (folder / "policy.npz").write_bytes(damage)
    with pytest.raises(SaddleError, match="damaged"):
        policies.load(folder)


def test_a_file_cut_in_half_gets_one_clear_line(exported):
    file = exported() / "policy.npz"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(SaddleError, match="damaged"):
        policies.load(file)


def test_a_description_that_is_no_json_gets_one_clear_line(exported):
    folder = exported()
    (folder / "policy.json").write_bytes(b"\xff{")
    with pytest.raises(SaddleError, match=r"cannot read .*policy\.json"):
        policies.load(folder)


def test_missing_files_are_named(exported, tmp_path):
    with pytest.raises(SaddleError, match=r"unknown policy '.*': use the path of an exported"):
        policies.load(tmp_path)
    (exported() / "policy.npz").unlink()
    with pytest.raises(SaddleError, match=r"policy\.npz, which does not exist"):
        policies.load(tmp_path)
    (exported() / "policy.json").unlink()
    with pytest.raises(SaddleError, match=r"policy\.json, which does not exist"):
        policies.load(tmp_path / "policy.npz")
    with pytest.raises(SaddleError, match="File name too long"):
        policies.load("x" * 300)
    with pytest.raises(
        SaddleError, match="unknown policy 'scriptd': use 'random', 'scripted', the path"
    ):
        policies.get("scriptd", tasks.make(GOAL))


def test_a_policy_of_an_unknown_task_is_read_but_not_played(exported):
    """Reading imports nothing that a policy names; playing needs the task, and says so."""
    policy = policies.network(exported(description=facts(task="Chess-v0")))
    assert policy.task == "Chess-v0"
    with pytest.raises(SaddleError, match="unknown task 'Chess-v0'"):
        rollouts.play([policies.dialled(policy, None, "it")], 1, 0)
