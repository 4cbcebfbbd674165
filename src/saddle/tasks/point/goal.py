"""SafetyPointGoal1-v0: reach one goal after the other, around hazards; a light vase may be knocked
about.
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
    distance,
    fresh,
    in_hazard,
    pose,
    start_with_goal,
    stepped,
)
from saddle.tasks.point.view import Poses, TopView, free, standing
from saddle.tasks.spec import TaskSpec
from saddle.tasks.task import State, pytree

GOAL_RADIUS = 0.3  # m
HAZARD_RADIUS = 0.2  # m
VASE_AT_RESET = 0.1 - 4e-5  # m, height of its centre; at rest it is world.VASE_AT_REST
GOAL_KEEPOUT = 0.305
KEEPOUTS = (0.4, *[0.18] * 8, 0.15)  # agent, hazards, vase: what a re-sampled goal avoids
LIDAR_REACH = 3.0


@pytree
class GoalState(State):
    """State plus the robot, the goal, the hazards and the vase."""

    agent: Array  # [6]: x, y, yaw, vx, vy, yaw rate
    acceleration: Array  # [3]: ax, ay, yaw acceleration that the accelerometer sees
    goal: Array  # [2]
    hazards: Array  # [8, 2]
    vase: Array  # [13]: position, quaternion, linear velocity (world), angular velocity (body)
    last_goal: Array  # [] m, distance to the goal that the next reward starts from
    goal_met: Array  # [] bool, the step that led here reached the goal


def things(state: GoalState) -> Poses:
    """Where the goal, the hazards and the vase are."""
    return {
        "hazard": standing(np.asarray(state.hazards)),
        "goal": standing(np.asarray(state.goal)[None]),
        "vase": free(np.asarray(state.vase)[None]),
    }


@dataclass(frozen=True)
class Goal(PointTask):
    """The task."""

    spec: TaskSpec = specs.GOAL
    top_view: ClassVar[TopView] = TopView(("goal", "hazard", "vase"), things, movers=("vase",))

    def reset(self, key: Array) -> GoalState:
        """A layout by rejection, everything at rest."""
        key, agent, goal, hazards, vase = start_with_goal(
            key, GOAL_KEEPOUT, KEEPOUTS, VASE_AT_RESET
        )
        state = GoalState(
            **fresh(self.spec, key),
            agent=agent,
            acceleration=jnp.zeros(3),
            goal=goal,
            hazards=hazards,
            vase=vase,
            last_goal=distance(agent, goal),
            goal_met=jnp.zeros((), bool),
        )
        return replace(state, obs=self.observe(state))

    def step(self, state: GoalState, action: Array) -> GoalState:
        """Ten substeps, then the rules."""
        check_action(self.spec, action)
        return self.settle(state, *world.goal_step(state.agent, state.vase, action))

    def settle(self, state: GoalState, agent: Array, acceleration: Array, vase: Array) -> GoalState:
        """What a step does after the physics: reward, cost, and a new goal where this one was
        reached.

        Reward is progress towards the goal in metres, plus 1 on reaching it. agent, acceleration
        and vase are those at the end of the step; everything else is taken from the state before
        it.
        """
        to_goal = distance(agent, state.goal)
        met = to_goal <= GOAL_RADIUS
        others = jnp.concatenate([agent[None, :2], state.hazards, vase[None, :2]])
        key, goal, found = layout.move_goal(
            met, state.key, state.goal, GOAL_KEEPOUT, others, KEEPOUTS
        )
        violated = in_hazard(agent, state.hazards, HAZARD_RADIUS)
        after = replace(
            state,
            **stepped(self.spec, state, state.last_goal - to_goal + met, violated),
            terminated=~found,
            key=key,
            agent=agent,
            acceleration=acceleration,
            goal=goal,
            vase=vase,
            last_goal=distance(agent, goal),
            goal_met=met,
        )
        return replace(after, obs=self.observe(after))

    def observe(self, state: GoalState) -> Array:
        """[60]: sensors, then the lidars of goal, hazards and vase."""
        agent = body.unpack(state.agent)
        groups = (state.goal[None], state.hazards, state.vase[None, :2])
        sensors = body.sensors(agent, body.Planar(*state.acceleration))
        return jnp.concatenate([sensors, *lidars(agent.q, groups, LIDAR_REACH)])

    def info(self, state: GoalState) -> dict[str, Any]:
        """cost_hazards, cost_sum (indicators) and goal_met, which the reference leaves out while it
        is False.
        """
        return {
            "cost_hazards": state.cost[0],
            "cost_sum": state.cost[0],
            "goal_met": state.goal_met,
        }

    def scripted(self, obs: Array, key: Array | None = None) -> Array:
        """The reference's scripted policy: drive to the goal."""
        return scripted.drive_to(scripted.nth_lidar(obs, 0))

    def mjcf(self, state: GoalState) -> str:
        """A fresh world as MuJoCo's model."""
        return mjcf.goal(state.agent[:3].tolist(), pose(state.vase))
