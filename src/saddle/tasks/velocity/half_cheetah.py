"""SafetyHalfCheetahVelocity-v1: run forward on a back and a front leg, no faster than 3.2096 m/s.

Positions: x, height, pitch, then thigh, shin and foot of the back and of the front leg. Episodes
never end early.
"""

from saddle.tasks.velocity import models
from saddle.tasks.velocity.body import Array, Body, facts

THRESHOLD = 3.2096  # m/s


def unhealthy(qpos: Array, qvel: Array) -> Array:
    """Never. qpos [..., 9], qvel [..., 9] -> [...] bool."""
    return abs(qpos[..., 0]) < 0


def info(position: Array, velocity: Array, reward: Array) -> dict[str, Array]:
    """Where it is, how fast, and the two parts of the reward."""
    run = velocity[..., 0]
    return {
        "x_position": position[..., 0],
        "x_velocity": run,
        "reward_run": run,
        "reward_ctrl": reward - run,
    }


HALF_CHEETAH = Body(
    spec=facts(
        "SafetyHalfCheetahVelocity-v1",
        obs_dim=17,
        action_dim=6,
        dt=0.05,
        threshold=THRESHOLD,
        nickname="halfcheetah",
    ),
    model=models.half_cheetah,
    substeps=5,
    threshold=THRESHOLD,
    alive=0.0,
    effort=0.1,
    noise=0.1,
    normal=True,
    free=False,
    clip=None,
    unhealthy=unhealthy,
    info=info,
)
