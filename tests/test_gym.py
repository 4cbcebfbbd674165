"""The tasks as Gymnasium environments, against the tasks themselves and against Gymnasium's own
machinery.
"""

import importlib.util
import subprocess
import sys
from dataclasses import replace
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

import saddle.gym
from saddle import hook, tasks
from saddle.errors import SaddleError
from saddle.gym import checks, programs
from saddle.gym.env import TaskEnv
from saddle.gym.vector import TaskVectorEnv

CIRCLE = "SafetyPointCircle1-v0"
TURN = np.array(
    [1.0, 1.0]
)  # a saturated turn is the one regime in which rounding errors do not grow


@pytest.mark.parametrize(
    "order", ["gymnasium, saddle", "saddle, gymnasium", "saddle.study, gymnasium.spaces"]
)
def test_names_are_registered_without_jax_in_any_order(order):
    code = (
        f"import sys, {order}; finder = type(sys.meta_path[0]).__module__; "
        "import gymnasium; gymnasium.spec('saddle/SafetyPointGoal1-v0'); "
        "sys.exit('jax' in sys.modules or finder.startswith('saddle'))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_gymnasium_may_be_looked_for_before_it_is_imported(monkeypatch):
    """As `saddle doctor` and test runners do; and whoever has no Gymnasium is told so by Python as
    ever.
    """
    monkeypatch.delitem(sys.modules, "gymnasium")
    finder = hook._AfterGymnasium()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    spec = importlib.util.find_spec("gymnasium")
    assert spec is not None and spec.origin == gymnasium.__file__ and finder in sys.meta_path
    assert finder.find_spec("saddle", None) is None
    monkeypatch.setattr(sys, "meta_path", [finder])
    assert finder.find_spec("gymnasium", None) is None


def test_registered_facts_are_the_tasks_own():
    lengths = {name: tasks.make(name).spec.episode_length for name in tasks.names()}
    assert {name: gymnasium.spec(f"saddle/{name}").max_episode_steps for name in lengths} == lengths


@pytest.mark.parametrize("name", tasks.names()[:4])
def test_gymnasiums_checker_has_nothing_to_say(name):
    # Warnings are errors in this suite.
    check_env(gymnasium.make(f"saddle.gym:saddle/{name}").unwrapped)


def test_a_seed_gives_the_tasks_world_and_the_next_reset_another():
    env, task = TaskEnv(CIRCLE), tasks.make(CIRCLE)
    first, info = env.reset(seed=5)
    assert info == {} and first.dtype == np.float64
    np.testing.assert_allclose(first, task.reset(jax.random.key(5)).obs, atol=1e-5)
    second, _ = env.reset()
    assert (first != second).any()
    env.reset(seed=5)
    np.testing.assert_array_equal(env.reset()[0], second)
    env.np_random.random()
    assert (env.reset(seed=6)[0] != first).any()


def test_unseeded_worlds_differ():
    assert (TaskEnv(CIRCLE).reset()[0] != TaskEnv(CIRCLE).reset()[0]).any()


def test_step_is_the_tasks_step():
    env, task = TaskEnv(CIRCLE), tasks.make(CIRCLE)
    env.reset(seed=5)
    state = replace(env.state, agent=env.state.agent.at[0].set(1.2))
    env._state = state
    after = task.step(state, jnp.ones(2))
    obs, reward, terminated, truncated, info = env.step([1, 1])
    np.testing.assert_allclose(obs, after.obs, atol=1e-4)
    assert reward == pytest.approx(float(after.reward), abs=1e-6)
    assert (terminated, truncated) == (False, False)
    assert info == {"cost": 1.0, "cost_out_of_boundary": 1.0, "cost_sum": 1.0}


def test_six_values_take_the_cost_out_of_info():
    env: Any = saddle.gym.make_safe(CIRCLE)
    env.reset(seed=5)
    env._state = replace(env.state, agent=env.state.agent.at[0].set(1.2))
    obs, _reward, cost, terminated, truncated, info = env.step(TURN)
    assert obs.shape == (28,) and cost == 1.0 and not terminated and not truncated
    assert info == {"cost_out_of_boundary": 1.0, "cost_sum": 1.0}


def shown(task, state):
    out = programs.outcome(task, state)
    return {name for name in out.info if out.shown[name]}


def test_entries_that_the_reference_reports_now_and_then():
    task = tasks.make("SafetyPointButton1-v0")
    state = task.reset(jax.random.key(0))
    always = {"cost_hazards", "cost_gremlins", "cost_sum"}
    assert shown(task, replace(state, button_cost_active=np.array(False))) == always
    assert shown(task, replace(state, button_cost_active=np.array(True))) == always | {
        "cost_buttons"
    }
    met = replace(state, goal_met=np.array(True), button_cost_active=np.array(False))
    assert shown(task, met) == always | {"goal_met"}


def test_the_episode_ends_on_time_and_not_without_a_reset():
    env = TaskEnv(CIRCLE)
    env.reset(seed=0)
    ends = [env.step(TURN)[2:4] for _ in range(500)]
    assert ends == [(False, False)] * 499 + [(False, True)]
    with pytest.raises(SaddleError, match="has ended: call reset"):
        env.step(TURN)
    env.reset()
    assert env.step(TURN)[3] is False


def test_environments_of_one_task_share_their_programs():
    assert TaskEnv(CIRCLE)._programs is TaskEnv(CIRCLE)._programs
    assert TaskVectorEnv(CIRCLE, 2)._programs is TaskVectorEnv(CIRCLE, 3)._programs
    button = "SafetyPointButton1-v0"
    assert TaskEnv(button, timer_at_reset=10)._programs is not TaskEnv(button)._programs


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        ([0.0, 0.0, 0.0], r"must have shape \(2,\), this one has \(3,\)"),
        (0.0, r"must have shape \(2,\), this one has \(\)"),
        ([[0.0], [0.0, 1.0]], "ragged"),
        (["left", "right"], "must hold real numbers, not <U5"),
        (None, "must hold real numbers, not object"),
        ([True, False], "must hold real numbers, not bool"),
        ([1j, 0], "must hold real numbers, not complex128"),
        ([0.0, np.nan], "NaN or infinity"),
        ([np.inf, 0.0], "NaN or infinity"),
        ([1e300, 0.0], "NaN or infinity"),
    ],
)
def test_a_wrong_action_gets_one_clear_line(action, complaint):
    env = TaskEnv(CIRCLE)
    env.reset(seed=0)
    before = env.state
    with pytest.raises(SaddleError, match=complaint) as caught:
        env.step(action)
    assert "\n" not in str(caught.value)
    assert env.state is before


def test_integer_actions_and_those_beyond_the_box_are_clipped_as_in_the_reference():
    rewards = []
    for action in ([1, 1], [7.0, 7.0], TURN.astype(np.float32)):
        env = TaskEnv(CIRCLE)
        env.reset(seed=0)
        rewards.append(env.step(action)[1])
    assert rewards[0] == rewards[1] == rewards[2]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: TaskEnv("SafetyPointGaol1-v0"), "did you mean 'SafetyPointGoal1-v0'"),
        (
            lambda: TaskEnv(CIRCLE, render_mode="human"),
            "unknown render_mode 'human'; use 'rgb_array' or None",
        ),
        (lambda: TaskEnv(CIRCLE, width=0), "width must be a whole number of at least 1, not 0"),
        (lambda: TaskEnv(CIRCLE, colour="red"), "does not take these options: colour"),
        (
            lambda: TaskEnv(CIRCLE).reset(seed=-1),
            "a seed must be a whole number from 0 to 4294967295",
        ),
        (lambda: TaskEnv(CIRCLE).reset(seed=2**32), "a seed must be"),
        (lambda: TaskEnv(CIRCLE).step(TURN), "call reset"),
        (lambda: TaskEnv(CIRCLE, "rgb_array").render(), "call reset"),
        (
            lambda: TaskVectorEnv(CIRCLE, -3),
            "num_envs must be a whole number of at least 1, not -3",
        ),
        (lambda: saddle.gym.make_safe_vec(CIRCLE, True), "num_envs must be a whole number"),
        (lambda: TaskVectorEnv(CIRCLE, 2, max_episode_steps=0), "max_episode_steps must be"),
        (lambda: TaskVectorEnv(CIRCLE, 2).reset(seed=[1, 2, 3]), "2 worlds but 3 seeds"),
        (lambda: TaskVectorEnv(CIRCLE, 2).reset(seed=2**32 - 1), "a seed must be"),
        (
            lambda: TaskVectorEnv(CIRCLE, 2).reset(options={"reset_mask": np.ones(2, bool)}),
            "no reset_mask",
        ),
        (lambda: TaskVectorEnv(CIRCLE, 2).step(np.zeros((2, 2))), "call reset"),
        (
            lambda: TaskVectorEnv(CIRCLE, 2).step(np.zeros(2)),
            r"must have shape \(2, 2\), this one has \(2,\)",
        ),
    ],
)
def test_bad_input_gets_one_clear_line(make, complaint):
    with pytest.raises(SaddleError, match=complaint) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_observations_lie_in_the_space_whose_bounds_are_finite():
    space = checks.observation_space(tasks.make("SafetyPointGoal1-v0"))
    assert space.shape == (60,) and space.dtype == np.float64 and np.isfinite(space.high).all()
    assert (space.low[12:] == 0).all() and (space.high[12:] == 1).all() and space.high[2] > 9.81


def test_make_vec_gives_the_vector_form():
    env = gymnasium.make_vec(
        f"saddle/{CIRCLE}", num_envs=2, vectorization_mode="vector_entry_point"
    )
    assert isinstance(env.unwrapped, TaskVectorEnv)
    assert env.num_envs == 2 and env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert env.observation_space.shape == (2, 28) and env.action_space.shape == (2, 2)
    obs, info = env.reset(seed=0)
    assert obs in env.observation_space and info == {}
    obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
    assert obs in env.observation_space and reward.shape == terminated.shape == truncated.shape == (
        2,
    )
    assert reward.dtype == np.float64 and terminated.dtype == truncated.dtype == bool
    env.close()


def test_the_vector_form_does_what_gymnasiums_own_would():
    """Same seeds, same actions, three episodes of three steps, restarting in the same step."""
    alone = lambda: TimeLimit(TaskEnv(CIRCLE), 3)
    reference = SyncVectorEnv([alone] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    worlds = TaskVectorEnv(CIRCLE, 2, max_episode_steps=3)
    np.testing.assert_allclose(worlds.reset(seed=3)[0], reference.reset(seed=3)[0], atol=1e-5)
    actions = np.array([[1.0, 1.0], [1.0, -1.0]])
    for step in range(1, 8):
        obs, reward, terminated, truncated, info = worlds.step(actions)
        expected = reference.step(actions)
        np.testing.assert_allclose(obs, expected[0], atol=2e-3)
        np.testing.assert_allclose(reward, expected[1], atol=1e-5)
        np.testing.assert_array_equal(terminated, expected[2])
        np.testing.assert_array_equal(truncated, expected[3])
        assert truncated.all() == (step % 3 == 0)
        if step % 3:
            assert info.keys() == expected[4].keys()
            continue
        ours, theirs = info, expected[4]
        assert (
            ours.keys() >= theirs.keys()
            and ours["final_info"].keys() == theirs["final_info"].keys()
        )
        assert ours["_final_obs"].all() and ours["_final_info"].all()
        np.testing.assert_allclose(
            np.stack(ours["final_obs"]), np.stack(theirs["final_obs"]), atol=2e-3
        )
        assert np.abs(np.stack(ours["final_obs"]) - obs).max() > 0.1


def about_to_end(env):
    """Two worlds, the first outside the boundary and one step before its end."""
    env.reset(seed=0)
    agent, steps = env.state.agent.at[0, 0].set(1.5), env.state.steps.at[0].set(2)
    env._state = replace(env.state, agent=agent, steps=steps)
    return env


def test_only_the_worlds_that_ended_have_final_entries():
    env = about_to_end(TaskVectorEnv(CIRCLE, 2, max_episode_steps=3))
    obs, _, _, truncated, info = env.step(np.zeros((2, 2)))
    np.testing.assert_array_equal(truncated, [True, False])
    np.testing.assert_array_equal(info["_final_obs"], truncated)
    np.testing.assert_array_equal(info["_final_info"], truncated)
    np.testing.assert_array_equal(info["final_info"]["_cost"], truncated)
    assert info["final_obs"][1] is None and info["final_obs"][0].shape == (28,)
    assert (info["final_obs"][0] != obs[0]).any()
    assert "final_obs" not in env.step(np.zeros((2, 2)))[4]


def test_the_cost_of_a_final_step_is_not_lost():
    info = about_to_end(TaskVectorEnv(CIRCLE, 2, max_episode_steps=3)).step(np.zeros((2, 2)))[4]
    np.testing.assert_array_equal(info["cost"], [1, 0])
    np.testing.assert_array_equal(info["_cost"], [True, True])
    np.testing.assert_array_equal(info["final_info"]["cost"], [1, 0])


def test_six_values_of_many_worlds():
    env = about_to_end(saddle.gym.make_safe_vec(CIRCLE, 2, max_episode_steps=3))
    obs, reward, cost, terminated, truncated, info = env.step(np.zeros((2, 2)))
    assert obs.shape == (2, 28) and reward.shape == terminated.shape == truncated.shape == (2,)
    np.testing.assert_array_equal(cost, [1, 0])
    assert "cost" not in info and "_cost" not in info
    np.testing.assert_array_equal(info["final_info"]["cost_sum"], [1, 0])


def test_seeds_of_a_vector_may_be_given_one_by_one():
    env = TaskVectorEnv(CIRCLE, 2)
    np.testing.assert_array_equal(env.reset(seed=[4, 5])[0], env.reset(seed=4)[0])
    first = env.reset(seed=4)[0]
    second = env.reset()[0]
    assert (first != second).any()
    assert (TaskVectorEnv(CIRCLE, 2).reset()[0] != TaskVectorEnv(CIRCLE, 2).reset()[0]).any()
    assert (env.reset()[0][0] != env.reset()[0][1]).any()


def test_frames_show_the_world_as_it_is():
    env = gymnasium.make(f"saddle/{CIRCLE}", render_mode="rgb_array", width=300, height=200)
    env.reset(seed=0)
    first = env.render()
    assert (
        isinstance(first, np.ndarray) and first.shape == (200, 300, 3) and first.dtype == np.uint8
    )
    np.testing.assert_array_equal(first, env.render())
    for _ in range(5):
        env.step(TURN)
    assert (first != env.render()).any()
    env.close()


def test_a_vector_renders_every_world():
    env = TaskVectorEnv(CIRCLE, 2, render_mode="rgb_array")
    env.reset(seed=0)
    frames = env.render()
    assert frames is not None and len(frames) == 2 and frames[0].shape == (400, 400, 3)
    assert (frames[0] != frames[1]).any()
    env.close()


@pytest.mark.parametrize("env", [TaskEnv(CIRCLE), TaskVectorEnv(CIRCLE, 2)], ids=["one", "many"])
def test_render_without_a_mode_warns(env):
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
        assert env.render() is None
