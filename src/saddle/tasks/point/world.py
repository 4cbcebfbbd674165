"""One env step of Goal1 and Push1: the robot, and the free body that it can touch.

Most steps touch nothing, and then the robot moves freely and the body rests. Only worlds in which
something may touch within the step go through the contact solver (rare.patch_rare).
"""

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body, drive
from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import collide, rigid, scenes
from saddle.tasks.point.physics.pillar import Pillar
from saddle.tasks.point.physics.problem import Groups
from saddle.tasks.point.physics.rigid import Bodies
from saddle.tasks.point.physics.substep import Scene, Touching, World, contact_step
from saddle.tasks.point.physics.vec import Axes
from saddle.tasks.rare import patch_rare

SMALL_WIDTH = 0.1  # m, half-width of a vase or gremlin
BOX_WIDTH = 0.3  # m, half-width of the push box with its posts
TILT = 0.04  # m, by which a tilted body may stick out beyond its outline
PILLAR_RADIUS = 0.2  # m
PILLAR_HALF_HEIGHT = 0.5  # m
SLACK = 0.005  # m, more than anything accelerates within a step
QUIET = 1e-5  # m/s and rad/s below which a body at its resting height stays where it is
VASE_AT_REST = 0.1 - 4.362e-5  # m, height of a resting vase's centre
BOX_AT_REST = 0.2 - 8.74e-6
HEIGHT_SLACK = 2e-7  # m


def goal_step(agent: Array, vase: Array, action: Array) -> tuple[Array, Array, Array]:
    """agent [6], vase [13], action [2] -> agent, acceleration [3], vase."""
    untouched = (*free(agent, action), vase)
    at_vase = near(agent, vase, SMALL_WIDTH, travel(vase[7:10]))
    touch = at_vase | _awake(vase, VASE_AT_REST)
    return patch_rare(_goal_contacts, touch, (agent, vase, action), untouched, kernel=True)


def push_step(agent: Array, pillar: Array, box: Array, action: Array) -> tuple[Array, Array, Array]:
    """agent [6], pillar [2], box [13], action [2] -> agent, acceleration [3], box."""
    untouched = (*free(agent, action), box)
    to_pillar = gap(agent[:2], pillar)
    at_pillar = to_pillar < body.REACH + PILLAR_RADIUS + travel(agent[3:5])
    at_box = near(agent, box, BOX_WIDTH, travel(box[7:10]))
    touch = at_box | _awake(box, BOX_AT_REST) | at_pillar
    return patch_rare(_push_contacts, touch, (agent, pillar, box, action), untouched, kernel=True)


def free(agent: Array, action: Array) -> tuple[Array, Array]:
    """The robot after a step in which it touches nothing, [6], and its acceleration [3]."""
    moved, acceleration = drive.step(body.unpack(agent), *body.controls(action))
    return body.pack(moved), jnp.stack(acceleration)


def gap(a: Array, b: Array) -> Array:
    """Distance in the plane; the last axis holds x and y."""
    return jnp.hypot(a[..., 0] - b[..., 0], a[..., 1] - b[..., 1])


def travel(velocity: Array) -> Array:
    """How far something may get in a step, m."""
    return body.DT * jnp.linalg.norm(velocity, axis=-1) + SLACK


def near(agent: Array, bodies: Array, half: float, far: Array | float) -> Array:
    """Whether the robot may touch a body [13] (or bodies [B, 13]) of that half-width that gets so
    far in the step.
    """
    w = bodies[..., 3]
    z = bodies[..., 6]
    # Of the yaw, for a body that stands upright
    cosine = w * w - z * z
    sine = 2 * w * z
    x = agent[0] - bodies[..., 0]
    y = agent[1] - bodies[..., 1]
    ahead = jnp.abs(cosine * x + sine * y)
    left = jnp.abs(cosine * y - sine * x)
    beyond_front = jnp.maximum(ahead - half, 0)
    beyond_side = jnp.maximum(left - half, 0)
    outside = jnp.hypot(beyond_front, beyond_side)
    return outside < body.REACH + TILT + travel(agent[3:5]) + far


def _awake(free: Array, height: float) -> Array:
    """Whether a free body [13] is not at rest on the floor."""
    moving = jnp.max(jnp.abs(free[7:])) > QUIET
    lifted = jnp.abs(free[2] - height) > HEIGHT_SLACK
    tilted = jnp.max(jnp.abs(free[4:6])) > QUIET
    return moving | lifted | tilted


def run(
    agent: Array, bodies: Array, action: Array, scene: Scene, time: Array | None = None
) -> World:
    """One env step of K worlds in contact. agent [K, 6], bodies [K, B, 13], action [K, 2]."""
    if time is None:
        time = jnp.zeros(agent.shape[0], agent.dtype)
    robot = body.unpack(agent)
    free_bodies = rigid.unpack(bodies)
    return contact_step(robot, free_bodies, scene, time, *body.controls(action))


def results(world: World) -> tuple[Array, Array, Array]:
    """agent [K, 6], acceleration [K, 3], bodies [K, B, 13]."""
    acceleration = jnp.stack(world.robot_acceleration, axis=-1)
    return body.pack(world.agent), acceleration, rigid.pack(world.bodies)


def _goal_contacts(x: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Robot, floor and vase of K worlds: as goal_step, with K as leading axis."""
    agent, vase, action = x
    kind = scenes.SMALL_BOX

    def detect(q: Planar, bodies: Bodies, axes: Axes, _: Array) -> Touching:
        box = scenes.small_box(bodies.position, axes)
        robot = scenes.robot_points(q, box, 1, scenes.PAIR_SLOTS)
        at_robot, touched = scenes.robot_contacts(robot, bodies, kind)
        corners = collide.fold(collide.box_floor(box))
        floor = scenes.floor_contacts(corners, bodies, kind)
        contacts = Groups(robot=at_robot, floor=floor)
        return Touching(contacts, jnp.any(touched, axis=0), touched)

    end = run(agent, vase[:, None], action, Scene(kind, detect))
    agent, acceleration, bodies = results(end)
    return agent, acceleration, bodies[:, 0]


def _push_contacts(x: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Robot, floor, pillar and box of K worlds: as push_step, with K as leading axis."""
    agent, pillar, box, action = x
    kind = scenes.PUSH_BOX
    cylinder = Pillar(pillar[:, 0], pillar[:, 1], PILLAR_RADIUS, PILLAR_HALF_HEIGHT)

    def detect(q: Planar, bodies: Bodies, axes: Axes, _: Array) -> Touching:
        parts = scenes.push_box(bodies, axes)
        robot = scenes.robot_points(q, parts, scenes.PUSH_ROUND_SLOTS, scenes.PUSH_FLAT_SLOTS)
        static, leaning, at_pillar = scenes.with_pillar(q, parts, cylinder)
        at_robot, touched = scenes.robot_contacts(robot, bodies, kind)
        fixed = scenes.fixed_contacts(at_pillar, bodies, kind)
        corners = collide.fold(collide.box_floor(parts))
        floor = scenes.floor_contacts(corners, bodies, kind)
        contacts = Groups(static, at_robot, fixed, floor)
        held = leaning | jnp.any(touched, axis=0)
        return Touching(contacts, held, touched)

    end = run(agent, box[:, None], action, Scene(kind, detect))
    agent, acceleration, bodies = results(end)
    return agent, acceleration, bodies[:, 0]
