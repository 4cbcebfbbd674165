"""A frontier's study grows round by round, and is the same however often it was interrupted."""

import dataclasses
import json
import shutil
import time
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from fake import FakeProgram
from helpers import TASK, After, Notes, killed_after

import saddle
from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.multipliers import each_lambda
from saddle.study import claims, frontier, grow
from saddle.study.frontier import (
    EPOCHS,
    Wish,
    choose,
    first_plan,
    open_frontier,
    sized,
    train_frontier,
)
from saddle.study.local import Worker
from saddle.study.prepare import plan_of
from saddle.study.stop import Stopper
from saddle.study.store import MANIFEST
from saddle.tasks import spec_of
from saddle.verbs import frontier as frontier_verb

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


def test_the_time_limit_covers_drawing(whole, monkeypatch, capsys):
    """What is drawn first takes all the time that there is."""
    study, _ = whole
    told = []

    def draw(*arguments):
        told.append("draw")
        time.sleep(3)

    monkeypatch.setattr(frontier_verb, "draw_episodes", draw)
    for name in ("figures", "report", "analyze"):
        monkeypatch.setattr(frontier_verb, name, lambda *a, name=name, **k: told.append(name))
    exit_code = frontier_verb.frontier(WISH, study.path, True, limit_time="2s", program=FAKE)
    assert exit_code == 3 and "figures" not in told
    assert "stopped: the time limit is reached" in capsys.readouterr().out


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


def room_for(members, patch):
    """Let memory have room for so many runs in a unit of a round."""
    patch.setattr(grow, "capacity_here", lambda *anything: members)


def killed_while_planning(path, written, monkeypatch):
    """A frontier that was killed when so many units of its second round were there."""
    with monkeypatch.context() as patch:
        room_for(5, patch)
        killed_after(written, patch)
        with pytest.raises(KeyboardInterrupt):
            trained(path)


def sizes_of(study, stage):
    """How many runs each unit of a stage has."""
    return dict(study.runs.filter(stage=stage).group_by("unit").len().iter_rows())


@pytest.mark.parametrize("written", [0, 1])
def test_a_round_that_was_planned_half_is_completed(whole, written, tmp_path, monkeypatch):
    """Killed between the plan and its runs, or between two units; when it is resumed there is more
    memory.
    """
    killed_while_planning(tmp_path / "s", written, monkeypatch)
    with monkeypatch.context() as patch:
        room_for(5, patch)
        uninterrupted, _ = trained(tmp_path / "u")
    room_for(300, monkeypatch)
    study, _ = trained(tmp_path / "s")
    assert sizes_of(study, "sweep") == sizes_of(uninterrupted, "sweep")
    assert len(sizes_of(study, "sweep")) > 1
    assert study.metrics.equals(whole[0].metrics)


def test_a_unit_that_is_there_is_never_written(whole, tmp_path, monkeypatch):
    """The manifest does not say how many runs a unit may have: an older Saddle wrote it."""
    killed_while_planning(tmp_path / "s", 1, monkeypatch)
    manifest = tmp_path / "s" / MANIFEST
    facts = json.loads(manifest.read_text())
    del facts[grow.MEMBERS]
    manifest.write_text(json.dumps(facts))
    first = "PointCircle1-ppo-00-sweep"
    before = saddle.open_study(tmp_path / "s").unit_runs(first)
    room_for(300, monkeypatch)
    study = open_frontier(WISH, SPEC, tmp_path / "s", resume=True)
    assert study.unit_runs(first).equals(before)
    assert f"{first}-2" in study.units()
    study, _ = trained(tmp_path / "s")
    assert study.metrics.equals(whole[0].metrics)


def same(study, other):
    assert study.finished
    assert study.runs.equals(other.runs)
    assert study.metrics.equals(other.metrics)
    assert study.manifest["plan"] == other.manifest["plan"]


def meanwhile(monkeypatch, work_beside):
    """Let `work_beside(work)` stand for the first round's work of this process."""
    work = Worker.work

    def once(self):
        monkeypatch.setattr(Worker, "work", work)
        work_beside(lambda: work(self))

    monkeypatch.setattr(Worker, "work", once)


def test_rounds_that_another_process_adds_are_not_chosen_again(whole, tmp_path, monkeypatch):
    """It goes through all of them while this one is still at the pilot."""

    def behind(work):
        trained(tmp_path / "s")
        work()

    meanwhile(monkeypatch, behind)
    study, _ = trained(tmp_path / "s")
    same(study, whole[0])


def test_a_round_that_another_process_has_just_added_is_trained(whole, tmp_path, monkeypatch):
    """When this one looks whether it is finished, it is not any more."""

    def ahead(work):
        work()
        trained(tmp_path / "s", After(0))

    meanwhile(monkeypatch, ahead)
    study, _ = trained(tmp_path / "s")
    same(study, whole[0])


def test_of_two_processes_that_would_choose_a_round_one_does(whole, tmp_path, monkeypatch):
    """The other waits for it, and trains what it chose."""
    path = tmp_path / "s"
    second = plan_of(whole[0]).stages[1]

    def at_once(work):
        work()
        claim = claims.take(path, grow.CLAIM)
        assert claim is not None

        def wait(seconds):
            with claim:
                grow.grow(saddle.open_study(path), second)

        monkeypatch.setattr(grow, "time", SimpleNamespace(sleep=wait))

    def not_again(study, limits, constraints, count):
        assert len(plan_of(study).stages) > 1
        return choose(study, limits, constraints, count)

    meanwhile(monkeypatch, at_once)
    monkeypatch.setattr(frontier, "choose", not_again)
    study, _ = trained(path)
    same(study, whole[0])


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
