"""Rewards, costs, events and observations, recomputed from the reference's own states: no physics
involved.

Each row of a reference file gives the state before a step and the pose after it. `settle` must turn
the two into what the reference returned: to 1e-12 in float64. In float32 rounding the input alone
moves a lidar reading by up to 1e-5 (an object close by, whose angle hangs on its last digit), so
that much is granted row by row; the arithmetic itself may add 1e-6.
"""

import functools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saddle.parity.golden_files import TRANSITIONS
from saddle.tasks import make
from saddle.tasks.point.button import ButtonState
from saddle.tasks.point.circle import CircleState
from saddle.tasks.point.goal import GoalState
from saddle.tasks.point.push import PushState

CIRCLE, GOAL, BUTTON, PUSH = (
    f"SafetyPoint{name}1-v0" for name in ("Circle", "Goal", "Button", "Push")
)


def on(*names):
    """A parameter `name` per task."""
    return pytest.mark.parametrize("name", names)


@functools.cache
def rows_of(name):
    with np.load(TRANSITIONS / f"{name}.npz") as file:
        return dict(file)


def agent(rows, qpos, qvel):
    """[rows, 6] in the world frame; the reference's joints start at the robot's reset pose."""
    x, y, yaw = rows["ep_agent"][rows["ep"]].T
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    position = np.stack([x, y]) + np.einsum("ijr,rj->ir", turn, qpos[:, :2])
    velocity = np.einsum("ijr,rj->ir", turn, qvel[:, :2])
    yaw = (yaw + qpos[:, 2] + np.pi) % (2 * np.pi) - np.pi
    return np.stack([*position, yaw, *velocity, qvel[:, 2]], axis=1)


def free_bodies(qpos, qvel):
    """[rows, bodies, 13]."""
    count = len(qpos)
    return np.concatenate(
        [qpos[:, 3:].reshape(count, -1, 7), qvel[:, 3:].reshape(count, -1, 6)], axis=2
    )


def before(name, rows, real):
    """The batched State that each row starts from. `real` makes a float array of the precision
    wanted.
    """
    count, episode = len(rows["ep"]), rows["ep"]
    flag = jnp.zeros(count, bool)
    common = {
        "obs": real(np.zeros_like(rows["obs2"])),
        "reward": real(np.zeros(count)),
        "cost": real(np.zeros((count, 1))),
        "terminated": flag,
        "truncated": flag,
        "steps": jnp.asarray(rows["step"], jnp.int32),
        "key": jax.random.split(jax.random.key(0), count),
        "agent": real(agent(rows, rows["qpos"], rows["qvel"])),
        "acceleration": real(np.zeros((count, 3))),
    }
    if name == CIRCLE:
        return CircleState(**common)
    bodies = real(free_bodies(rows["qpos"], rows["qvel"]))
    common |= {"hazards": real(rows["ep_hazards"][episode]), "goal_met": flag}
    if name == BUTTON:
        return ButtonState(
            **common,
            buttons=real(rows["ep_buttons"][episode]),
            anchors=real(rows["ep_gremlins"][episode]),
            gremlins=bodies,
            time=real(rows["time"]),
            goal_button=jnp.asarray(rows["goal_button"], jnp.int32),
            timer=jnp.asarray(rows["timer"], jnp.int32),
            last_goal=real(rows["last_goal"]),
            violations=jnp.zeros((count, 3), bool),
            button_cost_active=flag,
        )
    common |= {"goal": real(rows["goal"])}
    if name == GOAL:
        return GoalState(**common, vase=bodies[:, 0], last_goal=real(rows["last_goal"]))
    return PushState(
        **common,
        pillar=real(rows["ep_pillar"][episode][:, 0]),
        box=bodies[:, 0],
        last_box=real(rows["last_box"]),
        last_box_goal=real(rows["last_box_goal"]),
    )


@functools.cache
def program(name):
    """settle, observe and info of many worlds, compiled once per precision."""
    task: Any = make(name)
    return tuple(jax.jit(jax.vmap(f)) for f in (task.settle, task.observe, task.info))


@functools.cache
def settled(name, arithmetic="float64", rounded=False):
    """The batched State after each row's step, by the reference's physics and our rules, as NumPy
    arrays.

    `rounded`: the input is cut to float32 first. The observation shows the reference's new goal,
    since ours is random.
    """
    rows = rows_of(name)
    settle, observe, info = program(name)
    with jax.enable_x64(arithmetic == "float64"):
        real = lambda array: jnp.asarray(
            np.asarray(array, np.float32) if rounded else array, arithmetic
        )
        after = settle(before(name, rows, real), *moved(name, rows, real))
        if name == BUTTON:
            shown = replace(after, goal_button=jnp.asarray(rows["goal_button2"], jnp.int32))
        else:
            shown = after if name == CIRCLE else replace(after, goal=real(rows["goal2"]))
        entries = {key: np.asarray(value) for key, value in info(after).items()}
        after = replace(after, obs=observe(shown), key=after.steps)
        return jax.tree.map(np.asarray, after), entries


def moved(name, rows, real):
    """What the physics hands to `settle`."""
    robot = real(agent(rows, rows["qpos2"], rows["qvel2"]))
    bodies = real(free_bodies(rows["qpos2"], rows["qvel2"]))
    contact = rows["contact_end"]
    extra = () if name == CIRCLE else (bodies[:, 0],)
    if name == BUTTON:
        is_goal = np.arange(4) == rows["goal_button"][:, None]
        pressed = np.where(is_goal, contact[:, None] & 1, contact[:, None] & 2) != 0
        extra = (bodies, jnp.asarray(pressed), jnp.asarray(contact & 4 != 0))
    return robot, real(np.zeros((len(robot), 3))), *extra


def clear_of_thresholds(name, rows):
    """Rows whose events do not hang on the rounding of the input."""
    robot = agent(rows, rows["qpos2"], rows["qvel2"])
    if name == CIRCLE:
        return np.abs(np.abs(robot[:, 0]) - 1.125) > 1e-5
    hazards = np.linalg.norm(rows["ep_hazards"][rows["ep"]] - robot[:, None, :2], axis=2)
    clear = np.all(np.abs(hazards - (0.3 if name == PUSH else 0.2)) > 1e-5, axis=1)
    if name == BUTTON:
        return clear
    goal = (
        np.append(rows["goal"], np.full((len(robot), 1), 0.16), axis=1)
        if name == PUSH
        else rows["goal"]
    )
    who = rows["qpos2"][:, 3:6] if name == PUSH else robot[:, :2]
    return clear & (np.abs(np.linalg.norm(who - goal, axis=1) - 0.3) > 1e-5)


def check_events(name, rows, after, info, where):
    np.testing.assert_array_equal(after.cost[where, 0], rows["cost"][where])
    np.testing.assert_array_equal(after.truncated, rows["truncated"])
    np.testing.assert_array_equal(after.terminated, rows["terminated"])
    np.testing.assert_array_equal(after.steps, rows["step"] + 1)
    np.testing.assert_array_equal(info["cost_sum"], after.cost[:, 0])
    for key in info.keys() - {"cost_sum"}:
        np.testing.assert_array_equal(info[key][where], rows[key][where], err_msg=key)
    if name == BUTTON:
        np.testing.assert_array_equal(after.timer, rows["timer2"])
        np.testing.assert_array_equal(after.button_cost_active, rows["timer"] == 0)


@on(CIRCLE, GOAL, BUTTON, PUSH)
def test_float64(name):
    rows = rows_of(name)
    after, info = settled(name)
    assert after.obs.dtype == after.reward.dtype == after.cost.dtype == np.float64
    check_events(name, rows, after, info, np.ones(len(rows["ep"]), bool))
    np.testing.assert_allclose(after.reward, rows["reward"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(after.obs[:, 2:], rows["obs2"][:, 2:], rtol=0, atol=1e-12)


@on(CIRCLE, GOAL, BUTTON, PUSH)
def test_float32(name):
    rows = rows_of(name)
    after, info = settled(name, "float32", rounded=True)
    assert after.obs.dtype == after.reward.dtype == after.cost.dtype == np.float32
    clear = clear_of_thresholds(name, rows)
    assert clear.mean() > 0.99
    check_events(name, rows, after, info, clear)
    exact, _ = settled(name, "float64", rounded=True)
    farthest = np.max([rows["last_goal"], rows["last_box"], rows["last_box_goal"]], axis=0)
    paid = clear & (farthest < 4)  # m, beyond which two rounded distances differ by more than 1e-6
    for ours, floor, theirs in (
        (after.reward[paid], exact.reward[paid], rows["reward"][paid]),
        (after.obs[:, 2:], exact.obs[:, 2:], rows["obs2"][:, 2:]),
    ):
        added = np.abs(ours - theirs) - np.abs(floor - theirs)
        assert np.mean(added <= 1e-6) > 0.999
        assert np.max(added) < 2e-6


@on(GOAL, PUSH)
def test_goal_moves_on_success_and_only_then(name):
    rows, (after, _) = rows_of(name), settled(name)
    np.testing.assert_array_equal(np.any(after.goal != rows["goal"], axis=1), rows["goal_met"])
    assert np.sum(rows["goal_met"]) > 50


@on(GOAL, BUTTON, PUSH)
def test_next_reward_starts_from_the_goal_on_show(name):
    after, _ = settled(name)
    if name == PUSH:
        goal = np.append(after.goal, np.full((len(after.goal), 1), 0.16), axis=1)
        expected, last = np.linalg.norm(after.box[:, :3] - goal, axis=1), after.last_box_goal
        robot = np.append(after.agent[:, :2], np.full((len(goal), 1), 0.1), axis=1)
        np.testing.assert_allclose(
            after.last_box, np.linalg.norm(after.box[:, :3] - robot, axis=1), atol=1e-12
        )
    else:
        goal = (
            after.goal
            if name == GOAL
            else after.buttons[np.arange(len(after.timer)), after.goal_button]
        )
        expected, last = np.linalg.norm(after.agent[:, :2] - goal, axis=1), after.last_goal
    np.testing.assert_allclose(last, expected, atol=1e-12)
