"""Reference rows as batched states of our tasks."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saddle.parity.golden import Golden
from saddle.tasks import State, Task
from saddle.tasks.point.specs import DT

_RESULTS = {
    "obs",
    "reward",
    "cost",
    "terminated",
    "truncated",
    "acceleration",
    "goal_met",
    "violations",
    "button_cost_active",
}
"""Written by `step` before anything reads them, so that an injected state may hold zeros there."""

_PREVIOUS = ("last_goal", "last_box", "last_box_goal")
"""Distances that are recorded before a step only."""


def inject(golden: Golden, task: Task, dtype: Any, after: bool = False) -> State:
    """The reference's states before the step (or after it) as one batched state, reals in `dtype`.

    After the step the previous distances are not recorded: that state is for `observe`, not for
    `step`.
    """
    key = jax.random.key(0)
    values = fields(golden, after)
    template = jax.eval_shape(task.reset, key)
    leaves = {}
    for field in dataclasses.fields(template):
        name = field.name
        if name == "key":
            leaves[name] = jax.random.split(key, golden.rows)
            continue
        if name not in values and name not in _RESULTS:
            raise NotImplementedError(
                f"{golden.task}: no reference value for the state's field {name!r}"
            )
        leaf = getattr(template, name)
        value = values.get(name, np.zeros(leaf.shape))
        batched = np.broadcast_to(value, (golden.rows, *leaf.shape))
        real = jnp.issubdtype(leaf.dtype, jnp.floating)
        leaves[name] = jnp.asarray(batched, dtype if real else leaf.dtype)
    return type(template)(**leaves)


def fields(golden: Golden, after: bool = False) -> dict[str, np.ndarray]:
    """Every state field the rows determine, in float64: name -> [N, ...]."""
    later = 1 if after else 0  # env steps
    values = {
        "agent": agents(golden, after),
        "steps": golden["step"].astype(np.int64) + later,
        "time": golden["time"] + later * DT,
        "goal": _end(golden, "goal", after),
        "goal_button": _end(golden, "goal_button", after),
        "timer": _end(golden, "timer", after),
    }
    for name in _PREVIOUS:
        values[name] = np.zeros(golden.rows) if after else golden[name]
    recorded = {
        "hazards": "ep_hazards",
        "buttons": "ep_buttons",
        "anchors": "ep_gremlins",
        "pillar": "ep_pillar",
    }
    for name, array in recorded.items():
        if array in golden.arrays:
            values[name] = golden.episode(array)
    if "pillar" in values:
        values["pillar"] = values["pillar"][:, 0]
    if golden.bodies:
        every = bodies(golden, after)
        first = every[:, 0]
        values |= {"gremlins": every, "vase": first, "box": first}
    return values


def _end(golden: Golden, name: str, after: bool) -> np.ndarray:
    """What was recorded at an end of the step: before it, or after it."""
    return golden[f"{name}2" if after else name]


def agents(golden: Golden, after: bool = False) -> np.ndarray:
    """[N, 6] world x, y, yaw in [-pi, pi), vx, vy, yaw rate. The robot's joints live in its frame
    at the reset.
    """
    ahead, left, turn = _end(golden, "qpos", after)[:, :3].T
    speed_ahead, speed_left, yaw_rate = _end(golden, "qvel", after)[:, :3].T
    x0, y0, yaw0 = golden.episode("ep_agent").T
    cos = np.cos(yaw0)
    sin = np.sin(yaw0)
    x = x0 + cos * ahead - sin * left
    y = y0 + sin * ahead + cos * left
    yaw = wrap(yaw0 + turn)
    vx = cos * speed_ahead - sin * speed_left
    vy = sin * speed_ahead + cos * speed_left
    return np.stack([x, y, yaw, vx, vy, yaw_rate], axis=1)


def bodies(golden: Golden, after: bool = False) -> np.ndarray:
    """[N, B, 13]: position, quaternion, world linear and body-frame angular velocity of each free
    body.
    """
    count = (golden.rows, golden.bodies)
    pose = _end(golden, "qpos", after)[:, 3:].reshape(*count, 7)
    velocity = _end(golden, "qvel", after)[:, 3:].reshape(*count, 6)
    return np.concatenate([pose, velocity], axis=-1)


def wrap(angle: np.ndarray) -> np.ndarray:
    """To [-pi, pi)."""
    return (angle + np.pi) % (2 * np.pi) - np.pi
