"""What a picture of a point task's world from above needs to know, without any drawing library."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Poses = dict[str, np.ndarray]
"""Kind of thing -> [n, 3]: x, y, yaw of every such thing in a world."""


def nothing(state: Any) -> Poses:
    """Of a world that holds the robot alone."""
    del state
    return {}


@dataclass(frozen=True)
class TopView:
    """How a point task is drawn."""

    lidars: tuple[str, ...]
    """In the order of the observation, each named after the kind of thing that it sees."""
    things: Callable[[Any], Poses] = nothing
    """State, whose leaves are NumPy -> where everything is but the robot."""
    movers: tuple[str, ...] = ()
    """Kinds of free bodies, one of each, whose way is drawn."""
    circle: float | None = None
    """m, radius of a circle to follow around the origin."""
    boundary: float | None = None
    """m, |x| beyond which a step costs; None: things stand in a square arena."""


def standing(xy: np.ndarray) -> np.ndarray:
    """[n, 2] -> [n, 3]: things without a heading."""
    return np.column_stack([xy, np.zeros(len(xy))])


def free(bodies: np.ndarray) -> np.ndarray:
    """[n, 13] -> [n, 3]: free bodies seen from above."""
    return np.column_stack([bodies[:, :2], yaw(bodies[:, 3:7])])


def yaw(quaternion: np.ndarray) -> np.ndarray:
    """Heading of a body, seen from above. quaternion [..., 4] as w, x, y, z."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    sine = 2 * (w * z + x * y)
    cosine = 1 - 2 * (y * y + z * z)
    return np.arctan2(sine, cosine)
