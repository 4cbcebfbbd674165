"""What a substep minimises, and its parts.

    minimise over z   1/2 (z - z0) M (z - z0)  +  sum over contact rows  min(0, row)^2 / (2 R)

The unknowns are the robot's three accelerations and six for each body (shifted by b v: see
contact.py).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body
from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import contact, pairs
from saddle.tasks.point.physics.contact import Contacts, Strain, Sym6
from saddle.tasks.point.physics.once import add_all, map_slots, only_if, per_body, total
from saddle.tasks.point.physics.rigid import Motion
from saddle.tasks.point.physics.vec import Vec


class Weld(NamedTuple):
    """Six equality rows that hold each body at a target pose, in terms of its unknowns."""

    stiffness: Sym6  # arrays [B, N]
    gradient: Motion  # at z = 0


class Groups(NamedTuple):
    """Of each group of contacts its contacts, or their strains; None where there is no such group.

    Arrays are [C, N] for `static`, [C, B, N] for what a body touches, [C, pairs, N] for `pairs`.
    """

    static: Any = None  # robot against fixed things, about the robot's origin
    robot: Any = None  # bodies against the robot, about their centres
    fixed: Any = None  # bodies against fixed things
    floor: Any = None  # bodies against the floor
    pairs: Any = None  # bodies against each other, about each pair's second


class Problem(NamedTuple):
    """One substep of N worlds with B bodies each. Arrays [N] for the robot, [B, N] for bodies."""

    yaw: Array
    robot0: Planar  # z0 of the robot
    mass: Sym6  # the bodies' inertia, with the stiffness of a weld
    pull: Motion  # minus the bodies' gradient at z = 0 without contacts
    arm: Vec  # from the robot's origin to each body's centre
    contacts: Groups
    paired: Array  # [] bool, whether any two bodies touch


class Unknown(NamedTuple):
    """z, or a direction in its space."""

    robot: Planar
    body: Motion


def strains(p: Problem, z: Unknown, offset: bool = True) -> Groups:
    """Strain of every group of contacts under z; without offset for a direction."""
    c = p.contacts

    def of_slots(contacts: Contacts, z: Motion) -> Strain:
        def of_row(row: Contacts) -> Strain:
            return contact.strain(row, z, offset)

        return map_slots(of_row, contacts, contact.pushes, own=True)

    def of_bodies(contacts: Contacts, z: Motion) -> Strain:
        return per_body(lambda body: of_slots(*body), (contacts, z))

    def of_pairs() -> Strain:
        return of_bodies(c.pairs, pairs.relative(z.body, p.arm))

    return Groups(
        static=of_slots(c.static, _in_space(z.robot)) if c.static else None,
        robot=of_bodies(c.robot, _from_robot(p, z)) if c.robot else None,
        fixed=of_bodies(c.fixed, z.body) if c.fixed else None,
        floor=of_bodies(c.floor, z.body) if c.floor else None,
        pairs=only_if(p.paired, of_pairs) if c.pairs else None,
    )


def _from_robot(p: Problem, z: Unknown) -> Motion:
    """Motion of the bodies against the robot, at their centres [B, N]."""
    robot = z.robot
    linear, angular = z.body
    carried_x = robot.x - robot.yaw * p.arm.y
    carried_y = robot.y + robot.yaw * p.arm.x
    return Motion(
        linear=Vec(linear.x - carried_x, linear.y - carried_y, linear.z),
        angular=Vec(angular.x, angular.y, angular.z - robot.yaw),
    )


def _in_space(z: Planar) -> Motion:
    """The robot's motion."""
    zero = jnp.zeros_like(z.x)
    return Motion(Vec(z.x, z.y, zero), Vec(zero, zero, z.yaw))


def robot_mass(yaw: Array) -> list[list[Array]]:
    """The robot's inertia matrix in the world frame."""
    c = body.MASS_OFFSET * jnp.cos(yaw)
    s = body.MASS_OFFSET * jnp.sin(yaw)
    zero = jnp.zeros_like(yaw)
    return [
        [zero + body.MASS, zero, -s],
        [zero, zero + body.MASS, c],
        [-s, c, zero + body.INERTIA],
    ]


def robot_force(yaw: Array, v: Planar) -> Planar:
    """The robot's inertia times v: the force that gives it the acceleration v."""
    force = []
    for row in robot_mass(yaw):
        force.append(add_all(a * b for a, b in zip(row, v, strict=True)))
    return Planar(*force)


def gradient(p: Problem, z: Unknown) -> Unknown:
    """Without contacts."""
    x, y, yaw = z.robot
    off_by = Planar(x - p.robot0.x, y - p.robot0.y, yaw - p.robot0.yaw)
    return Unknown(robot_force(p.yaw, off_by), contact.times(p.mass, z.body) - p.pull)


def curvature(p: Problem, d: Unknown) -> Unknown:
    """How the gradient without contacts changes along d."""
    return Unknown(robot_force(p.yaw, d.robot), contact.times(p.mass, d.body))


def inner(a: Unknown, b: Unknown) -> Array:
    """Inner product over the robot and all bodies, [N]."""
    robot = add_all(u * v for u, v in zip(a.robot, b.robot, strict=True))
    bodies = a.body.linear.dot(b.body.linear) + a.body.angular.dot(b.body.angular)
    return robot + total(bodies)
