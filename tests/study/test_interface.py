"""Studies from Python programs, with a learner that costs nothing."""

import os
import signal
from typing import Any

import pytest
from fake import FakeProgram
from helpers import small

import saddle
from saddle import interface


@pytest.fixture(autouse=True)
def _cheap(monkeypatch):
    monkeypatch.setattr(interface, "factory", lambda name: FakeProgram)


def signals_itself(number):
    """A callback that sends this process a signal after the second epoch."""

    def on_epoch(done):
        if done.epoch == 2:
            os.kill(os.getpid(), number)

    return on_epoch


def is_safe(path):
    """Whether a study that was stopped goes on to its end."""
    stopped = saddle.open_study(path)
    states = [stopped.progress(unit).get("state") for unit in stopped.units()]
    ended = saddle.run_study(small(), path, resume=True)
    return "stopped" in states and ended.finished


def test_ctrl_c_reaches_the_program_once_all_is_saved(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        saddle.run_study(small(), tmp_path / "s", on_epoch=signals_itself(signal.SIGINT))
    assert signal.getsignal(signal.SIGINT) is before
    assert is_safe(tmp_path / "s")


def test_sigterm_comes_again_once_all_is_saved(tmp_path, monkeypatch):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        saddle.run_study(small(), tmp_path / "s", on_epoch=signals_itself(signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
    assert is_safe(tmp_path / "s")


def test_a_callback_may_change_what_it_is_given(tmp_path):
    def on_epoch(done):
        done.metrics["return"] *= 0
        done.metrics["seconds"] = done.seconds
        del done.metrics["cost"]

    plain = saddle.run_study(small(), tmp_path / "plain")
    study = saddle.run_study(small(), tmp_path / "s", on_epoch=on_epoch)
    assert study.metrics.equals(plain.metrics, null_equal=True)


def test_what_is_no_tracker_is_one_line(tmp_path):
    log: Any = [3]
    with pytest.raises(saddle.SaddleError, match="log has 3; give names of trackers"):
        saddle.run_study(small(), tmp_path / "s", log=log)
    assert not (tmp_path / "s").exists()


def test_a_callback_may_go_to_another_folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    sweep = saddle.run_study(small(stages=small().stages[:1]), "sweep")
    plan = small(stages=small().stages[1:])
    study = saddle.run_study(
        plan, "s", sweep="sweep", on_epoch=lambda done: os.chdir(tmp_path / "elsewhere")
    )
    assert study.finished and sweep.finished and study.path == tmp_path / "s"
    assert not list((tmp_path / "elsewhere").iterdir())
