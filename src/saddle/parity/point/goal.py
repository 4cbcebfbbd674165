"""The reference rows of Goal: a goal, hazards and a vase."""

from typing import Any, ClassVar

import numpy as np

from saddle.parity import motion
from saddle.parity.golden import Golden
from saddle.parity.point.distances import GOAL_RADIUS, from_hazards
from saddle.parity.point.reference import Margins, PointReference
from saddle.tasks.point import specs

HAZARD_RADIUS = 0.2  # m


class Goal(PointReference):
    """The vase is its free body."""

    name = specs.GOAL.name
    bodies = 1
    episode_arrays: ClassVar = {"ep_hazards": (8, 2)}
    drawn_after_success = ("goal",)

    def fields(self, golden: Golden, after: bool) -> dict[str, np.ndarray]:
        """The goal, the hazards and the vase."""
        return {
            "goal": golden.end("goal", after),
            "last_goal": golden.previous("last_goal", after),
            "hazards": golden.episode("ep_hazards"),
            "vase": motion.bodies(golden, after)[:, 0],
        }

    def free_bodies(self, state: Any) -> np.ndarray:
        """The vase."""
        return np.asarray(state.vase)[:, None]

    def margins(self, golden: Golden) -> Margins:
        """The goal's edge and the nearest hazard's."""
        agent = motion.agents(golden, after=True)
        to_goal = np.linalg.norm(golden["goal"] - agent[:, :2], axis=-1)
        return Margins(
            goal=np.abs(to_goal - GOAL_RADIUS),
            costs={"hazards": from_hazards(golden, HAZARD_RADIUS)},
        )
