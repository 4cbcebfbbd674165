"""A frontier's study grows round by round, and is the same however often it was interrupted."""

import dataclasses
import shutil

import numpy as np
import polars as pl
import pytest
from fake import FakeProgram
from helpers import TASK, After, Notes

import saddle
from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.multipliers import each_lambda
from saddle.study import grow
from saddle.study.frontier import EPOCHS, Wish, first_plan, open_frontier, sized, train_frontier
from saddle.study.prepare import plan_of
from saddle.study.stop import Stopper
from saddle.tasks import spec_of

FAKE = f"{FakeProgram.__module__}:FakeProgram"
SPEC = spec_of(TASK)
NAMES = SPEC.constraints
WISH = Wish(TASK, ((5.0,),), seeds=2, steps=800, learner=PPO(steps_per_epoch=100, worlds=1))


def trained(out, stop=None, wish=WISH, resume=True):
    notes = Notes()
    study = open_frontier(wish, SPEC, out, resume)
    with stop or Stopper() as stop:
        return train_frontier(study, wish, NAMES, stop, notes, FAKE), notes


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("whole") / "s")


def test_nine_multipliers_in_three_rounds(whole):
    study, notes = whole
    assert study.finished and [stage.name for stage in plan_of(study).stages] == [
        "pilot",
        "sweep",
        "bends",
    ]
    runs = study.runs
    assert runs["lambda"].n_unique() == 9 and runs.height == 18
    assert set(runs["status"]) == {"done"}
    assert study.metrics.height == 18 * 8
    # The fake's cost is 40 / (1 + lambda): the limit 5 is met at lambda 7.
    near = runs.filter(pl.col("lambda").is_between(7 / 1.8, 7 * 1.8))
    assert near["lambda"].n_unique() >= 2
    assert [text for text in notes.said if text.startswith("round")] == [
        f"round {i} of 3, {name}: lambda {', '.join(f'{v:g}' for v in stage.lambdas)}"
        for i, (name, stage) in enumerate(
            ((stage.name, stage) for stage in plan_of(study).stages), 1
        )
    ]


def test_more_multipliers_are_added_to_a_finished_frontier(whole, tmp_path):
    shutil.copytree(whole[0].path, tmp_path / "s")
    study, notes = trained(tmp_path / "s", wish=dataclasses.replace(WISH, lambdas=12))
    assert [stage.name for stage in plan_of(study).stages][3:] == ["more-1"]
    assert study.finished and study.runs["lambda"].n_unique() == 12
    assert "round 4 of 4, more-1" in " ".join(notes.said)
    before = whole[0].metrics
    kept = study.metrics.filter(pl.col("run").is_in(before["run"].unique().to_list()))
    assert kept.equals(before)


@pytest.mark.parametrize("questions", [3, 9, 14, 25])
def test_stopped_and_resumed_it_ends_the_same(whole, questions, tmp_path):
    study, _ = trained(tmp_path / "s", After(questions))
    assert not study.finished
    study, _ = trained(tmp_path / "s")
    assert study.finished
    assert study.metrics.equals(whole[0].metrics)
    assert study.runs.drop("seconds", strict=False).equals(
        whole[0].runs.drop("seconds", strict=False)
    )


def test_a_round_that_was_planned_half_is_completed(whole, tmp_path, monkeypatch):
    """Killed between the plan and its runs."""

    def killed(*anything):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(grow, "complete", killed)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "s")
    study, _ = trained(tmp_path / "s")
    assert study.metrics.equals(whole[0].metrics)


def test_what_is_there_is_kept(whole):
    path = whole[0].path
    with pytest.raises(SaddleError, match="add --resume"):
        open_frontier(WISH, SPEC, path, resume=False)
    other = dataclasses.replace(WISH, steps=900)
    with pytest.raises(SaddleError, match="another plan"):
        open_frontier(other, SPEC, path, resume=True)


def test_epochs_hold_whole_episodes_unless_their_size_is_told():
    assert sized(PPO(steps_per_epoch=4000), 500).steps_per_epoch == 4000
    assert sized(PPO(steps_per_epoch=4000), 3000).steps_per_epoch == 12_000
    long = dataclasses.replace(SPEC, episode_length=3000)
    told = Wish(TASK, learner=PPO(steps_per_epoch=1234))
    assert first_plan(told, long).learner.steps_per_epoch == 1234
    assert first_plan(Wish(TASK), long).learner.steps_per_epoch >= 12_000


@pytest.mark.parametrize("kind", [saddle.PPO, saddle.Conditioned, saddle.SAC])
@pytest.mark.parametrize("accelerated", [False, True])
def test_every_learner_is_sized_for_a_machine(kind, accelerated):
    learner = kind.for_machine(accelerated)
    assert type(learner) is kind
    plan = first_plan(Wish(TASK, learner=learner), SPEC)
    assert type(plan.learner) is kind and plan.epochs_of(plan.learner) in EPOCHS.values()
    drawn = [rule.drawn for stage in plan.stages for rule in stage.rules]
    assert drawn == ([True] if kind is saddle.Conditioned else [])


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"lambdas": 2}, "at least 3"),
        ({"seeds": 0}, "at least 1"),
        ({"limits": ((-1.0,),)}, "is not a cost"),
        ({"limits": ((float("nan"),),)}, "is not a cost"),
    ],
)
def test_wishes_that_cannot_be(wrong, complaint):
    with pytest.raises(SaddleError, match=complaint):
        Wish(TASK, **wrong)


class TwoCostsProgram(FakeProgram):
    """Each cost falls with its own multiplier."""

    def epoch(self, state):
        state, metrics = super().epoch(state)
        lambdas = np.array([each_lambda(member.rule.init, 2) for member in self.members])
        return state, metrics | {"cost": 40 / (1 + lambdas), "lambda": lambdas}


def test_two_constraints_have_a_grid_that_closes_in_on_both_limits(tmp_path):
    spec = spec_of("SafetyPointGoal1TwoCosts-v0")
    wish = dataclasses.replace(WISH, task=spec.name, limits=((5.0, 25.0),), seeds=1)
    study = open_frontier(wish, spec, tmp_path / "s", resume=False)
    program = f"{TwoCostsProgram.__module__}:TwoCostsProgram"
    with Stopper() as stop:
        study = train_frontier(study, wish, spec.constraints, stop, Notes(), program)
    assert study.finished and study.runs.height == 25
    grid = study.runs.select("lambda", "lambda_1").unique()
    assert grid.height == 25
    # Limit 5 is met at lambda 7, limit 25 at 0.6: each axis has a multiplier within half a decade.
    for column, star in (("lambda", 7.0), ("lambda_1", 0.6)):
        axis = grid[column].unique().to_numpy()
        assert len(axis) == 5
        assert np.abs(np.log10(axis / star)).min() < 0.25


def test_limits_for_another_number_of_constraints_are_refused(tmp_path):
    spec = spec_of("SafetyPointGoal1TwoCosts-v0")
    wish = dataclasses.replace(WISH, task=spec.name, limits=((5.0,),))
    with pytest.raises(SaddleError, match="give one value for each"):
        open_frontier(wish, spec, tmp_path / "s", resume=False)
