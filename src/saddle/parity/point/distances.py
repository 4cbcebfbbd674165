"""Distances that decide events, in metres and from the reference's final state alone. They are
computed here, independently of the tasks.
"""

import numpy as np
from jaxtyping import Float

from saddle.parity import motion
from saddle.parity.golden import Golden

GOAL_RADIUS = 0.3  # m
_SPHERE = 0.1  # m, radius
_ARROW = 0.1  # m, offset
_ARROW_HALF = 0.05  # m, half-extent


def from_hazards(golden: Golden, radius: float) -> Float[np.ndarray, " rows"]:
    """Distance of the robot's origin to the nearest edge of a hazard."""
    origin = motion.agents(golden, after=True)[:, None, :2]
    distances = np.linalg.norm(golden.episode("ep_hazards") - origin, axis=-1)
    return np.abs(distances - radius).min(axis=1)


def from_discs(
    agent: Float[np.ndarray, "rows 6"], centres: Float[np.ndarray, "rows discs 2"], radius: float
) -> Float[np.ndarray, "rows discs"]:
    """Signed distance of the robot's surface to discs: of its sphere or its arrow, whichever is
    nearer.
    """
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
