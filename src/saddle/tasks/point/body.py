"""The point robot: an exact planar body of three degrees of freedom.

World frame, q = (x, y, yaw) in metres and radians, v = (vx, vy, yaw rate) in m/s and rad/s. The
arrow in front shifts the centre of mass, which couples sideways motion and turning. Functions work
on scalars (one world, or any batch of them element by element), so that a whole step compiles to a
few fused loops.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.specs import DT as DT
from saddle.tasks.point.specs import SUBSTEPS as SUBSTEPS
from saddle.tasks.point.specs import H as H

GRAVITY = 9.81

MASS = 0.005188790204786391  # kg, sphere and arrow
MASS_OFFSET = 1.0e-4  # kg m, mass times the distance of the centre of mass ahead of the hinge
INERTIA = 2.842182748581223e-5  # kg m^2 about the hinge
DAMPING = 0.01  # N s/m
YAW_DAMPING = 0.005  # N m s
GEAR = 0.3
SERVO = 0.3  # the turn actuator acts on (control - SERVO * yaw rate)
FORCE_LIMIT = 0.05  # both actuators saturate here, far inside the control range
# 1/kg, the engine's translational weight of the body in contact regularisation
INVERSE_WEIGHT = 128.4821009050821

HEIGHT = 0.1  # m, of the robot's origin above the floor, always
RADIUS = 0.1  # m, the sphere
ARROW_OFFSET = 0.1  # m, centre of the arrow's box ahead of the origin
ARROW_HALF = 0.05  # m, half-extent of that box
REACH = 0.16  # m, no part of the robot is farther from its origin (exactly: hypot(0.15, 0.05))


class Planar(NamedTuple):
    """A planar pose, velocity, acceleration or force: three arrays of one shape."""

    x: Array
    y: Array
    yaw: Array


class Agent(NamedTuple):
    """Pose and velocity of the robot in the world."""

    q: Planar
    v: Planar


def unpack(agent: Array) -> Agent:
    """[6] -> Agent of scalars."""
    x, y, yaw, vx, vy, w = (agent[..., i] for i in range(6))
    return Agent(Planar(x, y, yaw), Planar(vx, vy, w))


def pack(agent: Agent) -> Array:
    """Agent of scalars -> [6], with the yaw wrapped to [-pi, pi) so that float32 keeps its
    digits.
    """
    q, v = agent
    yaw = q.yaw - 2 * jnp.pi * jnp.round(q.yaw / (2 * jnp.pi))
    return jnp.stack([q.x, q.y, yaw, v.x, v.y, v.yaw], axis=-1)


def controls(action: Array) -> tuple[Array, Array]:
    """Throttle and turn, clipped to the control range. action [2]."""
    clipped = jnp.clip(action, -1, 1)
    return clipped[..., 0], clipped[..., 1]


def smooth_force(agent: Agent, throttle: Array, turn: Array) -> Planar:
    """Actuation, centrifugal force and damping: everything but contacts."""
    (_, _, yaw), (vx, vy, w) = agent
    push = GEAR * jnp.clip(throttle, -FORCE_LIMIT, FORCE_LIMIT) + MASS_OFFSET * w * w
    torque = GEAR * jnp.clip(turn - SERVO * w, -FORCE_LIMIT, FORCE_LIMIT)
    return Planar(
        push * jnp.cos(yaw) - DAMPING * vx,
        push * jnp.sin(yaw) - DAMPING * vy,
        torque - YAW_DAMPING * w,
    )


def solve(yaw: Array, f: Planar, h: float) -> Planar:
    """(M + h D)^-1 f. h = 0 gives the instantaneous acceleration, h = H the implicitly damped one
    of the step.
    """
    c = jnp.cos(yaw)
    s = jnp.sin(yaw)
    mass = MASS + h * DAMPING
    inertia = INERTIA + h * YAW_DAMPING - MASS_OFFSET**2 / mass
    turn = (f.yaw + (MASS_OFFSET / mass) * (s * f.x - c * f.y)) / inertia
    return Planar(
        (f.x + MASS_OFFSET * s * turn) / mass, (f.y - MASS_OFFSET * c * turn) / mass, turn
    )


def integrate(agent: Agent, f: Planar) -> Agent:
    """One semi-implicit Euler substep under the total force f, joint damping taken implicitly."""
    q, v = agent
    a = solve(q.yaw, f, H)
    v = Planar(v.x + H * a.x, v.y + H * a.y, v.yaw + H * a.yaw)
    return Agent(Planar(q.x + H * v.x, q.y + H * v.y, q.yaw + H * v.yaw), v)


def sensors(agent: Agent, acceleration: Planar) -> Array:
    """[12]: accelerometer, velocimeter, gyro, magnetometer, each of three axes in the body
    frame.
    """
    (_, _, yaw), v = agent
    c = jnp.cos(yaw)
    s = jnp.sin(yaw)
    zero = jnp.zeros_like(yaw)
    up = jnp.full_like(yaw, GRAVITY)

    def forward(p: Planar) -> Array:
        return c * p.x + s * p.y

    def left(p: Planar) -> Array:
        return c * p.y - s * p.x

    accelerometer = [forward(acceleration), left(acceleration), up]
    velocimeter = [forward(v), left(v), zero]
    gyro = [zero, zero, v.yaw]
    magnetometer = [-0.5 * s, -0.5 * c, zero]
    return jnp.stack([*accelerometer, *velocimeter, *gyro, *magnetometer], axis=-1)
