"""SafetyWalker2dVelocity-v1: walk forward on two legs, no faster than 2.3415 m/s.

Positions: x, height, pitch, then thigh, leg and foot of the right and of the left leg. An episode
ends with a fall.
"""

from saddle.tasks.velocity import models
from saddle.tasks.velocity.body import Array, Body, facts
from saddle.tasks.velocity.hopper import info

THRESHOLD = 2.3415  # m/s
LOWEST, HIGHEST, STEEPEST = 0.8, 2.0, 1.0  # m, m, rad


def unhealthy(qpos: Array, qvel: Array) -> Array:
    """Too low, too high, or leaning too far. qpos [..., 9], qvel [..., 9] -> [...] bool."""
    height = qpos[..., 1]
    pitch = qpos[..., 2]
    return (height <= LOWEST) | (height >= HIGHEST) | (abs(pitch) >= STEEPEST)


WALKER2D = Body(
    spec=facts(
        "SafetyWalker2dVelocity-v1",
        obs_dim=17,
        action_dim=6,
        dt=0.008,
        threshold=THRESHOLD,
        nickname="walker2d",
    ),
    model=models.walker2d,
    substeps=4,
    threshold=THRESHOLD,
    alive=1.0,
    effort=0.001,
    noise=0.005,
    normal=False,
    free=False,
    clip=10.0,
    unhealthy=unhealthy,
    info=info,
)
