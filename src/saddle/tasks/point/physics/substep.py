"""Ten substeps of a robot that may be touching things."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body
from saddle.tasks.point.body import Agent, Planar
from saddle.tasks.point.physics import rigid, solver
from saddle.tasks.point.physics.contact import RESISTANCE, Contacts, add, times
from saddle.tasks.point.physics.once import once, stored
from saddle.tasks.point.physics.rigid import Bodies, Kind, Motion
from saddle.tasks.point.physics.scenes import HEIGHT
from saddle.tasks.point.physics.solver import Problem, Unknown, Weld
from saddle.tasks.point.physics.vec import Axes, Vec


class Touching(NamedTuple):
    """Everything in contact at one moment; None where nothing of the kind exists."""

    static: Contacts | None = None  # robot against fixed things, about the robot's origin [C, N]
    bodies: Contacts | None = None  # bodies against the robot (first), floor and fixed things [C, B, N]
    weld: Weld | None = None
    pairs: Contacts | None = None  # bodies against each other, about each pair's second [C, pairs, N]


Detect = Callable[[Planar, Bodies, Axes, Array], Touching]  # robot's pose, bodies, their axes, time


class Scene(NamedTuple):
    """What the bodies are, what can touch what, and how many contact slots of a body are with the robot."""

    kind: Kind
    detect: Detect
    robot_slots: int


class World(NamedTuple):
    """What moves: the robot [N] and the bodies [B, N], with the accelerations of the last solve (a warm start)."""

    agent: Agent
    bodies: Bodies
    robot_acceleration: Planar
    body_acceleration: Motion
    touched: Array  # [B, N] bool: bodies that the robot touched in the last solve


def contact_step(agent: Agent, bodies: Bodies, scene: Scene, time: Array, throttle: Array, turn: Array) -> World:
    """One env step; the accelerations and touches returned are those at the end of it."""
    free = body.solve(agent.q.yaw, body.smooth_force(agent, throttle, turn), 0.0)
    none = jnp.zeros(bodies.position.x.shape, bool)
    world = World(agent, bodies, free, rigid.smooth_acceleration(bodies, bodies.axes, scene.kind), none)

    def substep(i: Array, world: World) -> World:
        # The last round only solves: the engine evaluates the end of the step with the targets of the last substep.
        moment = time + jnp.minimum(i, body.SUBSTEPS - 1) * body.H
        world = _accelerate(world, scene, moment, throttle, turn)
        return jax.tree.map(lambda new, old: jnp.where(i < body.SUBSTEPS, new, old), _integrate(world), world)

    return jax.lax.fori_loop(0, body.SUBSTEPS + 1, substep, world)


def _accelerate(world: World, scene: Scene, time: Array, throttle: Array, turn: Array) -> World:
    """The world with its accelerations solved for."""
    agent, bodies = world.agent, world.bodies
    axes = bodies.axes
    touching = stored(scene.detect(agent.q, bodies, axes, time))
    free = body.solve(agent.q.yaw, body.smooth_force(agent, throttle, turn), 0.0)
    drift = Motion(bodies.velocity * RESISTANCE, axes.to_world(bodies.spin) * RESISTANCE)
    shift = lambda a, sign: Planar(*(p + sign * RESISTANCE * v for p, v in zip(a, agent.v, strict=True)))
    z0 = rigid.smooth_acceleration(bodies, axes, scene.kind) + drift
    mass = rigid.mass_matrix(scene.kind, axes)
    pull = times(mass, z0)
    if touching.weld:
        pull = pull - touching.weld.gradient
        mass = add(mass, touching.weld.stiffness)
    mass, pull = once((mass, pull))
    problem = Problem(
        yaw=agent.q.yaw,
        robot0=shift(free, 1),
        mass=mass,
        pull=pull,
        arm=bodies.position - Vec(agent.q.x, agent.q.y, jnp.full_like(agent.q.x, HEIGHT)),
        static=touching.static,
        bodies=touching.bodies,
        robot_slots=scene.robot_slots,
        pairs=touching.pairs,
    )
    start = Unknown(shift(world.robot_acceleration, 1), world.body_acceleration + drift)
    z = solver.solve(problem, start)
    at_robot = touching.bodies.weight[: scene.robot_slots] > 0 if touching.bodies else world.touched[None]
    return World(agent, bodies, shift(z.robot, -1), z.body - drift, jnp.any(at_robot, axis=0))


def _integrate(world: World) -> World:
    """Move by one substep under the accelerations found."""
    agent, bodies = world.agent, world.bodies
    return world._replace(
        agent=body.integrate(agent, solver.robot_force(agent.q.yaw, world.robot_acceleration)),
        bodies=rigid.integrate(bodies, bodies.axes, world.body_acceleration),
    )
