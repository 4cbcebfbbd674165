"""Metrics go where `log` says, with the study's own numbers; what fails there stops no training."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from fake import FakeProgram
from helpers import After, Notes, small

from saddle.cli import main
from saddle.errors import SaddleError
from saddle.study.local import Worker
from saddle.study.prepare import prepare
from saddle.study.stop import Stopper
from saddle.trackers import NAMES, tracked, tracker_kinds

RUN = "PointCircle1-ppo-fixed-0.1-s0"


class Kept:
    """A tracker that remembers."""

    def __init__(self, study):
        self.study = study
        self.facts, self.logged, self.closed = {}, {}, 0

    def begin(self, facts):
        self.facts[facts["run"]] = facts

    def log(self, run, env_steps, values):
        self.logged.setdefault(run, {})[env_steps] = values

    def close(self):
        self.closed += 1


class Broken(Kept):
    """One whose network goes away."""

    def log(self, run, env_steps, values):
        raise OSError("the network is gone\nand more lines")


def ran(out, kinds, resume=False, stop=None, **plan):
    """Run a small study with trackers; returns it, the trackers, and what was said."""
    plan = small(**plan)
    study = prepare(plan, out, resume)
    notes = Notes()
    trackers = []

    def opened(kind):
        def tracker(study):
            trackers.append(kind(study))
            return trackers[-1]

        return tracker

    with tracked(notes, study, [opened(kind) for kind in kinds]) as listener:
        Worker(study, FakeProgram, plan.chunk, listener, stop or Stopper()).work()
    return study, trackers, notes


def stored(study, run, column):
    rows = study.metrics.filter(study.metrics["run"] == run).sort("env_steps")
    return dict(zip(rows["env_steps"].to_list(), rows[column].to_list(), strict=True))


def test_a_tracker_gets_every_finite_number_of_every_run(tmp_path):
    study, (kept,), notes = ran(tmp_path / "s", [Kept])
    assert set(kept.logged) == set(study.runs["run"]) == set(kept.facts)
    assert kept.closed == 1 and len(notes.epochs) > 0
    for column in ("return", "cost", "lambda"):
        own = {steps: values[column] for steps, values in kept.logged[RUN].items()}
        wanted = stored(study, RUN, column)
        assert list(own) == list(wanted)
        np.testing.assert_allclose(list(own.values()), list(wanted.values()), rtol=1e-6)
    every = [v for steps in kept.logged.values() for row in steps.values() for v in row.values()]
    assert np.isfinite(every).all()
    facts = kept.facts[RUN]
    assert (facts["lambda"], facts["seed"], facts["rule.rule"]) == (0.1, 0, "fixed")
    assert facts["learner.steps_per_epoch"] == 100 and "status" not in facts


def test_a_tracker_that_fails_is_left_out_and_said_once(tmp_path):
    study, (_, kept), notes = ran(tmp_path / "s", [Broken, Kept])
    assert study.finished and set(study.runs["status"]) == {"done"}
    assert set(kept.logged) == set(study.runs["run"])
    said = [text for text in notes.said if "takes no more metrics" in text]
    assert said == ["Broken takes no more metrics: the network is gone; training goes on"]


def test_names(monkeypatch):
    assert tracker_kinds([Kept, Kept]) == [Kept]
    with pytest.raises(SaddleError, match="no tracker 'wandbb'; log to tensorboard, wandb, mlflow"):
        tracker_kinds(["wandbb"])
    for name, module in (("tensorboard", "tensorboardX"), ("wandb", "wandb"), ("mlflow", "mlflow")):
        monkeypatch.delitem(sys.modules, NAMES[name].partition(":")[0], raising=False)
        monkeypatch.setitem(sys.modules, module, None)
        said = rf"the tracker '{name}' needs {module}.*saddle-rl\[{name}\]"
        with pytest.raises(SaddleError, match=said):
            tracker_kinds([name])


def test_ray_writes_to_no_tracker(tmp_path, capsys):
    words = ["study", "run", "quickstart", "--out", str(tmp_path / "s"), "--engine", "ray"]
    assert main([*words, "--log", "tensorboard"]) == 2
    assert "--log needs --engine local" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_tensorboard(tmp_path):
    study, _, _ = ran(tmp_path / "s", tracker_kinds(["tensorboard"]))
    (events,) = (study.path / "tensorboard").glob("events*")
    assert f"{RUN}/cost".encode() in events.read_bytes()


def test_weights_and_biases_offline(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "data"))
    few = small(seeds=(0,)).stages[:1]
    study, _, notes = ran(
        tmp_path / "s", tracker_kinds(["wandb"]), epochs=4, seeds=(0,), stages=few
    )
    assert notes.said == []
    wandb.teardown()  # its process writes the files, some of them afterwards
    files = list((study.path / "wandb").glob("offline-run-*/run-*.wandb"))
    assert len(files) == study.runs.height == 3
    written = b"".join(file.read_bytes() for file in files)
    for run in study.runs["run"]:
        assert run.encode() in written
    for text in (b"learner.actor_lr", b"env_steps", b"SafetyPointCircle1-v0"):
        assert text in written


def test_mlflow_offline_goes_on_with_the_runs_of_before(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    few = small(seeds=(0,)).stages[:1]
    plan = {"epochs": 4, "seeds": (0,), "stages": few}
    kinds = tracker_kinds(["mlflow"])
    ran(tmp_path / "s", kinds, stop=After(3), **plan)
    study, _, notes = ran(tmp_path / "s", kinds, resume=True, **plan)
    assert study.finished and notes.said == []
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("s")
    runs = client.search_runs([experiment.experiment_id])
    by_name = {run.info.run_name: run for run in runs}
    assert len(runs) == 3 and set(by_name) == set(study.runs["run"])
    own = by_name[RUN]
    assert own.info.status == "FINISHED" and own.data.params["lambda"] == "0.1"
    history = client.get_metric_history(own.info.run_id, "cost")
    wanted = stored(study, RUN, "cost")
    assert {point.step: pytest.approx(point.value, rel=1e-6) for point in history} == wanted


def test_mlflow_that_cannot_be_written_to_is_one_line(tmp_path, monkeypatch):
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    with pytest.raises(SaddleError, match="set MLFLOW_TRACKING_URI to a server"):
        ran(tmp_path / "s", tracker_kinds(["mlflow"]))


def test_the_docs_name_every_tracker():
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "logging.md").read_text()
    assert set(re.findall(r"`--log (\w+)`", text)) == set(NAMES)
