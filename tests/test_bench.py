"""The benchmark at toy size: that it measures what it says, not how fast."""

import json
import math

import jax
import jax.numpy as jnp
import pytest

from saddle.bench import engine, scan, tasks, velocity
from saddle.errors import SaddleError
from saddle.tasks import make, names
from saddle.verbs.bench.tasks import bench_tasks

CIRCLE, HOPPER, ANT = "SafetyPointCircle1-v0", "SafetyHopperVelocity-v1", "SafetyAntVelocity-v1"
WORLDS = 8


@pytest.fixture
def small(monkeypatch):
    """Few steps, a blink of MuJoCo."""
    monkeypatch.setattr(tasks, "STEPS", 3)
    monkeypatch.setattr(tasks, "REPEATS", 2)
    monkeypatch.setattr(tasks, "SECONDS", 0.02)


@pytest.mark.usefixtures("small")
def test_json(capsys):
    bench_tasks((CIRCLE,), WORLDS, as_json=True)
    found = json.loads(capsys.readouterr().out)
    settings, (result,) = found["settings"], found["tasks"]
    assert (
        settings["worlds"] == WORLDS
        and settings["steps"] == 3
        and settings["platform"] == jax.default_backend()
    )
    assert settings["device"] and settings["jax"] and settings["mujoco"]
    assert result.pop("task") == CIRCLE
    assert all(math.isfinite(value) and value > 0 for value in result.values())
    assert result["ratio"] == pytest.approx(result["random"] / result["mujoco"])
    assert result["ratio_scripted"] == pytest.approx(result["scripted"] / result["mujoco"])


def test_table(monkeypatch, capsys):
    result = tasks.Result(CIRCLE, 2e8, 123456.0, 30000.0, 6666.7, 4.1, 1.5, 170.0, None)
    monkeypatch.setattr(tasks, "measure", lambda name, task, worlds: result)
    bench_tasks((CIRCLE,), WORLDS)
    table = capsys.readouterr().out
    for word in (
        CIRCLE,
        "8 worlds",
        "200,000,000",
        "123,456",
        "6666.70x",
        "4.10x",
        "1.5",
        "170",
        "one core",
    ):
        assert word in table


@pytest.mark.usefixtures("small")
def test_without_mujoco_the_ratio_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(engine, "mujoco", None)
    result = tasks.measure(CIRCLE, make(CIRCLE), WORLDS)
    assert result.mujoco is result.ratio is result.ratio_scripted is None
    assert result.random > 0
    monkeypatch.setattr(tasks, "measure", lambda name, task, worlds: result)
    bench_tasks((CIRCLE,), WORLDS)
    assert "MuJoCo is not installed" in capsys.readouterr().out


@pytest.mark.parametrize("name", names()[:4])
def test_mujoco_steps_every_world(name):
    task = make(name)
    state = scan.staggered(task, 2)
    assert engine.steps_per_second(task, state, 0.02) > 0


def test_clocks_are_spread_over_the_episode():
    state = scan.staggered(make(CIRCLE), 50)
    assert jnp.array_equal(state.steps, jnp.arange(50) * 10)


def test_state_bytes_counts_every_leaf():
    state = scan.staggered(make(CIRCLE), WORLDS)
    # 28 observations, reward, cost, steps, 6 of the robot, 3 accelerations, a key of 2 words; and
    # two flags of a byte
    assert scan.state_bytes(state) == WORLDS * (4 * (28 + 1 + 1 + 1 + 6 + 3 + 2) + 2)


@pytest.mark.parametrize("worlds", [0, -5])
def test_too_few_worlds(worlds):
    with pytest.raises(SaddleError, match=f"--worlds is {worlds}"):
        bench_tasks((CIRCLE,), worlds)


def test_unknown_task():
    with pytest.raises(SaddleError, match="did you mean"):
        bench_tasks(("SafetyPointCircl1-v0",), WORLDS)


@pytest.mark.parametrize("name", [HOPPER, ANT])
def test_native_numbers(monkeypatch, capsys, name):
    monkeypatch.setattr(velocity, "SECONDS", 0.02)
    monkeypatch.setattr(velocity, "ROUNDS", 1)
    bench_tasks((name,), WORLDS, as_json=True, engine="native")
    printed = capsys.readouterr()
    (result,) = json.loads(printed.out)["tasks"]
    assert json.loads(printed.err) == result
    assert (result["task"], result["engine"], result["worlds"]) == (name, "native", WORLDS)
    assert min(result[rate] for rate in ("mujoco", "one_thread", "all_threads")) > 0
    assert result["ratio"] == pytest.approx(result["all_threads"] / result["mujoco"])
    assert 0 < result["overhead"] < 1


def test_each_result_is_printed_with_its_columns(monkeypatch, capsys):
    found = velocity.NativeResult(HOPPER, WORLDS, "native", 1e4, 9e3, 1.8e4, 2, 1.8, 0.04)
    monkeypatch.setattr(velocity, "native", lambda task, worlds: found)
    bench_tasks((HOPPER,), WORLDS, engine="native")
    table = capsys.readouterr().out
    for word in (HOPPER, "10,000", "9,000", "18,000", "1.80x", "4.0%", "all threads"):
        assert word in table


def test_a_point_task_has_no_engines():
    with pytest.raises(SaddleError, match="no choice of engines"):
        bench_tasks((CIRCLE,), WORLDS, engine="native")
