"""Training that begins from an exported policy."""

import dataclasses

import numpy as np
import pytest
from learners.toys import Choices

import saddle
from saddle import policy_files
from saddle.cli import main
from saddle.config import Member
from saddle.errors import SaddleError
from saddle.population import Population

TASK = "learners.toys:Regulator"
SMALL = saddle.PPO(steps_per_epoch=200, hidden=(8, 8), passes=2, batch=100)


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """Trained for a few epochs, so that weights and moments are not those of the start."""
    out = tmp_path_factory.mktemp("warm") / "study"
    study = saddle.train(TASK, out, rule=saddle.Fixed(1.0), steps=1000, learner=SMALL)
    return study.policy_folder(study.runs["run"][0])


def population(policy, task=TASK, **changes):
    learner = dataclasses.replace(SMALL, start=str(policy), **changes)
    return Population(task, learner, [Member(0), Member(1)], 1000)


def test_every_member_begins_as_the_policy(policy):
    begun = population(policy)
    state = begun.init()
    arrays, _ = policy_files.read(policy)
    for member in range(2):
        for name, value in begun.policy(state, member).items():
            np.testing.assert_allclose(value, arrays[name], rtol=1e-5, atol=1e-7, err_msg=name)
    weights = np.asarray(state.members.learner.critics[0][0][0])  # [M, in, out]
    assert (weights[0] != weights[1]).any()


def test_a_training_from_a_policy_is_a_run_of_its_own(policy, tmp_path, capsys):
    words = ["train", TASK, "--multiplier:fixed", "--limit", "1", "--steps", "400"]
    words += ["--learner.steps-per-epoch", "200", "--learner.hidden", "8", "8"]
    words += ["--learner.passes", "2", "--learner.batch", "100"]
    assert main([*words, "--out", str(tmp_path / "warm"), "--from", str(policy)]) == 0
    assert main([*words, "--out", str(tmp_path / "cold")]) == 0
    warm, cold = (saddle.open_study(tmp_path / name) for name in ("warm", "cold"))
    assert warm.metrics["return"][0] != cold.metrics["return"][0]
    assert (
        main(["study", "merge", str(warm.path), str(cold.path), "--out", str(tmp_path / "m")]) == 0
    )
    assert saddle.open_study(tmp_path / "m").runs["run"].n_unique() == 2


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"hidden": (8, 4)}, r"has hidden \[8, 8\], this learner \[8, 4\]"),
        ({"activation": "tanh"}, "has activation elu, this learner tanh"),
        ({"obs_norm": False}, "same obs_norm and obs_clip"),
        ({"task": Choices()}, "1 actions .* but Choices has 1 and 2"),
    ],
)
def test_a_policy_that_does_not_fit_is_one_line(policy, changes, complaint):
    with pytest.raises(SaddleError, match=complaint):
        population(policy, **changes)


def test_a_policy_that_is_not_there_is_one_line(tmp_path, capsys):
    words = ["train", TASK, "--out", str(tmp_path / "s"), "--from", str(tmp_path / "nothing")]
    assert main(words) == 2
    assert "nothing" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "s").exists()


def test_a_policy_of_other_layers_leaves_no_study_behind(policy, tmp_path, capsys):
    words = ["train", TASK, "--out", str(tmp_path / "s"), "--from", str(policy)]
    words += ["--steps", "400", "--learner.steps-per-epoch", "200", "--learner.hidden", "4"]
    assert main(words) == 2
    assert "has hidden [8, 8], this learner [4]" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
