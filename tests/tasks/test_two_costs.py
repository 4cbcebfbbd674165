"""Goal1 with two constraints is Goal1, and counts the steps in which the vase moves."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saddle
from saddle.cli import main
from saddle.gym import make, make_safe, make_safe_vec, make_vec
from saddle.study.presets import PUBLISHED, load
from saddle.tasks.point.goal import Goal
from saddle.tasks.point.goal_two_costs import MOVING, GoalTwoCosts
from saddle.tasks.point.scripted import drive_to, nth_lidar

NAME = "SafetyPointGoal1TwoCosts-v0"
WORLDS, STEPS = 48, 150


@pytest.fixture(scope="module")
def played():
    """Both tasks under the same actions, which drive at the vase: states of every step [STEPS,
    WORLDS, ...].
    """

    @jax.jit
    def play(keys):
        tasks = (Goal(), GoalTwoCosts())

        def step(states, _):
            action = jax.vmap(lambda obs: drive_to(nth_lidar(obs, 2)))(states[0].obs)
            after = [
                jax.vmap(task.step)(state, action)
                for task, state in zip(tasks, states, strict=True)
            ]
            return after, after

        start = [jax.vmap(task.reset)(keys) for task in tasks]
        return jax.lax.scan(step, start, None, STEPS)[1]

    return play(jax.random.split(jax.random.key(0), WORLDS))


@pytest.mark.exact
def test_it_is_goal1_and_its_first_cost_is_all_of_goal1s(played):
    """Goal1 does not constrain its vase: hazards are its whole cost."""
    one, two = played
    for name in ("obs", "reward", "terminated", "agent", "vase", "goal", "hazards"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)
    np.testing.assert_array_equal(one.cost[..., 0], two.cost[..., 0])
    assert two.cost.shape == (STEPS, WORLDS, 2) and 0 < two.cost[..., 0].mean() < 1


def test_the_second_cost_is_that_the_vase_moves(played):
    two = played[1]
    speed = np.linalg.norm(two.vase[..., 7:10], axis=-1)
    np.testing.assert_array_equal(two.cost[..., 1], speed >= MOVING)
    moved = np.abs(np.diff(two.vase[..., :2], axis=0)).max(-1)
    assert moved[two.cost[:-1, :, 1] * two.cost[1:, :, 1] == 0].max() < 0.05
    assert 0 < two.cost[..., 1].mean() < 0.5
    came_to_rest = (two.cost[:-1, :, 1] == 1) & (two.cost[1:, :, 1] == 0)
    assert came_to_rest.any()


def test_info_and_the_gymnasium_forms_name_each_cost(played):
    two = played[1]
    step, world = np.argwhere(np.asarray(two.cost[..., 1]) == 1)[0]
    state = jax.tree.map(lambda leaf: leaf[step, world], two)
    info = saddle.make(NAME).info(replace(state, cost=jnp.array([1.0, 1.0])))
    assert float(info["cost_hazards"]) == float(info["cost_vases_velocity"]) == 1
    assert float(info["cost_sum"]) == 1  # an indicator, as in the reference
    env = make(NAME)
    env.reset(seed=0)
    env.unwrapped._state = state  # type: ignore[attr-defined]
    *_, info = env.step(np.zeros(2))
    assert info["cost"] == info["cost_hazards"] + info["cost_vases_velocity"] >= 1
    safe = make_safe(NAME)
    safe.reset(seed=0)
    _, _, cost, _, _, info = safe.step(np.zeros(2))
    assert cost == info["cost_hazards"] + info["cost_vases_velocity"]


def test_many_worlds_name_each_cost():
    worlds = make_vec(NAME, num_envs=3)
    worlds.reset(seed=0)
    *_, infos = worlds.step(np.zeros((3, 2)))
    assert infos["cost_vases_velocity"].shape == infos["cost"].shape == (3,)
    safe = make_safe_vec(NAME, num_envs=3)
    safe.reset(seed=0)
    _, _, cost, _, _, infos = safe.step(np.zeros((3, 2)))
    np.testing.assert_array_equal(cost, infos["cost_hazards"] + infos["cost_vases_velocity"])


def test_it_trains_and_is_judged_by_both_limits(tmp_path, capsys):
    out = str(tmp_path / "s")
    learner = "--learner.steps-per-epoch 1000 --learner.hidden 8 8 --learner.passes 1"
    rule = "--multiplier:fixed --multiplier.init 0.5 2"
    words = f"train {NAME} {rule} --steps 2000 {learner} --learner.batch 500 --out {out}"
    assert main(words.split()) == 0
    study = saddle.open_study(out)
    assert study.runs.select("lambda", "lambda_1").rows() == [(0.5, 2.0)]
    assert study.metrics.select("lambda", "lambda_1").unique().rows() == [(0.5, 2.0)]
    assert study.metrics["cost"].is_finite().all() and study.metrics["cost_1"].is_finite().all()
    capsys.readouterr()
    assert main(["evaluate", out, "--episodes", "2", "--limit", "25", "10", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert [one["constraint"] for one in scores[:2]] == ["hazards", "vases_velocity"]
    for one, other in (scores[:2], scores[2:]):
        assert (
            one["violating_any"]
            == other["violating_any"]
            >= max(one["violating"], other["violating"])
        )
    assert main(["analyze", out, "--constraint", "vases_velocity", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["tasks"]
    assert found["groups"][0]["lambda"] == 2 and found["groups"][0]["others"] == [0.5]


def test_it_is_no_part_of_the_published_study(capsys):
    assert NAME not in {spec.name for spec in PUBLISHED.values()}
    assert NAME not in load("paper").tasks
    assert main(["parity", "--task", NAME]) == 2
    assert "has no reference rows to replay" in capsys.readouterr().err
