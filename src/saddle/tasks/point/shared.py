"""What the point tasks have in common around the physics: fresh fields, bodies at rest, starts,
distances, hazards.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.errors import SaddleError
from saddle.tasks.point import layout
from saddle.tasks.spec import TaskSpec
from saddle.tasks.task import State

REWARD_LIMIT = 10.0  # rewards are clipped to +- this

# Bounds of the robot's twelve sensor values: accelerometer (m/s^2; contacts give spikes of 1e2),
# velocimeter (m/s), gyro (rad/s), magnetometer. They are never clipped to these; the physics stays
# far inside.
SENSOR_BOUNDS = np.repeat([1e4, 1e2, 1e2, 1.0], 3)


class Start(NamedTuple):
    """Where everything is when an episode with a goal begins, at rest."""

    key: Array  # the next one
    agent: Array  # [6]
    goal: Array  # [2]
    fixed: Array  # [n, 2], what never moves
    free: Array  # [13], the free body


class PointTask:
    """What Gymnasium's spaces are made from; the other members that a task may have are each task's
    own.
    """

    spec: TaskSpec
    action_dtype = np.float64  # as in the reference

    def obs_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest observation, [obs_dim] each: the sensors, then lidars in [0, 1]."""
        lidars = np.ones(self.spec.obs_dim - SENSOR_BOUNDS.size)
        least = np.concatenate([-SENSOR_BOUNDS, 0 * lidars])
        largest = np.concatenate([SENSOR_BOUNDS, lidars])
        return least, largest


def check_action(spec: TaskSpec, action: Array) -> None:
    """Shapes are known even while JAX traces, so a wrong one is caught here once and not at run
    time.
    """
    if jnp.shape(action) != (spec.action_dim,):
        raise SaddleError(
            f"{spec.name} takes actions of shape ({spec.action_dim},) per world, not "
            f"{jnp.shape(action)}; use jax.vmap for many worlds"
        )


def fresh(spec: TaskSpec, key: Array) -> dict[str, Any]:
    """The fields of a State right after a reset; `obs` is a placeholder for the task to fill."""
    return {
        "obs": jnp.zeros(spec.obs_dim),
        "reward": jnp.zeros(()),
        "cost": jnp.zeros(len(spec.constraints)),
        "terminated": jnp.zeros((), bool),
        "truncated": jnp.zeros((), bool),
        "steps": jnp.zeros((), jnp.int32),
        "key": key,
    }


def stepped(spec: TaskSpec, state: State, reward: Array, violated: Array) -> dict[str, Any]:
    """The fields of a State that every step sets the same way; violated [] bool is the cost
    indicator.
    """
    return {
        "reward": jnp.clip(reward, -REWARD_LIMIT, REWARD_LIMIT),
        "cost": violated.astype(state.cost.dtype)[None],
        "truncated": state.steps + 1 >= spec.episode_length,
        "steps": state.steps + 1,
    }


def yaws(key: Array, count: int) -> Array:
    """[count] headings in [0, 2 pi)."""
    return jax.random.uniform(key, (count,), maxval=2 * jnp.pi)


def agent_at_rest(xy: Array, yaw: Array) -> Array:
    """[6]: the robot at xy [2] with a heading, not moving."""
    return jnp.concatenate([xy, yaw[None], jnp.zeros(3, xy.dtype)])


def body_at_rest(xy: Array, z: float, yaw: Array) -> Array:
    """[13]: a free body upright at xy [2] and height z, not moving."""
    zero = jnp.zeros_like(yaw)
    upright = jnp.stack([jnp.full_like(yaw, z), jnp.cos(yaw / 2), zero, zero, jnp.sin(yaw / 2)])
    return jnp.concatenate([xy, upright, jnp.zeros(6, xy.dtype)])


def start_with_goal(
    key: Array, goal_keepout: float, keepouts: tuple[float, ...], height: float
) -> Start:
    """A layout by rejection, at rest.

    The n + 2 keepouts are in that order: robot, what never moves, free body. height is of the free
    body's centre, in m.
    """
    key, xy, goal = layout.place_with_goal(key, goal_keepout, keepouts)
    key, turn = jax.random.split(key)
    agent_yaw, free_yaw = yaws(turn, 2)
    return Start(
        key=key,
        agent=agent_at_rest(xy[0], agent_yaw),
        goal=goal,
        fixed=xy[1:-1],
        free=body_at_rest(xy[-1], height, free_yaw),
    )


def pose(upright: Array) -> tuple[float, float, float]:
    """x, y and yaw of a free body [13] that stands upright."""
    x, y, _, w, _, _, z = np.asarray(upright, np.float64)[:7]
    return float(x), float(y), float(2 * np.arctan2(z, w))


def distance(a: Array, b: Array) -> Array:
    """Planar distance in metres between positions a and b [..., 2 or more], broadcast against each
    other.
    """
    return jnp.hypot(a[..., 0] - b[..., 0], a[..., 1] - b[..., 1])


def in_hazard(agent: Array, hazards: Array, radius: float) -> Array:
    """[] bool: the robot's origin is inside one of hazards [n, 2]."""
    return jnp.any(distance(agent, hazards) < radius)
