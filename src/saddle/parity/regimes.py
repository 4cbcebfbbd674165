"""Which rows belong together: by what touched what in any substep of the reference's step."""

from collections.abc import Mapping

import numpy as np

from saddle.parity import motion
from saddle.parity.golden import Golden

# Bits of contact_end and contact_any.
GOAL_BUTTON, OTHER_BUTTON, GREMLIN, VASE, BOX, PILLAR, BOX_PILLAR, GREMLIN_OBJECT = (
    1 << i for i in range(8)
)
BUTTON = GOAL_BUTTON | OTHER_BUTTON
AGENT = BUTTON | GREMLIN | VASE | BOX | PILLAR  # every contact of the robot

MOVING = 1e-3  # m/s, planar speed above which a free body counts as moving

MEANING: Mapping[str, str] = {
    "all": "every row",
    "free": "the robot touches nothing",
    "button": "the robot touches buttons and no gremlin",
    "gremlin": "the robot touches a gremlin, and perhaps a button",
    "no gremlin": "the robot touches no gremlin",
    "vase": "the robot touches the vase",
    "pillar": "the robot touches the pillar and not the box",
    "box": "the robot touches the box, and perhaps the pillar",
    "untouched": "no free body is touched by anything but the floor; not a first step",
    "body-body": "gremlin against gremlin or button, box against pillar, none touched by the "
    "robot; not a first step",
    "not first": "every row but the first steps of episodes",
    "first": "first steps of episodes with untouched bodies: rounding decides whether these rest "
    "on the floor",
    "contact": "velocity tasks: the body touches the floor or itself at the engine's last "
    "evaluation",
    "no contact": "velocity tasks: it does not",
    "moving": "untouched, and the vase or box moves faster than 1 mm/s before the step",
}


def masks(golden: Golden) -> dict[str, np.ndarray]:
    """Regime -> [N] bool. `free` and the robot's contact regimes divide the rows; the others
    overlap them.
    """
    contacts = golden["contact_any"].astype(np.int64)

    def has(bits: int) -> np.ndarray:
        return (contacts & bits) != 0

    body = has(GREMLIN | VASE | BOX)
    first = (golden["step"] == 0) | (golden["time"] == 0)
    between = has(BOX_PILLAR | GREMLIN_OBJECT)
    found = {
        "all": np.ones(golden.rows, bool),
        "free": ~has(AGENT),
        "button": has(BUTTON) & ~has(GREMLIN),
        "gremlin": has(GREMLIN),
        "no gremlin": ~has(GREMLIN),
        "vase": has(VASE),
        "pillar": has(PILLAR) & ~has(BOX),
        "box": has(BOX),
    }
    if golden.bodies:
        touched = body | between
        untouched = ~touched & ~first
        found |= {"untouched": untouched, "body-body": between & ~body & ~first}
        found |= {"not first": ~first, "first": first & ~touched}
    if golden.bodies == 1:
        speed = np.linalg.norm(motion.bodies(golden)[:, 0, 7:9], axis=-1)
        found["moving"] = untouched & (speed > MOVING)
    return found
