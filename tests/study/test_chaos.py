"""Kills at random moments: what a study ends with does not tell how often it was interrupted."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
from helpers import small, work

import saddle

DRIVER = str(Path(__file__).parent / "drive.py")
EPOCHS = 40


def started(out, errors=None, room=()):
    return subprocess.Popen(
        [sys.executable, DRIVER, str(out), str(EPOCHS), *map(str, room)], stderr=errors
    )


def written(out):
    """How much of the study there is: files under metrics, checkpoints and runs, with their
    times.
    """
    return {
        (str(file), file.stat().st_mtime_ns)
        for file in out.rglob("*")
        if file.suffix in (".parquet", ".json")
    }


def rows(study):
    return study.scan_metrics().select(pl.len()).collect().item()


def test_ten_kills_leave_no_trace(tmp_path, driver_env, monkeypatch):
    """SIGKILL ten times, each at a random moment after the study has moved on, then run to the
    end.
    """
    whole, _ = work(small(epochs=EPOCHS), tmp_path / "whole")
    monkeypatch.setenv("FAKE_SLEEP", "0.01")
    out, dice = tmp_path / "killed", random.Random(5)
    for _ in range(10):
        before = written(out)
        process = started(out)
        while written(out) == before and process.poll() is None:
            time.sleep(0.005)
        time.sleep(dice.uniform(0, 0.25))
        process.kill()
        assert process.wait() in (-signal.SIGKILL, 0)
        if (
            out / "manifest.json"
        ).exists():  # whatever is there can be read, and no epoch is there twice
            assert saddle.open_study(out).metrics.select("run", "epoch").is_unique().all()
    monkeypatch.setenv("FAKE_SLEEP", "0")
    assert started(out).wait() == 0
    study = saddle.open_study(out)
    assert study.metrics.equals(whole.metrics, null_equal=True)
    assert study.runs.equals(whole.runs)
    for run in whole.runs["run"]:
        assert (study.policy_folder(run) / "policy.npz").read_bytes() == (
            whole.policy_folder(run) / "policy.npz"
        ).read_bytes()
    assert (
        max(len(list((out / "claims").glob(f"{unit}.*"))) for unit in study.units()) > 1
    )  # some were taken over


def test_two_processes_share_a_store(tmp_path, driver_env, monkeypatch):
    """Both finish, no unit is run twice, and the result is the one process's."""
    whole, _ = work(small(epochs=EPOCHS), tmp_path / "whole")
    monkeypatch.setenv("FAKE_SLEEP", "0.01")
    out = tmp_path / "shared"
    assert [process.wait() for process in (started(out), started(out))] == [0, 0]
    study = saddle.open_study(out)
    assert study.metrics.equals(whole.metrics, null_equal=True) and study.runs.equals(whole.runs)
    assert all(len(list((out / "claims").glob(f"{unit}.*"))) == 1 for unit in study.units())


def test_a_file_size_limit_is_a_full_disk(tmp_path, driver_env):
    """The kernel refuses to write beyond a size: the study stops with one line, and goes on when
    there is room.
    """
    out = tmp_path / "full"

    with (tmp_path / "errors").open("wb") as errors:
        assert started(out, errors, room=[3000]).wait() == 1
    error = (tmp_path / "errors").read_text()
    assert error.startswith("error: no space left to write") and error.count("\n") == 1
    assert not list(out.rglob("*.tmp"))
    assert started(out).wait() == 0
    assert rows(saddle.open_study(out)) == 14 * EPOCHS


def test_sigterm_stops_gently(tmp_path, driver_env, monkeypatch):
    """Everything up to the epoch at hand is saved, and the unit is free at once."""
    monkeypatch.setenv("FAKE_SLEEP", "0.05")
    process = started(tmp_path / "s")
    while not list((tmp_path / "s" / "units").glob("*.json")):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait() == signal.SIGTERM
    study = saddle.open_study(tmp_path / "s")
    progress = study.progress(study.units()[0])
    assert progress["state"] == "stopped" and progress["epoch"] >= 1
    assert study.metrics["epoch"].max() == progress["epoch"] - 1
