"""Running a study: everything planned is there at the end, whatever happened in between."""

import errno
import json
import os
import signal
import time

import polars as pl
import pytest
from fake import FakeProgram
from helpers import TASK, After, Notes, small, work
from hypothesis import given, settings
from hypothesis import strategies as st

from saddle.analysis import Options, analyze
from saddle.errors import SaddleError
from saddle.multipliers import GradientAscent, LogBarrier
from saddle.study import claims, dependent, unit
from saddle.study.local import Worker
from saddle.study.pace import Pace
from saddle.study.plan import Stage
from saddle.study.prepare import prepare
from saddle.study.stop import Stopper, seconds
from saddle.study.unit_rows import kind
from saddle.study.writer import write_runs


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The small study, run through."""
    return work(small(), tmp_path_factory.mktemp("whole") / "s")[0]


def test_a_study_runs_to_its_end(tmp_path):
    study, notes = work(small(), tmp_path / "s")
    assert study.runs["status"].to_list() == ["done"] * 14
    metrics = study.metrics
    assert metrics.height == 14 * 12
    assert metrics["env_steps"].max() == 1200
    assert metrics.select("run", "epoch").is_unique().all()
    assert len(notes.epochs) == len(study.units()) * 12
    assert all(study.policy_folder(run).is_dir() for run in study.runs["run"])
    assert not list((study.path / "checkpoints").iterdir())
    assert not list(study.path.rglob("*.tmp"))


def test_lambda_star_comes_from_the_sweep(tmp_path):
    """The fake's cost is 40 / (1 + lambda): limit 10 is met at lambda 3, limit 25 at 0.6. Three
    lambdas are coarse.
    """
    lambdas = tuple(10 ** (-1 + i / 6) for i in range(13))
    stages = (
        Stage("sweep", lambdas=lambdas),
        Stage("compare", lambda_star="sweep", limits=((10.0,), (25.0,), (99.0,))),
    )
    study, notes = work(small(stages=stages, members=50), tmp_path / "s")
    (said,) = [text for text in notes.said if text.startswith("limit ")]
    assert said.startswith(f"limit 99 of {TASK}: does not bind")
    assert said.endswith("the fixed lambda is 0.1")
    stars = study.runs.filter(stage="compare")
    found = dict(stars.group_by("limit").agg(pl.col("lambda").first()).iter_rows())
    assert found[10.0] == pytest.approx(3.0, rel=0.05)
    assert found[25.0] == pytest.approx(0.6, rel=0.05)
    assert found[99.0] == pytest.approx(0.1)  # below everywhere: the sweep's mildest
    said = analyze(study.runs, study.scan_metrics(), Options(limits=(10.0, 25.0))).tasks[0].limits
    assert [found[at.limit] for at in said] == [at.lambda_.value for at in said]
    assert stars["rule"].unique().to_list() == ["fixed"]
    assert {json.loads(p)["rule"]["init"] for p in stars["params"]} == set(found.values())
    at_star = study.metrics.join(stars, on="run").group_by("limit").agg(pl.col("cost").mean())
    assert dict(at_star.iter_rows())[10.0] == pytest.approx(10.0, rel=0.05)


COARSE = Stage("coarse", lambdas=(0.1, 10.0))
FINE = Stage("fine", lambdas=(0.5, 0.9, 1.2, 3.0))


def test_every_run_has_lambda_star_from_its_own_sweep_and_by_its_own_method(tmp_path):
    """Runs of several stages wait in one unit, and get what they get when their stage is alone."""
    stages = (
        Stage("first", lambda_star="coarse", limits=((10.0,),)),
        Stage("second", lambda_star="fine", limits=((20.0,),)),
        Stage("third", lambda_star="fine", limits=((21.0,),), lambda_star_method="published"),
    )
    together, _ = work(small(stages=(COARSE, FINE, *stages), members=50), tmp_path / "s")
    waiting = together.runs.filter(pl.col("limit").is_not_null())
    assert set(waiting["unit"]) == {"PointCircle1-ppo-star-00"}
    for stage in stages:
        alone, _ = work(small(stages=(COARSE, FINE, stage), members=50), tmp_path / stage.name)
        columns = ["run", "limit", "lambda", "params"]
        own = waiting.filter(stage=stage.name).select(columns)
        assert own.equals(alone.runs.filter(stage=stage.name).select(columns))


def test_limits_come_from_the_frontier_of_each_runs_own_sweep(tmp_path):
    first = Stage("first", lambda_star="coarse", limits_from_frontier=2)
    second = Stage("second", rules=(LogBarrier(),), lambda_star="fine", limits=((20.0,),))
    plan = small(stages=(COARSE, FINE, second, first), members=50)
    study, _ = work(plan, tmp_path / "s", make=Earning)
    alone, _ = work(small(stages=(COARSE, first), members=50), tmp_path / "a", make=Earning)
    columns = ["run", "limit", "lambda"]
    placed = study.runs.filter(stage="first").select(columns)
    assert placed.equals(alone.runs.filter(stage="first").select(columns))


def test_a_unit_waits_for_all_sweeps_that_its_runs_need(tmp_path):
    stages = (
        COARSE,
        FINE,
        Stage("first", lambda_star="coarse", limits=((10.0,),)),
        Stage("second", lambda_star="fine", limits=((20.0,),)),
    )
    study = prepare(small(stages=stages, members=50), tmp_path / "s", resume=False)
    waiting = study.unit_runs("PointCircle1-ppo-star-00")
    swept = study.unit_runs("PointCircle1-ppo-00")
    for ended, ready in ((["coarse"], False), (["coarse", "fine"], True)):
        done = pl.col("stage").is_in(ended)
        status = pl.when(done).then(pl.lit("done")).otherwise("status").alias("status")
        write_runs(study.path, "PointCircle1-ppo-00", swept.with_columns(status))
        assert dependent.ready(study, waiting, sweep=None) == ready


class Earning(FakeProgram):
    """Return falls with lambda too, so that there is a frontier."""

    def epoch(self, state):
        state, metrics = super().epoch(state)
        falls = 5 / (1 + self.lambdas) ** 2
        return state, {**metrics, "return": 0.1 * metrics["return"] + falls}


def mapped(stages=(), **fields):
    """A sweep, and rules at three limits of its frontier."""
    sweep = Stage("sweep", lambdas=(0.1, 0.5, 1.0, 3.0, 10.0))
    rules = (GradientAscent(), LogBarrier())
    compare = Stage("map", rules=rules, lambda_star="sweep", limits_from_frontier=3)
    return small(stages=(sweep, compare), members=4, **fields)


def test_limits_come_from_the_frontier_of_the_sweep(tmp_path):
    study, _ = work(mapped(), tmp_path / "s", make=Earning)
    assert study.finished and set(study.runs["status"]) == {"done"}
    placed = study.runs.filter(stage="map")
    assert placed.height == 3 * 3 * 2  # rules and lambda*, limits, seeds
    limits = placed["limit"].unique().sort()
    assert len(limits) == 3 and limits[0] > 0 and limits[-1] < 40
    for run, limit, params in placed.select("run", "limit", "params").iter_rows():
        place = int(run.partition("-limit")[2][0])
        assert limit == limits[place - 1] and json.loads(params)["limits"] == [limit]
    stars = placed.filter(rule="fixed").sort("limit")
    assert stars["lambda"].is_not_null().all()
    assert stars["lambda"].is_sorted(descending=True)
    assert placed.filter(rule="ga")["lambda"].is_null().all()


def test_limits_that_a_killed_study_found_stay(tmp_path):
    plan = mapped()
    study, _ = work(plan, tmp_path / "s", make=Earning, stop=After(30))
    again, _ = work(plan, tmp_path / "s", resume=True, make=Earning)
    whole, _ = work(plan, tmp_path / "w", make=Earning)
    assert not study.finished or again.finished
    columns = ["run", "limit", "lambda"]
    assert again.runs.select(columns).sort("run").equals(whole.runs.select(columns).sort("run"))


def test_a_frontier_without_limits_to_give_is_told(tmp_path):
    """The fake's return does not depend on lambda."""
    study, notes = work(mapped(), tmp_path / "s")
    assert "spans no cost or no return" in " ".join(notes.said)
    assert set(study.runs.filter(stage="map")["status"]) == {"failed"}


def test_a_sweep_in_another_study_gives_lambda_star(tmp_path):
    sweep, _ = work(small(stages=(Stage("sweep", lambdas=(0.1, 1.0, 10.0)),)), tmp_path / "sweep")
    plan = small(stages=(Stage("compare", lambda_star="sweep", limits=((10.0,),)),))
    with pytest.raises(SaddleError, match="--sweep DIR"):
        prepare(plan, tmp_path / "s", resume=False)
    study, _ = work(plan, tmp_path / "s", sweep=sweep)
    assert study.runs["status"].to_list() == ["done"] * 2
    assert study.runs["lambda"].is_between(1, 10).all()


def test_a_resumed_study_takes_lambda_star_from_the_sweep_that_it_began_with(tmp_path):
    sweeps = [
        work(small(stages=(Stage("sweep", lambdas=lambdas),)), tmp_path / name)[0]
        for name, lambdas in (("first", (0.1, 1.0, 10.0)), ("other", (0.2, 2.0, 20.0)))
    ]
    plan = small(stages=(Stage("compare", lambda_star="sweep", limits=((10.0,),)),))
    whole, _ = work(plan, tmp_path / "whole", sweep=sweeps[0])
    prepare(plan, tmp_path / "s", False, sweeps[0].path)
    with pytest.raises(SaddleError, match=r"takes lambda.* from another study than .*other"):
        prepare(plan, tmp_path / "s", True, sweeps[1].path)
    study, _ = work(plan, tmp_path / "s", resume=True)
    assert study.runs.equals(whole.runs)
    moved = sweeps[0].path.rename(tmp_path / "moved")
    with pytest.raises(SaddleError, match=r"not there any more; name where it is .--sweep DIR"):
        prepare(plan, tmp_path / "s", True)
    assert prepare(plan, tmp_path / "s", True, moved).finished


def test_a_study_that_began_with_its_own_sweep_takes_no_other(tmp_path):
    sweep, _ = work(small(stages=(Stage("sweep", lambdas=(0.2, 2.0)),)), tmp_path / "sweep")
    prepare(small(), tmp_path / "s", False)
    with pytest.raises(SaddleError, match="begun without the sweep of another study"):
        prepare(small(), tmp_path / "s", True, sweep.path)


def test_what_is_left_says_what_it_waits_for(tmp_path):
    stages = (Stage("sweep", lambdas=(0.1, 1.0, 10.0)),)
    sweep = prepare(small(stages=stages), tmp_path / "sweep", False)
    plan = small(stages=(Stage("compare", lambda_star="sweep", limits=((10.0,),)),))
    study, notes = work(plan, tmp_path / "s", sweep=sweep)
    unit = study.units()[0]
    expected = f"unit {unit} waits for stage 'sweep' of {sweep.path}, whose runs of {TASK}"
    assert [line for line in notes.said if line.startswith(expected)]


@given(st.lists(st.tuples(st.integers(2, 30), st.integers(1, 7)), max_size=6))
@settings(max_examples=8)
def test_stopped_and_resumed_anyhow_a_study_ends_the_same(tmp_path_factory, whole, sessions):
    """Sessions of any length, each with chunks of its own length."""
    out = tmp_path_factory.mktemp("x") / "parts"
    for length, chunk in sessions:
        study, _ = work(small(chunk=chunk), out, resume=True, stop=After(length))
        assert study.metrics.select("run", "epoch").is_unique().all()
    study, _ = work(small(), out, resume=True)
    assert study.metrics.equals(whole.metrics, null_equal=True)
    assert study.runs.equals(whole.runs)


class Clock:
    """A clock that moves only when somebody works."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def work(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_a_time_limit_stops_before_what_would_pass_it(clock):
    """Of 90 seconds the last two are for leaving."""
    stop = Stopper(seconds("1m30s"))
    assert not stop.before(87) and not stop.refused
    assert stop.before(88) and stop.refused
    clock.work(87.5)
    assert not stop.before(0) and stop.before(1)
    assert not Stopper().before(1e9)
    assert Stopper(10, began=clock.now - 9).before(0.5)


def slow(clock, compiling=0.0, epoch=1.0, saving=0.0, size=0):
    """Programs that take their time: it is on the clock, and nobody waits for it."""

    class Slow(FakeProgram):
        compiled = False

        def epoch(self, state):
            clock.work(epoch if self.compiled else epoch + compiling)
            self.compiled = True
            return super().epoch(state)

        def size(self, state):
            return size

        def snapshot(self, state):
            clock.work(saving)
            return super().snapshot(state)

    return Slow


def test_a_unit_that_stopped_is_not_compiled_again_for_the_seconds_that_are_left(tmp_path, clock):
    began = clock.now
    study, notes = work(
        small(epochs=80, members=50), tmp_path / "s", stop=Stopper(60), make=slow(clock, 15)
    )
    assert clock.now - began <= 60
    assert [unit for unit, _ in notes.epochs] == [study.units()[0]] * len(notes.epochs)
    assert len(notes.epochs) > 10
    assert study.metrics["epoch"].max() == len(notes.epochs) - 1


@given(
    compiling=st.floats(0, 30),
    epoch=st.floats(0.1, 10),
    saving=st.floats(0, 10),
    limit=st.floats(50, 200),
    chunk=st.integers(1, 9),
)
@settings(max_examples=30, deadline=None)
def test_a_time_limit_holds_with_slow_compiles_and_slow_saves(
    tmp_path_factory, compiling, epoch, saving, limit, chunk
):
    """Whatever takes long, nothing begins that ends after the limit; what was computed is saved."""
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch)
        began = clock.now
        make = slow(clock, compiling, epoch, saving, size=int(saving * 1e8))
        out = tmp_path_factory.mktemp("x") / "s"
        plan = small(epochs=30, chunk=chunk)
        study = prepare(plan, out, resume=False)
        worker = Worker(study, make, plan.chunk, Notes(), Stopper(limit))
        worker.paces = {kind(study.runs): Pace(compiling + epoch, 0.0)}
        worker.work()
        assert clock.now - began <= limit
    done = sum(study.progress(unit).get("epoch", 0) for unit in study.units())
    assert study.metrics.select("run", "epoch").height == sum(
        study.progress(unit).get("epoch", 0) * study.unit_runs(unit).height
        for unit in study.units()
    )
    assert done > 0


def test_units_that_do_not_fit_are_not_begun(tmp_path, clock):
    study, notes = work(
        small(epochs=4, members=3), tmp_path / "s", stop=Stopper(30), make=slow(clock, 20)
    )
    assert {unit for unit, _ in notes.epochs} == {study.units()[0]}
    assert study.progress(study.units()[0])["start"] == pytest.approx(21)
    assert not study.progress(study.units()[1])
    study, notes = work(
        small(epochs=4, members=3), tmp_path / "s", True, Stopper(20), make=slow(clock, 20)
    )
    assert not notes.epochs  # the store says that a unit takes 21 seconds to begin


@pytest.fixture
def heeds_sigint():
    """As at a terminal: a test run that a shell put into the background would inherit that SIGINT
    is ignored.
    """
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


@pytest.mark.usefixtures("heeds_sigint")
def test_a_first_signal_stops_gently_and_a_second_at_once():
    with Stopper() as stop:
        assert not stop.before(0)
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.before(0) and "SIGINT" in stop.why
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("text", "value"), [("90", 90), ("9m", 540), ("1h30m", 5400), ("0.5s", 0.5), ("2d", 172800)]
)
def test_durations(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "m", "9x", "1 h", "-3s", "5 3m"])
def test_what_is_no_duration(text):
    with pytest.raises(SaddleError, match="not a duration"):
        seconds(text)


def test_worlds_that_broke_down_are_counted_and_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_DIVERGES", "0")
    _, notes = work(small(), tmp_path / "s")
    (first, *_) = (line for line in notes.said if "broke down" in line)
    assert "worlds broke down in epoch 0; they start anew" in first


def test_failed_members_are_named_with_their_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_BREAKS", "1")
    study, notes = work(small(), tmp_path / "s")
    failed = study.runs.filter(status="failed")
    assert set(failed["seed"]) == {1} and failed.height == 7
    assert set(failed["reason"]) == {"epoch 2: the loss is not finite"}
    assert sum("failed in epoch 2" in line for line in notes.said) == 7
    assert not study.policy_folder(failed["run"][0]).exists()
    assert study.runs.filter(stage="compare", rule="fixed", seed=0)["lambda"].is_not_null().all()


def test_a_broken_unit_does_not_stop_the_others_and_is_tried_again(tmp_path, monkeypatch):
    tasks = (TASK, "SafetyPointGoal1-v0")
    monkeypatch.setenv("FAKE_REFUSES", TASK)
    study, notes = work(small(tasks=tasks), tmp_path / "s")
    assert set(study.runs.filter(task=TASK, stage="sweep")["reason"]) == {f"{TASK} is refused"}
    assert set(study.runs.filter(task=TASK, stage="compare", rule="fixed")["status"]) == {
        "planned"
    }  # still waits
    assert study.runs.filter(pl.col("task") != TASK)["status"].eq("done").all()
    assert any("is refused" in line for line in notes.said)
    monkeypatch.delenv("FAKE_REFUSES")
    study, _ = work(small(tasks=tasks), tmp_path / "s", resume=True)
    assert study.runs["status"].eq("done").all() and study.runs["reason"].is_null().all()


class Bug(FakeProgram):
    def epoch(self, state):
        raise RuntimeError("out of memory\nmore")


def test_the_traceback_of_a_bug_is_kept(tmp_path):
    study, _ = work(small(), tmp_path / "s", make=Bug)
    assert set(study.runs.filter(stage="sweep")["reason"]) == {"out of memory"}
    assert "RuntimeError" in next((study.path / "units").glob("*.traceback.txt")).read_text()


def test_a_full_disk_stops_with_one_line_and_loses_nothing(tmp_path, monkeypatch, whole):
    real, count = os.fsync, [0]

    def sometimes_full(handle):
        count[0] += 1
        if count[0] == 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", sometimes_full)
    with pytest.raises(SaddleError, match=r"[Nn]o space left"):
        work(small(), tmp_path / "s")
    study, _ = work(small(), tmp_path / "s", resume=True)
    assert study.metrics.equals(whole.metrics, null_equal=True)


def test_an_existing_directory_is_kept(tmp_path):
    work(small(), tmp_path / "s")
    with pytest.raises(SaddleError, match="add --resume"):
        prepare(small(), tmp_path / "s", resume=False)
    with pytest.raises(SaddleError, match=r"another plan \(seeds differs\)"):
        prepare(small(seeds=(0, 1, 2)), tmp_path / "s", resume=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(SaddleError, match="not empty"):
        prepare(small(), tmp_path / "mine", resume=True)


def test_wrong_tasks_and_limits_are_found_before_anything_is_made(tmp_path):
    with pytest.raises(SaddleError, match="did you mean 'SafetyPointCircle1-v0'"):
        prepare(small(tasks=("SafetyPointCircel1-v0",)), tmp_path / "s", resume=False)
    stages = (Stage("compare", rules=small().stages[1].rules, limits=((1.0, 2.0),)),)
    with pytest.raises(SaddleError, match=r"has 1 constraint\(s\), but stage 'compare' gives 2"):
        prepare(small(stages=stages), tmp_path / "s", resume=False)
    assert not list(tmp_path.iterdir())


def test_who_was_declared_dead_writes_nothing_more(tmp_path):
    """A process that slept through its lease finds its unit taken, and leaves the new owner's files
    alone.
    """
    plan = small()
    study = prepare(plan, tmp_path / "s", resume=False)
    name = study.units()[0]
    sleeper = claims.take(study.path, name)
    assert sleeper is not None
    run = unit.UnitRun(study, sleeper, FakeProgram, plan.chunk, Notes())
    file = max((study.path / "claims").glob(f"{name}.*.json"))
    file.write_text(json.dumps({"host": "far", "pid": 1, "born": "1", "released": False}))
    os.utime(file, (0, 0))
    assert claims.take(study.path, name) is not None
    with pytest.raises(claims.ClaimLost):
        run.run(Stopper())
    assert study.metrics.is_empty() and set(study.runs["status"]) == {"planned"}


def test_a_signal_is_answered_before_the_epoch_at_hand_is_over():
    told = []
    with Stopper(tell=told.append) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.before(0) and stop.signal == signal.SIGINT
        assert told == ["stopping after the epoch at hand; Ctrl-C again stops at once"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
