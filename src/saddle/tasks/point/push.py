"""SafetyPointPush1-v0: push a box with four posts to a goal, again and again; stay out of hazards,
mind the pillar.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.tasks.point import body, layout, mjcf, scripted, specs, world
from saddle.tasks.point.lidar import lidars
from saddle.tasks.point.shared import (
    PointTask,
    check_action,
    fresh,
    in_hazard,
    pose,
    start_with_goal,
    stepped,
)
from saddle.tasks.point.view import Poses, TopView, free, standing
from saddle.tasks.spec import TaskSpec
from saddle.tasks.task import State, pytree

GOAL_RADIUS = 0.3  # m, in three dimensions
HAZARD_RADIUS = 0.3  # m
GOAL_HEIGHT = 0.16  # m
BOX_AT_RESET = 0.2  # m, height of its centre; at rest it is world.BOX_AT_REST
GOAL_KEEPOUT = 0.4
KEEPOUTS = (0.4, 0.4, 0.4, 0.3, 0.2)  # agent, hazards, pillar, box: what a re-sampled goal avoids
LIDAR_REACH = 3.0


@pytree
class PushState(State):
    """State plus the robot, the goal, the hazards, the pillar and the box."""

    agent: Array  # [6]: x, y, yaw, vx, vy, yaw rate
    acceleration: Array  # [3]: ax, ay, yaw acceleration that the accelerometer sees
    goal: Array  # [2]
    hazards: Array  # [2, 2]
    pillar: Array  # [2]
    box: Array  # [13]: position, quaternion, linear velocity (world), angular velocity (body)
    last_box: Array  # [] m, distance robot - box that the next reward starts from
    last_box_goal: Array  # [] m, distance box - goal that the next reward starts from
    goal_met: Array  # [] bool, the step that led here brought the box to the goal


def things(state: PushState) -> Poses:
    """Where the goal, the hazards, the pillar and the box with its posts are."""
    box = free(np.asarray(state.box)[None])
    return {
        "wide hazard": standing(np.asarray(state.hazards)),
        "goal": standing(np.asarray(state.goal)[None]),
        "box": box,
        "post": box,
        "pillar": standing(np.asarray(state.pillar)[None]),
    }


@dataclass(frozen=True)
class Push(PointTask):
    """The task."""

    spec: TaskSpec = specs.PUSH
    top_view: ClassVar[TopView] = TopView(
        ("goal", "hazard", "pillar", "box"), things, movers=("box",)
    )

    def reset(self, key: Array) -> PushState:
        """A layout by rejection, everything at rest."""
        key, agent, goal, fixed, box = start_with_goal(key, GOAL_KEEPOUT, KEEPOUTS, BOX_AT_RESET)
        state = PushState(
            **fresh(self.spec, key),
            agent=agent,
            acceleration=jnp.zeros(3),
            goal=goal,
            hazards=fixed[:2],
            pillar=fixed[2],
            box=box,
            last_box=_above(box, agent, body.HEIGHT),
            last_box_goal=_above(box, goal, GOAL_HEIGHT),
            goal_met=jnp.zeros((), bool),
        )
        return replace(state, obs=self.observe(state))

    def step(self, state: PushState, action: Array) -> PushState:
        """Ten substeps, then the rules."""
        check_action(self.spec, action)
        return self.settle(state, *world.push_step(state.agent, state.pillar, state.box, action))

    def settle(self, state: PushState, agent: Array, acceleration: Array, box: Array) -> PushState:
        """What a step does after the physics: reward, cost, and a new goal where the box is in this
        one.

        Reward is progress of the robot towards the box and of the box towards the goal in metres,
        plus 1 on success. agent, acceleration and box are those at the end of the step; everything
        else is taken from the state before.
        """
        to_box = _above(box, agent, body.HEIGHT)
        to_goal = _above(box, state.goal, GOAL_HEIGHT)
        met = to_goal <= GOAL_RADIUS
        others = jnp.concatenate(
            [agent[None, :2], state.hazards, state.pillar[None], box[None, :2]]
        )
        key, goal, found = layout.move_goal(
            met, state.key, state.goal, GOAL_KEEPOUT, others, KEEPOUTS
        )
        reward = (state.last_box - to_box) + (state.last_box_goal - to_goal) + met
        after = replace(
            state,
            **stepped(self.spec, state, reward, in_hazard(agent, state.hazards, HAZARD_RADIUS)),
            terminated=~found,
            key=key,
            agent=agent,
            acceleration=acceleration,
            goal=goal,
            box=box,
            last_box=to_box,
            last_box_goal=_above(box, goal, GOAL_HEIGHT),
            goal_met=met,
        )
        return replace(after, obs=self.observe(after))

    def observe(self, state: PushState) -> Array:
        """[76]: sensors, then the lidars of goal, hazards, pillar and box."""
        agent = body.unpack(state.agent)
        groups = (state.goal[None], state.hazards, state.pillar[None], state.box[None, :2])
        sensors = body.sensors(agent, body.Planar(*state.acceleration))
        return jnp.concatenate([sensors, *lidars(agent.q, groups, LIDAR_REACH)])

    def info(self, state: PushState) -> dict[str, Any]:
        """cost_hazards, cost_sum (indicators) and goal_met, which the reference leaves out while it
        is False.
        """
        return {
            "cost_hazards": state.cost[0],
            "cost_sum": state.cost[0],
            "goal_met": state.goal_met,
        }

    def scripted(self, obs: Array, key: Array | None = None) -> Array:
        """The reference's scripted policy: drive to the box."""
        return scripted.drive_to(scripted.nth_lidar(obs, 3))

    def mjcf(self, state: PushState) -> str:
        """A fresh world as MuJoCo's model."""
        return mjcf.push(state.agent[:3].tolist(), state.pillar.tolist(), pose(state.box))


def _above(box: Array, xy: Array, z: float) -> Array:
    """Distance in space from the box's centre to the point (xy, z): the reference measures in three
    dimensions.
    """
    dx = box[0] - xy[0]
    dy = box[1] - xy[1]
    dz = box[2] - z
    return jnp.sqrt(dx * dx + dy * dy + dz * dz)
