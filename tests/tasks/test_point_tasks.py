"""What the four point tasks promise around the physics: fresh worlds, ends of episodes, timers,
failures.
"""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from saddle.errors import SaddleError
from saddle.tasks import make, names
from saddle.tasks.point.button import Button
from saddle.tasks.point.goal import Goal
from saddle.tasks.point.push import Push

TASKS = names()[:4]
BUTTONS_LIDAR = slice(12, 28)


WORLDS = 64


@functools.cache
def worlds(task):
    """WORLDS fresh ones."""
    return jax.jit(jax.vmap(task.reset))(jax.random.split(jax.random.key(0), WORLDS))


def world(task, i=0):
    return jax.tree.map(lambda leaf: leaf[i], worlds(task))


@pytest.fixture(params=TASKS)
def task(request):
    return make(request.param)


@pytest.mark.exact
def test_a_fresh_world_is_at_rest_and_costs_nothing(task):
    state, spec = worlds(task), task.spec
    assert state.obs.shape == (WORLDS, spec.obs_dim) and state.cost.shape == (
        WORLDS,
        len(spec.constraints),
    )
    for zero in (
        state.reward,
        state.cost,
        state.terminated,
        state.truncated,
        state.steps,
        state.agent[:, 3:],
    ):
        assert not zero.any()
    np.testing.assert_allclose(
        state.obs[:, :9], np.tile([0, 0, 9.81, 0, 0, 0, 0, 0, 0], (WORLDS, 1)), atol=1e-6
    )
    assert np.all((state.obs[:, 12:] >= 0) & (state.obs[:, 12:] <= 1))
    assert len(np.unique(state.obs, axis=0)) == WORLDS
    np.testing.assert_allclose(state.obs, jax.jit(jax.vmap(task.observe))(state), atol=1e-6)
    assert not any(np.any(value) for value in task.info(world(task)).values())


def test_worlds_depend_on_their_key_alone(task):
    alone = jax.jit(task.reset)(jax.random.split(jax.random.key(0), WORLDS)[5])
    np.testing.assert_allclose(world(task, 5).obs, alone.obs, atol=1e-5)
    assert np.all(jax.random.key_data(world(task, 5).key) == jax.random.key_data(alone.key))


@pytest.mark.parametrize("double", [False, True])
def test_a_step_keeps_types_and_shapes(task, double):
    """In either precision: a scan over steps must accept its own output."""
    with jax.enable_x64(double):
        state = jax.eval_shape(task.reset, jax.random.key(0))
        after = jax.eval_shape(task.step, state, jax.ShapeDtypeStruct((2,), float))
        assert after == state
        assert state.obs.dtype == (np.float64 if double else np.float32)
        floats = {
            leaf.dtype
            for leaf in jax.tree.leaves(after)
            if jnp.issubdtype(leaf.dtype, jnp.floating)
        }
        assert floats == {state.obs.dtype}


def test_double_precision_worlds_start(task):
    with jax.enable_x64(True):
        state = jax.jit(task.reset)(jax.random.key(0))
        assert state.obs.dtype == np.float64 and np.isfinite(state.obs).all()


def stay(task, state):
    """A step in which nothing moves or touches."""
    bodies = {"vase": (), "box": (), "gremlins": (jnp.zeros(4, bool), jnp.zeros((), bool))}
    moved = [
        (getattr(state, name), *contacts)
        for name, contacts in bodies.items()
        if hasattr(state, name)
    ]
    return task.settle(state, state.agent, state.acceleration, *(moved[0] if moved else ()))


def test_an_episode_ends_by_length(task):
    ends = jnp.array([0, task.spec.episode_length - 2, task.spec.episode_length - 1])
    start = world(task, 1)
    after = jax.jit(jax.vmap(lambda n: stay(task, replace(start, steps=n))))(ends)
    np.testing.assert_array_equal(after.truncated, [False, False, True])
    np.testing.assert_array_equal(after.steps, ends + 1)
    assert not after.terminated.any()


@pytest.mark.parametrize("shape", [(), (1,), (3,), (4, 2)])
def test_an_action_of_the_wrong_shape_is_refused_while_tracing(task, shape):
    state = jax.eval_shape(task.reset, jax.random.key(0))
    with pytest.raises(SaddleError, match=r"takes actions of shape \(2,\)"):
        jax.eval_shape(task.step, state, jnp.zeros(shape))


def test_names_of_the_reference(task):
    assert make(task.spec.name) == task
    reference = {
        "SafetyPointCircle1-v0": {"cost_out_of_boundary", "cost_sum"},
        "SafetyPointGoal1-v0": {"cost_hazards", "cost_sum", "goal_met"},
        "SafetyPointButton1-v0": {
            "cost_hazards",
            "cost_gremlins",
            "cost_buttons",
            "cost_sum",
            "goal_met",
        },
        "SafetyPointPush1-v0": {"cost_hazards", "cost_sum", "goal_met"},
    }
    info = jax.eval_shape(task.info, jax.eval_shape(task.reset, jax.random.key(0)))
    assert info.keys() == reference[task.spec.name]
    assert all(value.shape == () for value in info.values())


def test_heights_at_reset():
    """Of the vase, the box and the gremlins, as the reference sets them down."""
    for name, field, height in (
        ("Goal", "vase", 0.09996),
        ("Push", "box", 0.2),
        ("Button", "gremlins", 0.1),
    ):
        bodies = np.atleast_2d(getattr(world(make(f"SafetyPoint{name}1-v0")), field))
        np.testing.assert_allclose(bodies[:, 2], height, atol=1e-7)
        np.testing.assert_allclose(np.linalg.norm(bodies[:, 3:7], axis=1), 1, atol=1e-6)
        assert not bodies[:, 4:6].any() and not bodies[:, 7:].any()


def test_gremlins_start_at_their_anchors():
    state = worlds(Button())
    np.testing.assert_array_equal(state.gremlins[..., :2], state.anchors[..., :2])
    yaw = 2 * np.arctan2(state.gremlins[..., 6], state.gremlins[..., 3])
    np.testing.assert_allclose(np.cos(yaw - state.anchors[..., 2]), 1, atol=1e-6)
    assert set(np.asarray(state.goal_button)) == {0, 1, 2, 3}


# Button1's timer, driven by contacts that the test makes up.


def button_run(task, presses, steps):
    """Costs of wrong buttons and brightness of the buttons' lidar over `steps` steps; the robot
    stays where it is.

    A wrong button is in contact all the time, the goal button in the steps named in `presses`
    (counted from 1).
    """
    state = world(task, 2)
    settle = jax.jit(task.settle)
    cost, bright, rewards = [], [bool(state.obs[BUTTONS_LIDAR].any())], []
    for t in range(1, steps + 1):
        goal = np.arange(4) == int(state.goal_button)
        wrong = np.arange(4) == (int(state.goal_button) + 1) % 4
        pressed = jnp.asarray(wrong | (goal & (t in presses)))
        state = settle(
            state, state.agent, state.acceleration, state.gremlins, pressed, jnp.zeros((), bool)
        )
        assert bool(state.goal_met) == (t in presses)
        cost.append(int(task.info(state)["cost_buttons"]))
        bright.append(bool(state.obs[BUTTONS_LIDAR].any()))
        rewards.append(float(state.reward))
    return cost, bright, rewards


def test_a_press_buys_ten_steps_of_grace():
    cost, bright, rewards = button_run(Button(), presses={3}, steps=16)
    assert cost == [1, 1, 1] + [0] * 10 + [1] * 3
    assert bright == [True] * 3 + [False] * 10 + [True] * 4
    np.testing.assert_allclose(rewards, np.arange(1, 17) == 3, atol=1e-6)


def test_a_press_within_the_grace_pays_and_renews_it():
    cost, bright, rewards = button_run(Button(), presses={1, 2, 6}, steps=20)
    assert cost == [1] + [0] * 15 + [1] * 4
    assert bright == [True] + [False] * 15 + [True] * 5
    np.testing.assert_allclose(rewards, [t in (1, 2, 6) for t in range(1, 21)], atol=1e-6)


def test_the_later_convention_starts_with_grace():
    cost, bright, _ = button_run(Button(timer_at_reset=10), presses=set(), steps=13)
    assert cost == [0] * 10 + [1] * 3
    assert bright == [False] * 10 + [True] * 4


def test_only_the_two_conventions_exist():
    with pytest.raises(SaddleError, match="timer_at_reset is 0"):
        make("SafetyPointButton1-v0", timer_at_reset=5)


def test_the_next_button_is_any_of_the_four():
    """The one just pressed included, each as likely as the others."""
    task = Button()
    state = replace(world(task), goal_button=jnp.asarray(2, jnp.int32))

    def press(key):
        arguments = (
            state.agent,
            state.acceleration,
            state.gremlins,
            jnp.arange(4) == 2,
            jnp.zeros((), bool),
        )
        return task.settle(replace(state, key=key), *arguments).goal_button

    chosen = jax.jit(jax.vmap(press))(jax.random.split(jax.random.key(1), 800))
    assert chisquare(np.bincount(chosen, minlength=4)).pvalue > 0.01


def test_gremlins_and_hazards_cost_in_button():
    task = Button()
    state = world(task)
    none, quiet = jnp.zeros(4, bool), jnp.zeros((), bool)
    settle = jax.jit(task.settle)
    touched = settle(state, state.agent, state.acceleration, state.gremlins, none, ~quiet)
    inside = settle(
        state,
        state.agent.at[:2].set(state.hazards[3]),
        state.acceleration,
        state.gremlins,
        none,
        quiet,
    )
    np.testing.assert_array_equal(touched.violations, [False, True, False])
    np.testing.assert_array_equal(inside.violations, [True, False, False])
    assert touched.cost == inside.cost == 1


def test_an_episode_terminates_when_no_goal_fits():
    """Robot, hazards, pillar and box so placed that their keepouts cover every place a goal could
    have.
    """
    task = Push()
    state = world(task)
    box = state.box.at[:2].set(jnp.array([-0.59, 0.99]))
    state = replace(
        state,
        goal=jnp.array([-0.5, 0.9]),
        hazards=jnp.array([[0.58, -0.55], [0.56, 0.58]]),
        pillar=jnp.array([-0.58, -0.78]),
        last_box=jnp.asarray(0.5),
        last_box_goal=jnp.asarray(0.2),
    )
    agent = state.agent.at[:2].set(jnp.array([-0.65, 0.22]))
    after = jax.jit(task.settle)(state, agent, jnp.zeros(3), box)
    assert after.terminated and after.goal_met and not after.truncated
    np.testing.assert_array_equal(after.goal, state.goal)
    expected = (
        0.5 - np.linalg.norm([0.06, 0.77, 0.1]) + 0.2 - np.linalg.norm([0.09, 0.09, 0.04]) + 1
    )
    np.testing.assert_allclose(after.reward, expected, atol=1e-6)


def test_rewards_are_clipped():
    task = Goal()
    state = world(task)
    settle = jax.jit(task.settle)
    for last, reward in ((50.0, 10), (-50.0, -10)):
        after = settle(
            replace(state, last_goal=jnp.asarray(last)), state.agent, state.acceleration, state.vase
        )
        assert after.reward == reward
