"""What replaying a study's stops measures, at toy size."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.bench import stops
from saddle.errors import SaddleError
from saddle.learners import PPO, SAC
from saddle.study.store import open_study
from saddle.verbs.bench.learner import bench_learner

RESULTS = Path(__file__).parents[1] / "results"
CIRCLE = "SafetyPointCircle1-v0"
TINY = PPO(hidden=(8, 8), steps_per_epoch=500, batch=250, passes=4)


def test_recorded_passes_are_those_of_the_metrics():
    study = open_study(RESULTS / "circle1-full-length")
    recorded = stops.recorded_passes(study, CIRCLE)
    assert recorded.shape == (1750, 30)
    assert recorded.mean() == pytest.approx(study.metrics["passes"].mean())


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 30), st.integers(1, 12))
def test_members_stop_as_recorded_runs_did(count, runs, members, epochs):
    recorded = np.arange(count * runs).reshape(count, runs)
    found = stops.replayed(recorded, members, epochs)
    assert found.shape == (epochs, members)
    assert (found % runs == np.arange(members) % runs).all(), "member i is run i, over and over"
    assert (found[:, 0] // runs >= np.arange(epochs) * count // epochs).all()


def test_both_ways_take_the_passes_that_were_recorded(monkeypatch, capsys):
    recorded = np.array([[1, 4], [2, 3], [4, 1]])
    monkeypatch.setattr(stops, "recorded_passes", lambda study, task: recorded)
    taken = []
    monkeypatch.setattr(stops.Timed, "epoch", noting_passes(taken))
    bench_learner("learners.toys:Bandit", 2, 3, TINY, True, RESULTS / "circle1")
    found = json.loads(capsys.readouterr().out)
    expected = [[4, 4], [1, 4], [2, 3], [4, 1], [4, 4], [4, 4], [4, 4]]
    assert taken[0::2] == expected, "regrouped"
    assert taken[1::2] == expected, "all together"
    assert found["mean_passes"] == 2.5 and found["slowest_passes"] == pytest.approx(11 / 3)
    assert found["gain"] == found["together_s"] / found["regrouped_s"] > 0


def noting_passes(taken):
    """As `Timed.epoch`, and the passes of both members are noted."""

    def epoch(timed):
        timed.state, metrics = timed.population.epoch(timed.state)
        taken.append(metrics["passes"].tolist())
        timed.seconds.append(1.0)

    return epoch


def test_a_table(monkeypatch, capsys):
    found = stops.Result(CIRCLE, "gpu X", 2, 250, "bf16", "S", 20, 7.5, 14.6, 1.25, 2.0, 2.75, 2.75)
    monkeypatch.setattr(stops, "measure", lambda *_: found)
    bench_learner(CIRCLE, 250, 20, PPO(), False, Path("S"))
    table = capsys.readouterr().out
    for word in ("mean 7.5, slowest member 14.6", "2.000 s", "1.250 s", "1.60", "1.00"):
        assert word in table


@pytest.mark.parametrize(
    ("learner", "study", "task", "message"),
    [
        (SAC(), "circle1", CIRCLE, "leave --learner:NAME out"),
        (TINY, "circle1", "SafetyPointGoal1-v0", "it has runs of SafetyPointCircle1-v0"),
        (TINY, "circle1", CIRCLE, "use --learner.passes 20"),
        (TINY, "nothing", CIRCLE, "nothing"),
    ],
)
def test_stops_that_cannot_be_replayed(learner, study, task, message):
    with pytest.raises(SaddleError, match=message):
        stops.measure(task, 2, 1, learner, RESULTS / study)
