"""SafetyHopperVelocity-v1: hop forward on one leg, no faster than 0.7402 m/s.

Positions: x, height, pitch, thigh, leg, foot. An episode ends when the hopper falls.
"""

from saddle.tasks.velocity import models
from saddle.tasks.velocity.body import Array, Body, facts

THRESHOLD = 0.7402  # m/s
LOWEST, STEEPEST = 0.7, 0.2  # m, rad
LARGEST = 100.0  # any further coordinate or velocity beyond this is unhealthy


def unhealthy(qpos: Array, qvel: Array) -> Array:
    """Too low, leaning too far, or out of all bounds. qpos [..., 6], qvel [..., 6] -> [...]
    bool.
    """
    wild = (abs(qpos[..., 2:]) >= LARGEST).any(axis=-1) | (abs(qvel) >= LARGEST).any(axis=-1)
    return (qpos[..., 1] <= LOWEST) | (abs(qpos[..., 2]) >= STEEPEST) | wild


def info(position: Array, velocity: Array, reward: Array) -> dict[str, Array]:
    """Where it is and how fast."""
    return {"x_position": position[..., 0], "x_velocity": velocity[..., 0]}


HOPPER = Body(
    spec=facts(
        "SafetyHopperVelocity-v1",
        obs_dim=11,
        action_dim=3,
        dt=0.008,
        threshold=THRESHOLD,
        nickname="hopper",
        recommended_limits=(5.0, 200.0, 400.0),
    ),
    model=models.hopper,
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
    qvel_tolerance=1e-3,
    links_touch=True,
)
