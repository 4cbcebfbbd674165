"""The reference rows of Button: buttons, hazards and gremlins."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from saddle.parity import motion
from saddle.parity.agreement import Decided
from saddle.parity.golden import Golden
from saddle.parity.point.distances import from_discs, from_hazards
from saddle.parity.point.reference import Margins, PointReference
from saddle.parity.tolerances import CONTACT_AGREEMENT
from saddle.tasks.point import specs

if TYPE_CHECKING:
    from saddle.parity.compare import Outcome

BUTTONS = 4
HAZARD_RADIUS = 0.2  # m
BUTTON_RADIUS = 0.1  # m
BY_GREMLIN = {"gremlin": CONTACT_AGREEMENT, "no gremlin": 1.0}


class Button(PointReference):
    """The gremlins are its free bodies. What their contacts decide is told apart for the rows in
    which the robot touches one.
    """

    name = specs.BUTTON.name
    bodies = 4
    episode_arrays: ClassVar = {
        "ep_hazards": (4, 2),
        "ep_buttons": (BUTTONS, 2),
        "ep_gremlins": (4, 3),
    }
    indices: ClassVar = {"goal_button": BUTTONS, "goal_button2": BUTTONS}
    drawn_after_success = ("goal_button",)
    required: ClassVar = {"cost": BY_GREMLIN, "cost_gremlins": BY_GREMLIN}

    def fields(self, golden: Golden, after: bool) -> dict[str, np.ndarray]:
        """The buttons, the hazards, the gremlins and the rules' memory."""
        passed = specs.DT if after else 0.0  # s
        return {
            "time": golden["time"] + passed,
            "goal_button": golden.end("goal_button", after),
            "timer": golden.end("timer", after),
            "last_goal": golden.previous("last_goal", after),
            "hazards": golden.episode("ep_hazards"),
            "buttons": golden.episode("ep_buttons"),
            "anchors": golden.episode("ep_gremlins"),
            "gremlins": motion.bodies(golden, after),
        }

    def free_bodies(self, state: Any) -> np.ndarray:
        """The gremlins."""
        return np.asarray(state.gremlins)

    def clearances(self, golden: Golden, after: bool) -> np.ndarray:
        """To the buttons."""
        agent = motion.agents(golden, after)
        return from_discs(agent, golden.episode("ep_buttons"), BUTTON_RADIUS)

    def margins(self, golden: Golden) -> Margins:
        """Touching the goal button or another one, and the nearest hazard's edge.

        A gremlin's contact has no distance that would decide it.
        """
        gaps = np.abs(self.clearances(golden, after=True))
        is_goal = np.arange(BUTTONS) == golden["goal_button"][:, None]
        return Margins(
            goal=np.where(is_goal, gaps, np.inf).min(axis=1),
            costs={
                "hazards": from_hazards(golden, HAZARD_RADIUS),
                "gremlins": np.full(golden.rows, np.inf),
                "buttons": np.where(is_goal, np.inf, gaps).min(axis=1),
            },
        )

    def further_events(
        self, golden: Golden, out: "Outcome", margins: Margins
    ) -> dict[str, Decided]:
        """The timer, which pressing the goal button sets."""
        return {"timer": Decided(out.timer == golden["timer2"], margins.goal)}
