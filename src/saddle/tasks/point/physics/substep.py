"""Ten substeps of a robot that may be touching things."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body
from saddle.tasks.point.body import Agent, Planar
from saddle.tasks.point.physics import rigid, solver
from saddle.tasks.point.physics.contact import RESISTANCE, add, times
from saddle.tasks.point.physics.once import once, stored
from saddle.tasks.point.physics.problem import Groups, Problem, Unknown, Weld, robot_force
from saddle.tasks.point.physics.rigid import Bodies, Kind, Motion
from saddle.tasks.point.physics.vec import Axes, Vec


class Touching(NamedTuple):
    """Everything in contact at one moment; None where nothing of the kind exists."""

    contacts: Groups
    held: Array  # [N] bool: whether the robot touches anything
    touched: Array | None = None  # [B, N] bool: bodies that it touches
    paired: Array | None = None  # [] bool: whether any two bodies touch
    weld: Weld | None = None


Detect = Callable[[Planar, Bodies, Axes, Array], Touching]  # robot's pose, bodies, their axes, time


class Scene(NamedTuple):
    """What the bodies are, and what can touch what."""

    kind: Kind
    detect: Detect


class World(NamedTuple):
    """What moves: the robot [N] and the bodies [B, N], with what the last solve found."""

    agent: Agent
    bodies: Bodies
    robot_acceleration: Planar
    body_acceleration: Motion
    z: Unknown  # under which contacts push as they did: where the next solve starts
    touched: Array  # [B, N] bool: bodies that the robot touched in the last solve


def contact_step(
    agent: Agent, bodies: Bodies, scene: Scene, time: Array, throttle: Array, turn: Array
) -> World:
    """One env step; the accelerations and touches returned are those at the end of it."""
    still = Planar(*[jnp.zeros_like(agent.q.x)] * 3)
    none = jnp.zeros_like(bodies.position.x)
    rest = Motion(Vec(none, none, none), Vec(none, none, none))
    robot_drift = Planar(*(RESISTANCE * v for v in agent.v))
    world = World(
        agent=agent,
        bodies=bodies,
        robot_acceleration=still,
        body_acceleration=rest,
        z=Unknown(robot_drift, _drift(bodies, bodies.axes)),
        touched=jnp.zeros(none.shape, bool),
    )

    def substep(i: Array, world: World) -> World:
        # The last round only solves: the engine evaluates the end of the step with the targets of
        # the last substep.
        moment = time + jnp.minimum(i, body.SUBSTEPS - 1) * body.H
        world = _accelerate(world, scene, moment, throttle, turn)

        def unless_last(new: Array, old: Array) -> Array:
            return jnp.where(i < body.SUBSTEPS, new, old)

        return jax.tree.map(unless_last, _integrate(world), world)

    return jax.lax.fori_loop(0, body.SUBSTEPS + 1, substep, world)


def _accelerate(world: World, scene: Scene, time: Array, throttle: Array, turn: Array) -> World:
    """The world with its accelerations solved for."""
    agent, bodies = world.agent, world.bodies
    axes = bodies.axes
    touching = stored(scene.detect(agent.q, bodies, axes, time))
    free = body.solve(agent.q.yaw, body.smooth_force(agent, throttle, turn), 0.0)
    drift = _drift(bodies, axes)

    def shift(a: Planar, sign: int) -> Planar:
        """The robot's acceleration -> its z with sign 1; back with -1."""
        b = sign * RESISTANCE
        return Planar(a.x + b * agent.v.x, a.y + b * agent.v.y, a.yaw + b * agent.v.yaw)

    robot0 = shift(free, 1)
    z0 = rigid.smooth_acceleration(bodies, axes, scene.kind) + drift
    mass = rigid.mass_matrix(scene.kind, axes)
    pull = times(mass, z0)
    if touching.weld:
        pull = pull - touching.weld.gradient
        mass = add(mass, touching.weld.stiffness)
    mass, pull = once((mass, pull))
    origin = Vec(agent.q.x, agent.q.y, jnp.full_like(agent.q.x, body.HEIGHT))
    problem = Problem(
        yaw=agent.q.yaw,
        robot0=robot0,
        mass=mass,
        pull=pull,
        arm=bodies.position - origin,
        contacts=touching.contacts,
        paired=jnp.zeros((), bool) if touching.paired is None else touching.paired,
    )

    def start_from(last: Array, free: Array) -> Array:
        return jnp.where(touching.held, last, free)

    start = jax.tree.map(start_from, world.z.robot, robot0)
    z = solver.solve(problem, Unknown(start, world.z.body))
    return World(
        agent=agent,
        bodies=bodies,
        robot_acceleration=shift(z.robot, -1),
        body_acceleration=z.body - drift,
        z=z,
        touched=world.touched if touching.touched is None else touching.touched,
    )


def _drift(bodies: Bodies, axes: Axes) -> Motion:
    """b v of the bodies, by which z differs from their acceleration."""
    return Motion(bodies.velocity * RESISTANCE, axes.to_world(bodies.spin) * RESISTANCE)


def _integrate(world: World) -> World:
    """Move by one substep under the accelerations found."""
    agent, bodies = world.agent, world.bodies
    return world._replace(
        agent=body.integrate(agent, robot_force(agent.q.yaw, world.robot_acceleration)),
        bodies=rigid.integrate(bodies, bodies.axes, world.body_acceleration),
    )
