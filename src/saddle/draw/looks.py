"""How things look from above: outlines to scale in their own frames (metres), and colours safe for
the colour-blind.

The hues are those of Okabe and Ito; vermillion always means cost, green always means goal, blue is
the robot.
"""

from typing import NamedTuple

import numpy as np
from matplotlib.path import Path

from saddle import palette
from saddle.palette import INK as INK
from saddle.palette import MUTED as MUTED

FLOOR = "#ffffff"
OUTSIDE = "#f3f4f6"
GRID = "#e4e7eb"
COST = palette.VERMILLION
GOAL = palette.GREEN
ROBOT = palette.BLUE
NOSE = "#003f66"
BUTTON = palette.ORANGE
GREMLIN = palette.PURPLE
VASE = palette.SKY_BLUE
BOX = palette.YELLOW
POST = "#cdbd00"
PILLAR = "#8a9199"
# Of the trail: from start to end, and where it has faded.
EARLY = "#a9cbe8"
LATE = "#08306b"
WAKE = "#9fb3c8"

# Of each lidar's ring, by what it sees.
LIDARS = {
    "circle": GOAL,
    "goal": GOAL,
    "hazard": COST,
    "button": BUTTON,
    "gremlin": GREMLIN,
    "vase": VASE,
    "pillar": PILLAR,
    "box": POST,
}


class Look(NamedTuple):
    """One kind of thing."""

    label: str | None  # in the legend; None: not listed
    outline: Path  # around its origin, heading along +x
    face: tuple[str, float]  # colour and opacity
    edge: tuple[str, float]
    width: float = 1.0  # of the edge, points
    dashes: str | tuple = "-"


def disc(radius: float) -> Path:
    """A circle around the origin."""
    circle = Path.unit_circle()
    return Path(np.asarray(circle.vertices) * radius, circle.codes)


def rectangle(x: float, y: float, half_x: float, half_y: float) -> Path:
    """An upright rectangle centred at (x, y)."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    return Path(corners * [half_x, half_y] + [x, y], closed=True)


def _box_outline() -> Path:
    """The push box: a cube of 0.4 m with a post of 0.2 m centred on each vertical edge."""
    side = np.array([[-0.3, 0.3], [-0.1, 0.3], [-0.1, 0.2], [0.1, 0.2], [0.1, 0.3]])
    quarter = np.array([[0, 1], [-1, 0]])
    turns = [side @ np.linalg.matrix_power(quarter, -k % 4) for k in range(4)]
    return Path(np.concatenate([*turns, side[:1]]), closed=True)


POSTS = Path.make_compound_path(
    rectangle(-0.2, -0.2, 0.1, 0.1),
    rectangle(-0.2, 0.2, 0.1, 0.1),
    rectangle(0.2, -0.2, 0.1, 0.1),
    rectangle(0.2, 0.2, 0.1, 0.1),
)

# In the order in which they are painted.
LOOKS = {
    "hazard": Look("hazard: cost inside", disc(0.2), (COST, 0.18), (COST, 0.9)),
    "wide hazard": Look("hazard: cost inside", disc(0.3), (COST, 0.18), (COST, 0.9)),
    "goal": Look("goal", disc(0.3), (GOAL, 0.30), (GOAL, 1.0), 1.6),
    "orbit": Look("gremlin's way", disc(0.35), (GREMLIN, 0.0), (GREMLIN, 0.8), 0.9, (0, (2, 2))),
    "ring": Look(None, disc(0.2), (GOAL, 0.25), (GOAL, 1.0), 1.4),
    "button": Look("other button: cost on touch", disc(0.1), (BUTTON, 0.95), ("#8a5f00", 1.0)),
    "goal button": Look("goal button", disc(0.1), (GOAL, 1.0), ("#00503a", 1.0)),
    "pillar": Look("pillar", disc(0.2), (PILLAR, 1.0), ("#5b636b", 1.0)),
    "box": Look("box to push", _box_outline(), (BOX, 0.95), ("#6b6200", 1.0), 1.2),
    "post": Look(None, POSTS, (POST, 0.9), ("#6b6200", 0.7), 0.6),
    "vase": Look("vase", rectangle(0, 0, 0.1, 0.1), (VASE, 0.95), ("#1f6f9e", 1.0)),
    "gremlin": Look(
        "gremlin: cost on touch", rectangle(0, 0, 0.1, 0.1), (GREMLIN, 0.95), ("#7d3d60", 1.0)
    ),
    "alarm": Look(None, disc(0.19), (COST, 0.25), (COST, 1.0), 1.8),
    "robot": Look("robot", disc(0.1), (ROBOT, 1.0), ("#ffffff", 0.9), 0.8),
    "nose": Look(None, rectangle(0.1, 0, 0.05, 0.05), (NOSE, 1.0), ("#ffffff", 0.9), 0.8),
}
