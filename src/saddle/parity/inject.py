"""Reference rows as batched states of our tasks."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saddle.parity.golden import Golden
from saddle.tasks import State, Task
from saddle.tasks.point.specs import DT

# Written by `step` before anything reads them, so that an injected state may hold zeros there.
_RESULTS = frozenset(
    ("obs", "reward", "cost", "terminated", "truncated", "acceleration", "goal_met", "violations")
    + ("button_cost_active",)
)


def inject(golden: Golden, task: Task, dtype: Any, after: bool = False) -> State:
    """The reference's states before the step (or after it) as one batched state, reals in `dtype`.

    After the step the previous distances are not recorded: that state is for `observe`, not for
    `step`.
    """
    values = fields(golden, after)
    template = jax.eval_shape(task.reset, jax.random.key(0))
    leaves = {}
    for field in dataclasses.fields(template):
        leaf = getattr(template, field.name)
        if field.name == "key":
            leaves[field.name] = jax.random.split(jax.random.key(0), golden.rows)
            continue
        if field.name not in values and field.name not in _RESULTS:
            raise NotImplementedError(
                f"{golden.task}: no reference value for the state's field {field.name!r}"
            )
        value = values.get(field.name, np.zeros(leaf.shape))
        real = jnp.issubdtype(leaf.dtype, jnp.floating)
        value = np.broadcast_to(value, (golden.rows, *leaf.shape))
        leaves[field.name] = jnp.asarray(value, dtype if real else leaf.dtype)
    return type(template)(**leaves)


def fields(golden: Golden, after: bool = False) -> dict[str, np.ndarray]:
    """Every state field the rows determine, in float64: name -> [N, ...]."""
    suffix, later = ("2", 1) if after else ("", 0)
    values = {
        "agent": agents(golden, after),
        "steps": golden["step"].astype(np.int64) + later,
        "time": golden["time"] + later * DT,
        "goal": golden["goal" + suffix],
        "goal_button": golden["goal_button" + suffix],
        "timer": golden["timer" + suffix],
    }
    last = ("last_goal", "last_box", "last_box_goal")
    values |= {name: np.zeros(golden.rows) if after else golden[name] for name in last}
    for name in ("hazards", "buttons", "gremlins", "pillar"):
        if f"ep_{name}" in golden.arrays:
            values["anchors" if name == "gremlins" else name] = golden.episode(f"ep_{name}")
    if "pillar" in values:
        values["pillar"] = values["pillar"][:, 0]
    if golden.bodies:
        body = bodies(golden, after)
        values |= {"gremlins": body, "vase": body[:, 0], "box": body[:, 0]}
    return values


def agents(golden: Golden, after: bool = False) -> np.ndarray:
    """[N, 6] world x, y, yaw in [-pi, pi), vx, vy, yaw rate. The robot's joints live in its frame
    at the reset.
    """
    suffix = "2" if after else ""
    q = golden["qpos" + suffix][:, :3]
    v = golden["qvel" + suffix][:, :3]
    x0, y0, turned = golden.episode("ep_agent").T
    c = np.cos(turned)
    s = np.sin(turned)
    yaw = wrap(turned + q[:, 2])
    x = x0 + c * q[:, 0] - s * q[:, 1]
    y = y0 + s * q[:, 0] + c * q[:, 1]
    vx = c * v[:, 0] - s * v[:, 1]
    vy = s * v[:, 0] + c * v[:, 1]
    return np.stack([x, y, yaw, vx, vy, v[:, 2]], axis=1)


def bodies(golden: Golden, after: bool = False) -> np.ndarray:
    """[N, B, 13]: position, quaternion, world linear and body-frame angular velocity of each free
    body.
    """
    suffix = "2" if after else ""
    pose = golden["qpos" + suffix][:, 3:].reshape(golden.rows, golden.bodies, 7)
    velocity = golden["qvel" + suffix][:, 3:].reshape(golden.rows, golden.bodies, 6)
    return np.concatenate([pose, velocity], axis=-1)


def wrap(angle: np.ndarray) -> np.ndarray:
    """To [-pi, pi)."""
    return (angle + np.pi) % (2 * np.pi) - np.pi
