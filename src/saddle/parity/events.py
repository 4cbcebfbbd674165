"""Agreement of everything that is yes or no: cost, its parts, successes, timers, ends, contact
flags.

A disagreement is forgiven only where the distance that decides the event is within AT_THRESHOLD of
its threshold; each task's own file under `point/` has these distances.
"""

import numpy as np

from saddle.parity import regimes
from saddle.parity.agreement import Agreement, Decided
from saddle.parity.compare import Outcome
from saddle.parity.golden import Golden
from saddle.parity.point.registry import reference_of
from saddle.parity.tolerances import SWITCHING


def switching(golden: Golden) -> np.ndarray:
    """[N] rows in which a contact with a static object begins or ends within SWITCHING of the
    step's ends.
    """
    reference = reference_of(golden)
    before = reference.clearances(golden, after=False)
    after = reference.clearances(golden, after=True)
    gaps = np.concatenate([before, after], axis=1)
    return np.any(np.abs(gaps) < SWITCHING, axis=1)


def agreements(
    golden: Golden, out: Outcome, errors: dict[str, np.ndarray], slack: float
) -> list[Agreement]:
    """Every event over all rows, or over the regimes in which the task requires shares of its own.

    slack: how far a reward may be off where the motion is exact.
    """
    masks = regimes.masks(golden)
    required = reference_of(golden).required
    found = []
    for event, decided in _compared(golden, out, errors, slack).items():
        for regime, share in required.get(event, {"all": 1.0}).items():
            found.append(decided.agreement(regime, event, masks[regime], share))
    return [agreement for agreement in found if agreement.rows]


def _compared(
    golden: Golden, out: Outcome, errors: dict[str, np.ndarray], slack: float
) -> dict[str, Decided]:
    """Every event of the task."""
    reference = reference_of(golden)
    margins = reference.margins(golden)
    of_cost = np.minimum.reduce(list(margins.costs.values()))
    never = np.full(golden.rows, np.inf)
    found = {
        "reward": Decided(_reward_agrees(golden, out, errors, slack), margins.goal),
        "cost": Decided(out.cost == golden["cost"], of_cost),
        "goal_met": Decided(out.goal_met == golden["goal_met"], margins.goal),
        "terminated": Decided(out.terminated == golden["terminated"], never),
        "truncated": Decided(out.truncated == golden["truncated"], never),
    }
    found |= reference.further_events(golden, out, margins)
    for part, margin in margins.costs.items():
        name = f"cost_{part}"
        same = (out.info[name] > 0) == (golden[name] > 0)
        found[name] = Decided(same, margin)
    return found


def _reward_agrees(
    golden: Golden, out: Outcome, errors: dict[str, np.ndarray], slack: float
) -> np.ndarray:
    """A reward is a difference of distances (a speed in Circle): it may be off by what the motion
    is off.
    """
    motion = 2 * errors["pose"] + errors["linear velocity"] + 2 * errors.get("body position", 0)
    return np.abs(out.reward - golden["reward"]) <= slack + motion
