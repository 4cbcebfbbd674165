"""What counts as parity: the tolerances of one env step, as data.

Two columns: `exact` is what an implementation of the reference's own contact model reaches in
float32, `reduced` is what a simplified contact model must reach at least. We stand by the first;
the command fails if it is missed. The single-precision limits come from
what rounding the input state alone does to the reference. `double` holds where the formulas are
closed and float64 leaves nothing but rounding. `velocity` is the largest of vx, vy and yaw rate,
which is also what those limits were made from: the yaw rate is nearly always the worst.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from saddle.tasks.point import specs

CIRCLE, GOAL, BUTTON, PUSH = (
    spec.name for spec in (specs.CIRCLE, specs.GOAL, specs.BUTTON, specs.PUSH)
)
POINT = (CIRCLE, GOAL, BUTTON, PUSH)

Column = Literal["exact", "reduced"]


class Bound(NamedTuple):
    """At least `percentile` % of the rows have an error of at most `limit`."""

    percentile: float
    limit: float

    def holds(self, errors: np.ndarray) -> bool:
        """errors [n], n > 0."""
        return bool(np.mean(errors <= self.limit) >= self.percentile / 100)


Bounds = tuple[Bound, ...]


@dataclass(frozen=True)
class Criterion:
    """One line of the table. `reduced` () asks for nothing; `double` replaces both columns in
    float64.
    """

    tasks: tuple[str, ...]
    regime: str
    quantity: str
    exact: Bounds
    reduced: Bounds | None = None  # None: the same as exact
    double: Bounds | None = None


def _bounds(*pairs: tuple[float, float]) -> Bounds:
    return tuple(Bound(*pair) for pair in pairs)


_POSE = _bounds((99, 1e-5))
_VELOCITY = _bounds((50, 1e-6), (99, 2e-3))
_POSE_DOUBLE = _bounds((100, 1e-12))
_VELOCITY_DOUBLE = _bounds((100, 1e-10))
# The servo turns a velocity error into an acceleration error 3,400 times as large.
_ACCELEROMETER_DOUBLE = _bounds((100, 1e-6))
_BODY = _bounds((99, 1e-5))
# In one row of a hundred, rounding decides which corners of gremlins touch, in the reference too.
_BODIES_MEET = _bounds((90, 1e-6), (95, 1e-5))
_BODIES_MEET_DOUBLE = _bounds((97, 1e-10))
# A position rounded to float32 is off by 1e-7 m: beside an object 1 cm away that turns a lidar
# reading by 1e-5.
_FORMULAS = _bounds((50, 1e-6), (99, 1e-5))

CRITERIA: tuple[Criterion, ...] = (
    Criterion(POINT, "all", "observation formulas", _FORMULAS, double=_bounds((100, 1e-12))),
    Criterion(POINT, "free", "pose", _POSE, double=_POSE_DOUBLE),
    Criterion(POINT, "free", "velocity", _VELOCITY, double=_VELOCITY_DOUBLE),
    Criterion(
        POINT,
        "free",
        "accelerometer",
        _bounds((50, 1e-4), (99, 0.05)),
        double=_ACCELEROMETER_DOUBLE,
    ),
    Criterion((BUTTON,), "button", "pose", _POSE, double=_POSE_DOUBLE),
    Criterion((BUTTON,), "button", "velocity", _VELOCITY, double=_VELOCITY_DOUBLE),
    Criterion(
        (BUTTON,),
        "button",
        "accelerometer",
        _bounds((50, 1e-4), (99, 0.5)),
        double=_ACCELEROMETER_DOUBLE,
    ),
    Criterion((PUSH,), "pillar", "pose", _bounds((99, 1e-3))),
    Criterion((PUSH,), "pillar", "velocity", _bounds((99, 1e-2)), _bounds((50, 2e-4), (99, 3e-2))),
    Criterion((GOAL,), "vase", "velocity", _bounds((99, 1e-3)), _bounds((50, 1e-3))),
    Criterion((GOAL,), "vase", "body position", _bounds((95, 1e-4)), _bounds((50, 2e-3))),
    Criterion((BUTTON,), "gremlin", "velocity", _bounds((95, 1e-2)), _bounds((50, 2e-2))),
    Criterion((BUTTON,), "not first", "body position", _BODY, ()),
    Criterion(
        (BUTTON,), "body-body", "body position", _BODIES_MEET, (), double=_BODIES_MEET_DOUBLE
    ),
    Criterion((PUSH,), "box", "velocity", _bounds((95, 2e-2)), ()),
    Criterion((PUSH,), "box", "displacement", _bounds((50, 0.1))),
    Criterion((GOAL, BUTTON, PUSH), "untouched", "body position", _BODY),
    Criterion((GOAL, PUSH), "first", "body position", _bounds((100, 2e-4))),
    Criterion((BUTTON,), "first", "body position", _bounds((100, 2.5e-3))),
)

# Shown beside the criteria, without a limit of their own: regime -> quantities.
_ROBOT = ("pose", "linear velocity", "accelerometer", "observation")
_BODIES = ("body position", "body angle", "body velocity", "body spin")
SHOWN: dict[str, tuple[str, ...]] = {
    "free": ("observation",),
    "button": ("observation",),
    "pillar": _ROBOT,
    "vase": (*_ROBOT, *_BODIES, "displacement"),
    "gremlin": (*_ROBOT, *_BODIES),
    "box": (*_ROBOT, *_BODIES),
    "untouched": _BODIES,
    "body-body": _BODIES,
    "moving": (*_BODIES, "displacement"),
}

# m: an event may differ where the distance that decides it is this close to its threshold
AT_THRESHOLD = 1e-5
# m: rows in which the robot is this close to touching a static object are left out
SWITCHING = 1e-6
CONTACT_AGREEMENT = 0.97  # share of the gremlin rows whose contact flag at the end must agree


def criterion(task: str, regime: str, quantity: str) -> Criterion | None:
    """The line of the table, if there is one."""
    wanted = (
        c for c in CRITERIA if task in c.tasks and (c.regime, c.quantity) == (regime, quantity)
    )
    return next(wanted, None)


def quantities(task: str, regime: str) -> list[str]:
    """What the table lists for a regime: first what is judged, then what is only shown."""
    judged = [c.quantity for c in CRITERIA if task in c.tasks and c.regime == regime]
    return judged + [quantity for quantity in SHOWN.get(regime, ()) if quantity not in judged]
