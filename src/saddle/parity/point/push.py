"""The reference rows of Push: a goal, hazards, a pillar and a box."""

from typing import Any, ClassVar

import numpy as np

from saddle.parity import motion
from saddle.parity.golden import Golden
from saddle.parity.point.distances import GOAL_RADIUS, from_discs, from_hazards
from saddle.parity.point.reference import Margins, PointReference
from saddle.tasks.point import specs

HAZARD_RADIUS = 0.3  # m
PILLAR_RADIUS = 0.2  # m
GOAL_HEIGHT = 0.16  # m, of the point that the box is measured from


class Push(PointReference):
    """The box is its free body."""

    name = specs.PUSH.name
    bodies = 1
    episode_arrays: ClassVar = {"ep_hazards": (2, 2), "ep_pillar": (1, 2)}
    drawn_after_success = ("goal",)

    def fields(self, golden: Golden, after: bool) -> dict[str, np.ndarray]:
        """The goal, the hazards, the pillar and the box."""
        return {
            "goal": golden.end("goal", after),
            "last_box": golden.previous("last_box", after),
            "last_box_goal": golden.previous("last_box_goal", after),
            "hazards": golden.episode("ep_hazards"),
            "pillar": golden.episode("ep_pillar")[:, 0],
            "box": motion.bodies(golden, after)[:, 0],
        }

    def free_bodies(self, state: Any) -> np.ndarray:
        """The box."""
        return np.asarray(state.box)[:, None]

    def clearances(self, golden: Golden, after: bool) -> np.ndarray:
        """To the pillar."""
        agent = motion.agents(golden, after)
        return from_discs(agent, golden.episode("ep_pillar"), PILLAR_RADIUS)

    def margins(self, golden: Golden) -> Margins:
        """The box at the goal, in three dimensions, and the nearest hazard's edge."""
        box = motion.bodies(golden, after=True)[:, 0, :3]
        height = np.full((golden.rows, 1), GOAL_HEIGHT)
        goal = np.concatenate([golden["goal"], height], axis=1)
        to_goal = np.linalg.norm(box - goal, axis=-1)
        return Margins(
            goal=np.abs(to_goal - GOAL_RADIUS),
            costs={"hazards": from_hazards(golden, HAZARD_RADIUS)},
        )
