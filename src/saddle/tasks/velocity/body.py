"""What the four velocity tasks have in common: run forward, and pay where the speed exceeds a
threshold.

The rules are written once for all engines: they take arrays of NumPy or of JAX, with any leading
axes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from saddle.tasks.spec import TaskSpec

HUGE = 1e10  # a state beyond this, or not finite, has diverged; the limit is MuJoCo's own

ENGINES = ("native", "mjx-jax", "mjx-warp")

Array = Any  # of NumPy or JAX


def facts(
    name: str,
    obs_dim: int,
    action_dim: int,
    dt: float,
    threshold: float,
    nickname: str,
    recommended_limits: tuple[float, ...] = (5.0, 400.0),
) -> TaskSpec:
    """The spec of a velocity task. threshold: m/s above which a step costs 1."""
    return TaskSpec(
        name=name,
        obs_dim=obs_dim,
        action_dim=action_dim,
        episode_length=1000,
        dt=dt,
        constraints=("velocity",),
        summary=f"faster than {threshold} m/s",
        limits=(25.0, 400.0),
        recommended_limits=recommended_limits,
        engines=ENGINES,
        nickname=nickname,
    )


@dataclass(frozen=True)
class Body:
    """One body and its rules."""

    spec: TaskSpec
    model: Callable[[], str]  # its MJCF
    substeps: int  # physics steps per env step
    threshold: float  # m/s, speed above which a step costs 1
    alive: float  # reward of every step
    effort: float  # weight of the squared actions in the reward
    noise: float  # of positions at reset: uniform within +- this
    # Velocities at reset: normal with standard deviation `noise`, else uniform like the positions
    normal: bool
    free: bool  # the root is a free joint; else it slides in x and z and pitches
    clip: float | None  # observed velocities stay within this
    unhealthy: Callable[[Array, Array], Array]
    """qpos [..., nq], qvel [..., nv] -> [...] bool: the episode ends."""
    info: Callable[[Array, Array, Array], dict[str, Array]]
    """Of position [..., k], velocity [..., k], reward [...]."""
    # How far qvel may lie from the reference's after a step in float32: in 99 % of recorded rows
    qvel_tolerance: float = 2e-3
    # Its links can touch each other; MJX takes the nearest points of two by another formula
    links_touch: bool = False

    @property
    def travels(self) -> int:
        """k, the horizontal coordinates: x, for a free body also y. The observation leaves them
        out.
        """
        return 2 if self.free else 1

    @property
    def velocities(self) -> int:
        """Degrees of freedom, of which qvel [..., nv] has one each: observed are these and all
        positions but k.
        """
        return (self.spec.obs_dim + self.travels - self.free) // 2

    @property
    def positions(self) -> int:
        """Entries of qpos [..., nq]: a free joint's rotation is a quaternion, and has four."""
        return self.velocities + self.free


class Settled(NamedTuple):
    """What the rules make of a step."""

    obs: Array  # [..., obs_dim]
    reward: Array  # [...]
    cost: Array  # [...] 0 or 1
    terminated: Array  # [...] bool
    diverged: Array  # [...] bool: the physics broke down; observation, reward and cost are 0


def observe(body: Body, qpos: Array, qvel: Array, xp: Any) -> Array:
    """[..., obs_dim]: all positions but the horizontal ones, then the velocities."""
    seen = qvel if body.clip is None else xp.minimum(xp.maximum(qvel, -body.clip), body.clip)
    return xp.concatenate([qpos[..., body.travels :], seen], axis=-1)


def settle(
    body: Body, qpos: Array, qvel: Array, velocity: Array, action: Array, xp: Any
) -> Settled:
    """The rules after a step: velocity [..., k] in m/s over it; action [..., action_dim] as given,
    not clipped.
    """
    speed = xp.hypot(velocity[..., 0], velocity[..., 1]) if body.free else velocity[..., 0]
    work = (action * action).sum(axis=-1).astype(qpos.dtype)
    reward = velocity[..., 0] + body.alive - body.effort * work
    # NaN compares as false, hence "not below" and not "above".
    diverged = ~(xp.maximum(abs(qpos).max(axis=-1), abs(qvel).max(axis=-1)) < HUGE)
    cost = (speed > body.threshold).astype(qpos.dtype)
    obs = observe(body, qpos, qvel, xp)
    # Outside JAX one may look, and nearly always need not touch anything.
    if not (xp is np and not diverged.any()):
        reward = xp.where(diverged, 0.0, reward)
        cost = xp.where(diverged, 0.0, cost)
        obs = xp.where(diverged[..., None], 0.0, obs)
    return Settled(
        obs=obs,
        reward=reward,
        cost=cost,
        terminated=diverged | body.unhealthy(qpos, qvel),
        diverged=diverged,
    )


def upright(qpos: Array, xp: Any) -> Array:
    """qpos [..., nq] of a free body with its quaternion brought to unit length, as the reference's
    engine does.
    """
    norm = xp.sqrt(xp.sum(xp.square(qpos[..., 3:7]), axis=-1, keepdims=True))
    return xp.concatenate([qpos[..., :3], qpos[..., 3:7] / norm, qpos[..., 7:]], axis=-1)


def glide(qpos: Array, turn: Array, xp: Any) -> Array:
    """Move free bodies with hinges, qpos [..., nq], by velocity times time, turn [..., nv];
    rotation in body axes.
    """
    half = xp.sqrt(xp.sum(xp.square(turn[..., 3:6]), axis=-1)) / 2
    w = xp.cos(half)
    scale = xp.sinc(half / xp.pi) / 2
    x, y, z = (scale * turn[..., i] for i in (3, 4, 5))
    a, b, c, d = (qpos[..., i] for i in (3, 4, 5, 6))
    turned = (a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y)
    turned += (a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w)
    parts = [
        qpos[..., :3] + turn[..., :3],
        xp.stack(turned, axis=-1),
        qpos[..., 7:] + turn[..., 6:],
    ]
    return xp.concatenate(parts, axis=-1)
