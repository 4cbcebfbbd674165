"""SafetyPointCircle1-v0: run along a circle, fast, without leaving the strip |x| <= 1.125."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body, drive, mjcf, scripted, specs
from saddle.tasks.point.body import Agent
from saddle.tasks.point.lidar import lidar
from saddle.tasks.point.shared import PointTask, agent_at_rest, check_action, fresh, stepped, yaws
from saddle.tasks.point.view import TopView
from saddle.tasks.spec import TaskSpec
from saddle.tasks.task import State, pytree

RADIUS = 1.5  # m, of the circle to follow
BOUNDARY = 1.125  # m, |x| beyond which a step costs 1
START = 0.8  # m, the robot starts in [-START, START]^2
LIDAR_REACH = 6.0


@pytree
class CircleState(State):
    """State plus the robot."""

    agent: Array  # [6]: x, y, yaw, vx, vy, yaw rate
    acceleration: Array  # [3]: ax, ay, yaw acceleration that the accelerometer sees


@dataclass(frozen=True)
class Circle(PointTask):
    """The task."""

    spec: TaskSpec = specs.CIRCLE
    top_view: ClassVar[TopView] = TopView(("circle",), circle=RADIUS, boundary=BOUNDARY)

    def reset(self, key: Array) -> CircleState:
        """The robot at rest, uniform in the start square, any heading."""
        key, place, turn = jax.random.split(key, 3)
        xy = jax.random.uniform(place, (2,), minval=-START, maxval=START)
        agent = agent_at_rest(xy, yaws(turn, 1)[0])
        state = CircleState(**fresh(self.spec, key), agent=agent, acceleration=jnp.zeros(3))
        return replace(state, obs=self.observe(state))

    def step(self, state: CircleState, action: Array) -> CircleState:
        """Ten free substeps, then the rules."""
        check_action(self.spec, action)
        start = body.unpack(state.agent)
        throttle, turn = body.controls(action)
        agent, acceleration = drive.step(start, throttle, turn)
        return self.settle(state, body.pack(agent), jnp.stack(acceleration))

    def settle(self, state: CircleState, agent: Array, acceleration: Array) -> CircleState:
        """What a step does after the physics. Reward is tangential speed, worth most on the
        circle.
        """
        reward = _reward(body.unpack(agent))
        outside = jnp.abs(agent[0]) > BOUNDARY
        after = replace(
            state,
            **stepped(self.spec, state, reward, outside),
            terminated=jnp.zeros((), bool),
            agent=agent,
            acceleration=acceleration,
        )
        return replace(after, obs=self.observe(after))

    def observe(self, state: CircleState) -> Array:
        """[28]: sensors, then the lidar of the circle's centre."""
        agent = body.unpack(state.agent)
        centre = jnp.zeros((1, 2), state.agent.dtype)
        sensors = body.sensors(agent, body.Planar(*state.acceleration))
        return jnp.concatenate([sensors, lidar(agent.q, centre, LIDAR_REACH)])

    def info(self, state: CircleState) -> dict[str, Any]:
        """cost_out_of_boundary and cost_sum, indicators."""
        return {"cost_out_of_boundary": state.cost[0], "cost_sum": state.cost[0]}

    def scripted(self, obs: Array, key: Array | None = None) -> Array:
        """The reference's scripted policy: keep the circle's centre on the left."""
        return scripted.keep_left(scripted.nth_lidar(obs, 0))

    def mjcf(self, state: CircleState) -> str:
        """A fresh world as MuJoCo's model."""
        return mjcf.circle(state.agent[:3].tolist())


def _reward(agent: Agent) -> Array:
    """[] For counter-clockwise speed near the circle."""
    x, y, _ = agent.q
    v = agent.v
    distance = jnp.hypot(x, y)
    speed = (v.y * x - v.x * y) / distance  # m/s, along the circle
    return 0.1 * speed / (1 + jnp.abs(distance - RADIUS))
