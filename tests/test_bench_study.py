"""The benchmark of a whole study at toy size: that it measures what it says, not how fast."""

import dataclasses
import json

import pytest

from saddle.bench import study
from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.study import open_study
from saddle.tasks import names
from saddle.tasks.velocity import engines
from saddle.verbs.bench.study import bench_study

CIRCLE, HOPPER = "SafetyPointCircle1-v0", "SafetyHopperVelocity-v1"
TINY = PPO(steps_per_epoch=20, worlds=2, hidden=(4,), passes=1, batch=10, window=2, target_kl=1e9)
RESULT = study.Result(
    CIRCLE,
    "jax",
    "study",
    "gpu X",
    16,
    250,
    "bf16",
    "ppo",
    10,
    1e6,
    30.0,
    4.9,
    0.4,
    0.08,
    0.9,
    0.02,
    1.3e14,
    9.0,
)


def test_json(tmp_path, capsys):
    """The study that is measured is a real one: all runs end, every epoch is in the store, each run
    has a policy.
    """
    bench_study((CIRCLE,), 2, 2, ("highest",), TINY, tmp_path, as_json=True)
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    (result,) = found["results"]
    assert (
        json.loads(printed.err) == result
        and found["study_hours"] == {}
        and found["learner"]["hidden"] == [4]
    )
    assert (result["task"], result["members"], result["epochs"], result["precision"]) == (
        CIRCLE,
        2,
        2,
        "highest",
    )
    assert (
        min(
            result[key]
            for key in ("steps_per_second", "epoch_s", "rollout_s", "first_epoch_s", "finish_s")
        )
        > 0
    )
    shares = [result[f"{part}_share"] for part in ("rollout", "update", "waiting")]
    assert sum(shares) == pytest.approx(1) and 0 < shares[2] < 1
    kept = open_study(tmp_path / "PointCircle1-highest")
    assert kept.runs["status"].to_list() == ["done"] * 2
    assert kept.metrics["epoch"].to_list() == [0, 1, 2] * 2 and (kept.metrics["passes"] == 1).all()
    assert all(kept.policy_folder(run).is_dir() for run in kept.runs["run"])


def test_worlds_on_the_host():
    """A velocity task without a GPU: MuJoCo C, in the layout that was asked for."""
    assert study._laid_out(HOPPER, TINY) == TINY


def test_worlds_on_the_device_are_wide(monkeypatch):
    monkeypatch.setattr(engines, "default", lambda: "mjx-jax")
    laid_out = study._laid_out(HOPPER, TINY)
    assert laid_out.layout == "wide" and laid_out.worlds is None
    assert study._laid_out(CIRCLE, TINY) == TINY


def test_native_task_at_toy_size(tmp_path):
    result = study.measure(HOPPER, 1, 1, TINY, tmp_path / "s", print)
    assert result.engine == "native" and result.steps_per_second > 0 and result.rollout_s > 0


def test_hours_of_the_whole_study():
    """310 runs of 3.5e7 steps on each of eight tasks."""
    rates = [dataclasses.replace(RESULT, task=name) for name in names()]
    assert study.gpu_hours(rates) == {"bf16": pytest.approx(8 * 310 * 3.5e7 / 1e6 / 3600)}
    assert study.gpu_hours(rates[1:]) == {}


def test_table(monkeypatch, capsys):
    monkeypatch.setattr(study, "measure", lambda name, *_: dataclasses.replace(RESULT, task=name))
    bench_study((), 250, 10, ("bf16",), PPO())
    table = capsys.readouterr().out
    for word in (
        *names(),
        "250 runs",
        "gpu X",
        "1,000,000",
        "8.0%",
        "90.0%",
        "2.0%",
        "130",
        "in bf16: 24.1 hours",
    ):
        assert word in table


@pytest.mark.parametrize(
    ("names", "members", "epochs", "message"),
    [
        ((CIRCLE,), 0, 1, "at least 1"),
        ((CIRCLE,), 1, 0, "at least 1"),
        (("SafetyPointCircl1",), 1, 1, "did you mean"),
    ],
)
def test_bad_input(names, members, epochs, message):
    with pytest.raises(SaddleError, match=message):
        bench_study(names, members, epochs, ("bf16",), TINY)


def test_a_study_that_breaks_is_an_error(tmp_path, monkeypatch):
    def broken(*_):
        raise SaddleError("no room")

    monkeypatch.setattr(study.PopulationProgram, "epoch", broken)
    with pytest.raises(SaddleError, match="the bench's study failed: no room"):
        study.measure(CIRCLE, 1, 1, TINY, tmp_path / "s", print)
