"""Agreement of everything that is yes or no: cost, its parts, successes, timers, ends, contact
flags.

A disagreement is forgiven only where the distance that decides the event is within AT_THRESHOLD of
its threshold. These distances are computed here from the reference's final state, independently of
the tasks.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from saddle.parity import inject, regimes
from saddle.parity.compare import Outcome
from saddle.parity.golden import Golden
from saddle.parity.tolerances import (
    AT_THRESHOLD,
    BUTTON,
    CIRCLE,
    CONTACT_AGREEMENT,
    GOAL,
    PUSH,
    SWITCHING,
)

_HAZARD = {GOAL: 0.2, BUTTON: 0.2, PUSH: 0.3}  # m, radius
_BOUNDARY = 1.125  # m
_GOAL_RADIUS = 0.3  # m
_GOAL_HEIGHT = 0.16  # m
_SPHERE = 0.1  # m, radius
_ARROW = 0.1  # m, offset
_ARROW_HALF = 0.05  # m, half-extent
_BUTTON_RADIUS = 0.1  # m
_PILLAR_RADIUS = 0.2  # m


@dataclass(frozen=True)
class Agreement:
    """How many rows agree. `at_threshold` of the others are decided by less than AT_THRESHOLD."""

    regime: str
    event: str
    rows: int
    agree: int
    at_threshold: int
    required: float  # share of the rows that must agree or be decided at the threshold

    @property
    def passed(self) -> bool:
        """Enough rows agree."""
        return self.agree + self.at_threshold >= self.required * self.rows


class Decided(NamedTuple):
    """An event in every row."""

    agree: Bool[np.ndarray, " rows"]
    distance: Float[np.ndarray, " rows"]
    """How far what decides it is from its threshold; infinite where there is none."""

    def agreement(
        self, regime: str, event: str, rows: Bool[np.ndarray, " rows"], required: float
    ) -> Agreement:
        """Over the rows of a regime."""
        near = ~self.agree & (self.distance <= AT_THRESHOLD)
        return Agreement(
            regime=regime,
            event=event,
            rows=int(rows.sum()),
            agree=int((self.agree & rows).sum()),
            at_threshold=int((near & rows).sum()),
            required=required,
        )


def clearances(golden: Golden, after: bool) -> np.ndarray:
    """[N, K] signed distance of the robot's surface to each button or pillar; K = 0 where the task
    has none.
    """
    radii = {"ep_buttons": _BUTTON_RADIUS, "ep_pillar": _PILLAR_RADIUS}
    for name, radius in radii.items():
        if name in golden.arrays:
            return _to_discs(inject.agents(golden, after), golden.episode(name), radius)
    return np.zeros((golden.rows, 0))


def switching(golden: Golden) -> np.ndarray:
    """[N] rows in which a contact with a static object begins or ends within SWITCHING of the
    step's ends.
    """
    gaps = np.concatenate([clearances(golden, after) for after in (False, True)], axis=1)
    return np.any(np.abs(gaps) < SWITCHING, axis=1)


def agreements(
    golden: Golden, out: Outcome, errors: dict[str, np.ndarray], slack: float
) -> list[Agreement]:
    """Every event over all rows; what a gremlin's contact decides apart for the rows that touch
    one.

    slack: how far a reward may be off where the motion is exact.
    """
    by_gremlin = {"gremlin": CONTACT_AGREEMENT, "no gremlin": 1.0}
    masks = regimes.masks(golden)
    found = []
    for event, decided in _compared(golden, out, errors, slack).items():
        split = {"all": 1.0}
        if golden.task == BUTTON and event in ("cost", "cost_gremlins"):
            split = by_gremlin
        for regime, share in split.items():
            found.append(decided.agreement(regime, event, masks[regime], share))
    return [agreement for agreement in found if agreement.rows]


def _compared(
    golden: Golden, out: Outcome, errors: dict[str, np.ndarray], slack: float
) -> dict[str, Decided]:
    """Every event of the task."""
    margin = _margins(golden)
    found = {
        "reward": Decided(_reward_agrees(golden, out, errors, slack), margin["goal"]),
        "cost": Decided(out.cost == golden["cost"], margin["cost"]),
        "goal_met": Decided(out.goal_met == golden["goal_met"], margin["goal"]),
        "terminated": Decided(out.terminated == golden["terminated"], margin["never"]),
        "truncated": Decided(out.truncated == golden["truncated"], margin["never"]),
    }
    if golden.task == BUTTON:
        found["timer"] = Decided(out.timer == golden["timer2"], margin["goal"])
    for name in ("hazards", "gremlins", "buttons", "out_of_boundary"):
        entry = f"cost_{name}"
        if entry in out.info:
            same = (out.info[entry] > 0) == (golden[entry] > 0)
            found[entry] = Decided(same, margin[name])
    return found


def _reward_agrees(
    golden: Golden, out: Outcome, errors: dict[str, np.ndarray], slack: float
) -> np.ndarray:
    """A reward is a difference of distances (a speed in Circle): it may be off by what the motion
    is off.
    """
    motion = 2 * errors["pose"] + errors["linear velocity"] + 2 * errors.get("body position", 0)
    return np.abs(out.reward - golden["reward"]) <= slack + motion


def _margins(golden: Golden) -> dict[str, np.ndarray]:
    """Event -> [N] distance of what decides it from its threshold, in the reference's final
    state.
    """
    agent = inject.agents(golden, after=True)
    never = np.full(golden.rows, np.inf)
    names = ("hazards", "gremlins", "buttons", "out_of_boundary", "goal", "never")
    margin: dict[str, np.ndarray] = dict.fromkeys(names, never)
    if golden.task == CIRCLE:
        margin["out_of_boundary"] = np.abs(np.abs(agent[:, 0]) - _BOUNDARY)
    else:
        hazards = np.linalg.norm(golden.episode("ep_hazards") - agent[:, None, :2], axis=-1)
        margin["hazards"] = np.abs(hazards - _HAZARD[golden.task]).min(axis=1)
    if golden.task == GOAL:
        distance = np.linalg.norm(golden["goal"] - agent[:, :2], axis=-1)
        margin["goal"] = np.abs(distance - _GOAL_RADIUS)
    if golden.task == PUSH:
        box = inject.bodies(golden, after=True)[:, 0, :3]
        height = np.full((golden.rows, 1), _GOAL_HEIGHT)
        goal = np.concatenate([golden["goal"], height], axis=1)
        distance = np.linalg.norm(box - goal, axis=-1)
        margin["goal"] = np.abs(distance - _GOAL_RADIUS)
    if golden.task == BUTTON:
        gaps = np.abs(clearances(golden, after=True))
        chosen = np.arange(gaps.shape[1]) == golden["goal_button"][:, None]
        margin["goal"] = np.where(chosen, gaps, np.inf).min(axis=1)
        margin["buttons"] = np.where(chosen, np.inf, gaps).min(axis=1)
    costs = [margin[name] for name in ("hazards", "buttons", "out_of_boundary")]
    margin["cost"] = np.minimum.reduce(costs)
    return margin


def _to_discs(agent: np.ndarray, centres: np.ndarray, radius: float) -> np.ndarray:
    """[N, K] distance of sphere or arrow, whichever is nearer, to discs at centres [N, K, 2]."""
    east, north = np.moveaxis(centres - agent[:, None, :2], -1, 0)
    yaw = agent[:, 2:3]
    cos = np.cos(yaw)
    sin = np.sin(yaw)
    ahead = cos * east + sin * north
    left = cos * north - sin * east
    sphere = np.hypot(ahead, left) - _SPHERE
    beyond_ahead = np.maximum(np.abs(ahead - _ARROW) - _ARROW_HALF, 0)
    beyond_left = np.maximum(np.abs(left) - _ARROW_HALF, 0)
    arrow = np.hypot(beyond_ahead, beyond_left)
    return np.minimum(sphere, arrow) - radius
