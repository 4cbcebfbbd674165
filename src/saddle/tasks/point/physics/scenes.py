"""What can touch what, in each task."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.tasks.point import body
from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import collide, contact, pairs
from saddle.tasks.point.physics.boxes import Box, Points, box_box
from saddle.tasks.point.physics.contact import Contacts
from saddle.tasks.point.physics.once import map_slots, per_body
from saddle.tasks.point.physics.pillar import Pillar, pillar_contacts
from saddle.tasks.point.physics.problem import Weld
from saddle.tasks.point.physics.rigid import Bodies, Kind, Motion
from saddle.tasks.point.physics.vec import Axes, Vec, broadcast, concatenate

SMALL_BOX = Kind(  # vase, gremlin
    mass=8e-6,
    inertia=(8e-6 * 0.04 / 6, 8e-6 * 0.04 / 6),
    inverse_weight=125000.0,
)
SMALL_HALF = (0.1, 0.1, 0.1)  # m
PUSH_BOX = Kind(
    mass=1.28e-4,
    inertia=(5.333333333333334e-06, 7.253333333333334e-06),
    inverse_weight=7812.5,
)
# m, cube and posts in the body
PUSH_PARTS = ((0.0, 0.0), (0.2, 0.2), (-0.2, 0.2), (0.2, -0.2), (-0.2, -0.2))
PUSH_HALVES = ((0.2, 0.2, 0.2),) + 4 * ((0.1, 0.1, 0.2),)  # m, of each
PUSH_ROUND_SLOTS = 3  # contacts kept of the push box with the robot's sphere
PUSH_FLAT_SLOTS = 8  # and with its arrow
PILLAR_SLOTS = 2  # parts of the push box that can be at the pillar at once
PAIR_SLOTS = 8  # contacts between two boxes: the reference has as many where one lies on another
WELD_SPRING = 1 / (0.95 * 0.02 * 1.5) ** 2  # 1/s^2


def robot_shapes(q: Planar) -> tuple[Vec, Box]:
    """Centre of the robot's sphere, and its arrow."""
    c = jnp.cos(q.yaw)
    s = jnp.sin(q.yaw)
    zero = jnp.zeros_like(c)
    one = jnp.ones_like(c)
    axes = Axes(Vec(c, s, zero), Vec(-s, c, zero), Vec(zero, zero, one))
    center = Vec(q.x, q.y, zero + body.HEIGHT)
    half = body.ARROW_HALF
    return center, Box(center + axes.x * body.ARROW_OFFSET, axes, (half, half, half))


def push_box(bodies: Bodies, axes: Axes) -> Box:
    """The cube and its four posts, [5, B, N]."""
    return collide.part(axes, bodies.position, PUSH_PARTS, PUSH_HALVES)


def small_box(center: Vec, axes: Axes) -> Box:
    """Vases or gremlins [...] as boxes [1, ...]."""
    return collide.part(axes, center, ((0.0, 0.0),), (SMALL_HALF,))


def robot_points(q: Planar, box: Box, round_slots: int, flat_slots: int) -> list[Points]:
    """The robot's sphere and arrow against bodies made of boxes; slots: how many contacts of each
    are kept.
    """
    sphere, arrow = robot_shapes(q)
    at_sphere = collide.fold(collide.sphere_box(sphere, body.RADIUS, box))
    round_ = collide.keep(at_sphere, round_slots)

    def one_box(part: tuple[Vec, Any]) -> Box:
        center, half = part
        return Box(center, box.axes, half)

    def touch(part: tuple[Vec, Any]) -> Points:
        return collide.keep(box_box(arrow, one_box(part)), PAIR_SLOTS)

    def close(part: tuple[Vec, Any]) -> Array:
        return collide.may_touch(arrow, one_box(part))

    flat = collide.fold(map_slots(touch, (box.center, box.half), close, axis=1))
    if flat.found.shape[0] > flat_slots:
        flat = collide.keep(flat, flat_slots)
    return [round_, flat]


def robot_contacts(robot: list[Points], bodies: Bodies, kind: Kind) -> tuple[Contacts, Array]:
    """Bodies against the robot's sphere and arrow, and which of them it touches [B, N]."""
    points = collide.join(robot)
    counts = [len(part.found) for part in robot]

    def column(at_sphere: float, at_arrow: float) -> Array:
        values = np.repeat((at_sphere, at_arrow), counts)
        return _column(values.tolist(), points.distance)

    twist = column(contact.SPHERE_TWIST, contact.TWIST)
    roll = column(contact.SPHERE_ROLL, contact.ROLL)
    weight = kind.inverse_weight + body.INVERSE_WEIGHT
    found = contact.contacts(points, bodies.position, weight, twist, roll)
    return found, jnp.any(contact.overlap(points), axis=0)


def fixed_contacts(points: Points, bodies: Bodies, kind: Kind) -> Contacts:
    """Bodies against fixed things."""
    weight = kind.inverse_weight
    return contact.contacts(points, bodies.position, weight, contact.TWIST, contact.ROLL)


def floor_contacts(floor: Points, bodies: Bodies, kind: Kind) -> Contacts:
    """Bodies against the floor."""
    return contact.on_floor(floor, bodies.position, kind.inverse_weight)


def gremlin_points(q: Planar, bodies: Bodies, axes: Axes) -> tuple[list[Points], Points]:
    """Gremlins [B, N] against the robot, and against each other [C, pairs, N], from one box-box
    search.
    """
    position = bodies.position
    count = position.x.shape[0]
    first, second = pairs.indices(count)
    sphere, arrow = robot_shapes(q)

    def at_sphere(gremlin: tuple[Vec, Axes]) -> Points:
        return collide.sphere_box(sphere, body.RADIUS, Box(*gremlin, SMALL_HALF))

    round_ = per_body(at_sphere, (position, axes))

    # One list of pairs: the arrow with each gremlin, then each gremlin with each that follows it.
    def firsts(of_arrow: Vec, of_gremlins: Vec) -> Vec:
        return concatenate([broadcast(of_arrow, position.x.shape), of_gremlins[first]])

    def seconds(of_gremlins: Vec) -> Vec:
        return concatenate([of_gremlins, of_gremlins[second]])

    def halves(of_arrow: Array | float, of_gremlin: float) -> Array:
        return _column([of_arrow] * count + [of_gremlin] * len(first), q.x[None])

    half_x, half_y, half_z = map(halves, arrow.half, SMALL_HALF)
    a = Box(
        center=firsts(arrow.center, position),
        axes=Axes(
            firsts(arrow.axes.x, axes.x),
            firsts(arrow.axes.y, axes.y),
            firsts(arrow.axes.z, axes.z),
        ),
        half=(half_x, half_y, half_z),
    )
    b_center = seconds(position)
    b_axes = Axes(seconds(axes.x), seconds(axes.y), seconds(axes.z))

    def second_box(pair: tuple[Box, Vec, Axes]) -> Box:
        _, center, axes = pair
        return Box(center, axes, SMALL_HALF)

    def touch(pair: tuple[Box, Vec, Axes]) -> Points:
        return collide.keep(box_box(pair[0], second_box(pair)), PAIR_SLOTS)

    def close(pair: tuple[Box, Vec, Axes]) -> Array:
        return collide.may_touch(pair[0], second_box(pair))

    flat = map_slots(touch, (a, b_center, b_axes), close, axis=1)
    at_arrow = _of_bodies(flat, slice(None, count))
    between = _of_bodies(flat, slice(count, None))
    return [round_, at_arrow], between


def _of_bodies(points: Points, which: slice) -> Points:
    """Of contacts [C, B, N] those of some bodies, or pairs."""
    return Points(
        found=points.found[:, which],
        distance=points.distance[:, which],
        point=points.point[:, which],
        normal=points.normal[:, which],
    )


def pair_contacts(points: Points, bodies: Bodies, kind: Kind) -> tuple[Contacts, Array]:
    """Bodies against each other, and whether any two touch []."""
    _, second = pairs.indices(bodies.position.x.shape[0])
    weight = 2 * kind.inverse_weight
    found = contact.contacts(points, bodies.position[second], weight, contact.TWIST, contact.ROLL)
    return found, jnp.any(contact.overlap(points))


def spring_weld(bodies: Bodies, target: Vec, yaw: Array) -> Weld:
    """What pulls each gremlin to its target [B, N] and upright at its yaw."""
    w, x, y, z = bodies.quaternion
    c = jnp.cos(yaw / 2)
    s = jnp.sin(yaw / 2)
    # conj(q) (x) v (x) target, imaginary part, for v = 1 and for the three unit vectors
    error = Vec(-x * c - y * s, -y * c + x * s, -z * c + w * s)
    columns = Axes(
        Vec(w * c - z * s, -z * c - w * s, y * c + x * s) * 0.5,
        Vec(z * c + w * s, w * c - z * s, -x * c + y * s) * 0.5,
        Vec(-y * c + x * s, x * c + y * s, w * c + z * s) * 0.5,
    )
    gap = bodies.position - target
    d = contact.impedance(jnp.sqrt(gap.dot(gap) + error.dot(error)))
    weight = d / ((1 - d) * SMALL_BOX.inverse_weight)
    turn = [*columns]
    zero = jnp.zeros_like(weight)
    # The lower triangle of the stiffness: positions first, then rotations.
    rows = []
    for i in range(3):
        rows.append([zero] * i + [weight])
    for i in range(3):
        rows.append([zero] * 3 + [weight * turn[i].dot(turn[j]) for j in range(i + 1)])
    pull = WELD_SPRING * d * weight
    return Weld(rows, Motion(gap * pull, columns.to_body(error) * -pull))


def spheres_with_boxes(spheres: Array, radius: float, bodies: Bodies, axes: Axes) -> Points:
    """Fixed spheres [N, n, 2] (x, y, at the robot's height) against small boxes [B, N]: contacts
    [n, B, N].
    """
    x = spheres[..., 0].T[:, None]
    y = spheres[..., 1].T[:, None]
    center = Vec(x, y, jnp.full_like(x, body.HEIGHT))

    def of_body(body: tuple[Vec, Vec, Axes]) -> Points:
        center, position, axes = body
        box = Box(position, axes, SMALL_HALF)

        def touch(sphere: Vec) -> Points:
            return collide.sphere_box(sphere, radius, box)

        def close(sphere: Vec) -> Array:
            return collide.may_touch(Box(sphere, axes, (radius, radius, radius)), box)

        return map_slots(touch, center, close, axis=1)

    return collide.fold(per_body(of_body, (center, bodies.position, axes)))


def with_pillar(q: Planar, parts: Box, pillar: Pillar) -> tuple[Contacts, Array, Points]:
    """The pillar against the robot [2, N], whether they touch [N], and its contact points with a
    body's parts.

    Those are [PILLAR_SLOTS, B, N].
    """
    sphere, arrow = robot_shapes(q)
    robot, others = pillar_contacts(pillar, sphere, body.RADIUS, arrow, parts, PILLAR_SLOTS)
    twist = _column([contact.SPHERE_TWIST, contact.TWIST], robot.distance)
    roll = _column([contact.SPHERE_ROLL, contact.ROLL], robot.distance)
    found = contact.contacts(robot, sphere, body.INVERSE_WEIGHT, twist, roll)
    return found, jnp.any(contact.overlap(robot), axis=0), others


def robot_with_static(
    q: Planar, x: Array, y: Array, radius: float, share: float
) -> tuple[Contacts, Array]:
    """Sphere and arrow against upright round obstacles [n, N]: contacts [2 n, N], and which
    obstacles touch [n, N].

    share: how far into the overlap the contact point lies, from the obstacle's surface.
    """
    sphere = _disc(q, x, y, radius, share, False)
    arrow = _disc(q, x, y, radius, share, True)
    n = x.shape[0]
    twist = _column([contact.SPHERE_TWIST] * n + [contact.TWIST] * n, x)
    roll = _column([contact.SPHERE_ROLL] * n + [contact.ROLL] * n, x)
    origin = Vec(q.x, q.y, jnp.full_like(q.x, body.HEIGHT))
    points = collide.join([sphere, arrow])
    found = contact.contacts(points, origin, body.INVERSE_WEIGHT, twist, roll)
    return found, sphere.found | arrow.found


def _disc(q: Planar, x: Array, y: Array, radius: float, share: float, arrow: bool) -> Points:
    """The robot's sphere or arrow against round obstacles; the normal points to the robot."""
    c = jnp.cos(q.yaw)
    s = jnp.sin(q.yaw)
    px = q.x
    py = q.y
    thickness = body.RADIUS
    if arrow:
        dx = x - q.x
        dy = y - q.y
        half = body.ARROW_HALF
        offset = body.ARROW_OFFSET
        ahead = jnp.clip(c * dx + s * dy, offset - half, offset + half)
        left = jnp.clip(c * dy - s * dx, -half, half)
        px = q.x + c * ahead - s * left
        py = q.y + s * ahead + c * left
        thickness = 0.0
    gap = jnp.maximum(jnp.hypot(px - x, py - y), 1e-9)
    zero = jnp.zeros_like(gap)
    normal = Vec((px - x) / gap, (py - y) / gap, zero)
    distance = gap - radius - thickness
    reach = radius + share * distance
    return Points(
        found=distance <= 0,
        distance=distance,
        point=Vec(x + normal.x * reach, y + normal.y * reach, zero + body.HEIGHT),
        normal=normal,
    )


def _column(values: Sequence[Any], like: Array) -> Array:
    """[C] numbers, shaped to broadcast against [C, ...]."""
    return jnp.asarray(values, like.dtype).reshape(-1, *(1,) * (like.ndim - 1))
