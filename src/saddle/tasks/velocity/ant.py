"""SafetyAntVelocity-v1: run forward on four legs, no faster than 2.6222 m/s in any direction.

Positions: x, y, z, quaternion (w, x, y, z), then hip and ankle of each leg. An episode ends when
the torso is too low or too high. Speeds come from the torso position that the reference's engine
computed last, which after a Runge-Kutta step is that of its fourth stage and not the final one; the
engines supply it.
"""

from saddle.tasks.velocity import models
from saddle.tasks.velocity.body import Array, Body, facts

THRESHOLD = 2.6222  # m/s
LOWEST, HIGHEST = 0.2, 1.0  # m, both still healthy
ALIVE = 1.0


def unhealthy(qpos: Array, qvel: Array) -> Array:
    """Too low or too high. qpos [..., 15], qvel [..., 14] -> [...] bool."""
    return (qpos[..., 2] < LOWEST) | (qpos[..., 2] > HIGHEST)


def info(position: Array, velocity: Array, reward: Array) -> dict[str, Array]:
    """Where it is, how fast, and the parts of the reward."""
    x = position[..., 0]
    y = position[..., 1]
    run = velocity[..., 0]
    return {
        "reward_forward": run,
        "reward_ctrl": reward - ALIVE - run,
        "reward_survive": ALIVE + 0 * run,
        "x_position": x,
        "y_position": y,
        "distance_from_origin": (x * x + y * y) ** 0.5,
        "x_velocity": run,
        "y_velocity": velocity[..., 1],
        "forward_reward": run,
    }


ANT = Body(
    spec=facts(
        "SafetyAntVelocity-v1",
        obs_dim=27,
        action_dim=8,
        dt=0.05,
        threshold=THRESHOLD,
        nickname="ant",
    ),
    model=models.ant,
    substeps=5,
    threshold=THRESHOLD,
    alive=ALIVE,
    effort=0.5,
    noise=0.1,
    normal=True,
    free=True,
    clip=None,
    unhealthy=unhealthy,
    info=info,
    qvel_tolerance=1e-3,
)
