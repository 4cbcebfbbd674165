"""How long a study takes: the arithmetic, and what is said before it begins. Nothing here depends
on the clock.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fake import FakeProgram
from helpers import TASK, After, Notes, small, work

from saddle.config import Member
from saddle.learners import PPO
from saddle.learners.ppo.settings import usual_share_of_passes
from saddle.population import Population
from saddle.study import estimate, forecast, open_study, pace
from saddle.study.forecast import say_how_long
from saddle.study.local import Worker
from saddle.study.pace import Pace
from saddle.study.plan import Plan, Stage
from saddle.study.prepare import prepare
from saddle.study.stop import Stopper
from saddle.study.unit_rows import kind
from saddle.study.whole_episodes import episode_notes

FAKE = "fake:FakeProgram"
RESULTS = Path(__file__).parents[2] / "results"


def test_a_unit_takes_its_compilation_and_its_epochs():
    assert Pace(compile=20.0, member_epoch=0.5).seconds(members=4, epochs=10) == 40.0


def test_the_first_epoch_of_a_program_compiles(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("saddle.study.pace.time.monotonic", lambda: now[0])

    class Slow(FakeProgram):
        def epoch(self, state):
            now[0] += 17.0 if self.epoch_of(state) == 0 else 2.0
            return super().epoch(state)

    members = tuple(Member(seed) for seed in range(4))
    program = Slow(TASK, PPO(steps_per_epoch=100, worlds=1), members, 1000)
    assert pace.of_program(program, len(members)) == Pace(compile=15.0, member_epoch=0.5)


def test_what_is_left_of_a_study(tmp_path):
    """Five runs a unit, twelve epochs: the sweep's two units, gradient ascent's one, lambda*'s
    one.
    """
    plan = small()
    study = prepare(plan, tmp_path / "s", resume=False)
    sizes = [study.runs.filter(unit=unit).height for unit in study.units()]
    found = estimate.left(study, {kind(study.runs): Pace(10.0, 0.25)})
    assert found.seconds == pytest.approx(10.0 * len(sizes) + 0.25 * 12 * sum(sizes))
    assert found.compiling == 10.0 * len(sizes)
    work(plan, tmp_path / "s", resume=True)
    assert estimate.left(study, {}) == estimate.Estimate(0.0, 0.0)


def test_passes_are_timed_as_many_as_runs_take():
    """From numbers that are made up, a member learns without failing and without stopping early."""
    ppo = PPO(steps_per_epoch=64, worlds=1, hidden=(8,), batch=32, passes=3, target_kl=1e9)
    population = Population(TASK, ppo, [Member()], 64)
    state = population.init()
    rollout = population.made_up_rollout(state)
    metrics = population.compiled_learning()(state, rollout)
    assert metrics["passes"].tolist() == [3] and metrics["failed"].tolist() == [0]
    found = pace._learning_time(TASK, ppo, [Member()], 10)
    assert found.compile > 0 and found.run > 0


def test_long_trainings_count_the_passes_that_long_trainings_took():
    """What runs in results/ took, within what tasks differ by."""
    recorded = {400: ("circle1", "goal1"), 1750: ("circle1-full-length", "goal1-full-length")}
    for epochs, names in recorded.items():
        passes = [open_study(RESULTS / name).metrics["passes"].to_numpy().mean() for name in names]
        assert usual_share_of_passes(epochs) == pytest.approx(np.mean(passes) / 20, abs=0.02)
    several = [usual_share_of_passes(epochs) for epochs in (1, 400, 800, 1750, 10_000)]
    assert several == sorted(several, reverse=True) and several[-1] == 0.45
    assert PPO().sample(1750)[0].passes == 9 and PPO().sample(100)[0].passes == 16


@pytest.mark.parametrize("task", [TASK, "SafetyHopperVelocity-v1"])
def test_a_rollout_is_timed_on_the_device_and_on_the_host(task, monkeypatch):
    monkeypatch.setattr(pace, "SECONDS", 0.0)
    ppo = PPO(steps_per_epoch=2000, hidden=(8,), batch=500, passes=2)
    found = pace._rollout_time(task, ppo, [Member(0), Member(1)])
    assert found.compile > 0 and found.run > 0


@pytest.fixture(autouse=True)
def _without_notes_on_episodes(monkeypatch):
    """Epochs here are shorter than episodes."""
    monkeypatch.setattr(forecast, "episode_notes", lambda plan: [])


def worker_of(plan, out, resume=False):
    notes = Notes()
    return Worker(prepare(plan, out, resume), FakeProgram, plan.chunk, notes, Stopper()), notes


def test_it_is_said_before_anything_runs(tmp_path):
    plan = small()  # networks of 512 x 512
    worker, notes = worker_of(plan, tmp_path / "s")
    say_how_long(worker, plan, Stopper(), FAKE)
    assert {own.task for own in worker.paces} == {TASK} and not notes.epochs
    assert "measuring" in notes.said[0]
    assert "14 runs of 1,200 env steps in 3 units: about" in notes.said[1]
    assert "compiling" in notes.said[1] and "--limit-time" in notes.said[1]


def test_a_program_that_was_timed_is_the_one_that_runs(tmp_path):
    """Timing it takes epochs of a state that is thrown away: the study ends as without."""
    plan = small()
    worker, notes = worker_of(plan, tmp_path / "s")
    say_how_long(worker, plan, Stopper(), FAKE)
    (unit,) = worker.programs
    expected = worker.start_seconds(unit)
    worker.work()
    assert not worker.programs and len(notes.epochs) == 12 * 3
    assert worker.study.progress(unit)["start"] == pytest.approx(
        expected
    )  # its own had nothing to compile
    whole, _ = work(plan, tmp_path / "whole")
    assert worker.study.metrics.equals(whole.metrics, null_equal=True)


def test_a_store_that_knows_its_pace_is_not_measured_again(tmp_path, monkeypatch):
    plan = small()
    work(plan, tmp_path / "s")
    worker, notes = worker_of(plan, tmp_path / "s", resume=True)
    (
        tmp_path / "s" / "units" / f"{worker.study.units()[-1]}.json"
    ).unlink()  # as if it had not been run
    monkeypatch.setattr(pace, "of_program", None)
    say_how_long(worker, plan, Stopper(), FAKE)
    assert len(notes.said) == 1 and "about" in notes.said[0]


def test_one_look_at_the_store_tells_how_long_all_units_take(tmp_path, monkeypatch):
    """Where there is time for none of them, it is asked about all."""
    looks = []
    from_store = estimate.from_store
    monkeypatch.setattr(
        estimate, "from_store", lambda study: looks.append(study) or from_store(study)
    )
    plan = small(seeds=range(4))
    study = prepare(plan, tmp_path / "s", resume=False)
    stop = After(1)  # before the first look for a unit there is time, and then for no unit
    worker = Worker(study, FakeProgram, plan.chunk, Notes(), stop)
    ready = [unit for unit in study.units() if worker.ready(unit)]
    worker.work()
    assert stop.left_over == -len(ready) < -1
    assert len(looks) == 1


def test_what_is_small_or_short_of_time_is_not_measured(tmp_path, monkeypatch):
    plan = small(learner=PPO(steps_per_epoch=100, worlds=1, hidden=(8, 8), passes=2))
    worker, notes = worker_of(plan, tmp_path / "s")
    monkeypatch.setattr(pace, "of_population", None)
    say_how_long(worker, plan, Stopper())
    assert notes.said == ["14 runs: about a minute at most here, much of it compiling"]
    assert list(worker.paces.values()) == [estimate.UNMEASURED]
    worker, notes = worker_of(small(), tmp_path / "large")
    say_how_long(worker, small(), Stopper(60.0))
    assert not notes.said and list(worker.paces.values()) == [estimate.UNMEASURED]


def test_the_watchdog_ends_what_the_limit_did_not_foresee():
    """A compilation that never ends, say. Python's own timeout would raise here if the watchdog did
    not bite.
    """
    code = (
        "import time\nfrom saddle.study.stop import Stopper\nwith Stopper(1.0, watchdog=True):\n   "
        " time.sleep(600)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ
    )
    assert done.returncode == 3
    assert "time limit" in done.stderr and len(done.stderr.splitlines()) == 1


def test_what_comes_after_the_training_keeps_the_time_limit_too():
    code = (
        "import time\nfrom saddle.study.stop import Stopper\nstop = Stopper(2.0, watchdog=True)\n"
        "with stop:\n    pass\nwith stop.in_time():\n    time.sleep(600)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ
    )
    assert done.returncode == 3 and "time limit" in done.stderr


def test_epochs_in_which_no_episode_ends_are_named():
    """Circle1's episodes have 500 steps."""

    def notes(**settings):
        stage = Stage("sweep", lambdas=(1.0,))
        plan = Plan("s", (TASK,), (stage,), (0,), steps=4000, learner=PPO(**settings))
        return episode_notes(plan)

    assert notes(steps_per_epoch=500) == notes(steps_per_epoch=200, layout="wide") == []
    (short,) = notes(steps_per_epoch=400)
    assert f"400 steps of each world, and an episode of {TASK} up to 500" in short
    (split,) = notes(steps_per_epoch=1000, worlds=4)
    assert "an epoch has 250 steps of each world" in split
