"""Button1's gremlins: how they fly when left alone, and which of them may touch something.

A gremlin hangs on a spring, whose other end circles around the gremlin's anchor. Left alone, all
four fly level and in parallel.
"""

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body, world
from saddle.tasks.point.physics import contact, scenes
from saddle.tasks.point.physics.vec import Vec

COUNT = 4
BUTTON_RADIUS = 0.1
ORBIT = 0.35  # m, radius of the gremlins' path
RISE = 0.1  # m, of the gremlins' target above their start
FLAT_REACH = 0.1415  # m, of a level gremlin in the plane


def target(x: Array, y: Array, time: Array) -> Vec:
    """Where a gremlin anchored at (x, y) is pulled to."""
    height = jnp.full_like(x, body.HEIGHT + RISE)
    return Vec(x + ORBIT * jnp.sin(time), y + ORBIT * jnp.cos(time), height)


def glide(gremlins: Array, anchors: Array, time: Array) -> Array:
    """Ten substeps of gremlins [4, 13] that touch nothing: pulled to their targets, level."""

    def substep(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        position, velocity = carry
        pulled_to = target(anchors[:, 0], anchors[:, 1], time + i * body.H)
        gap = position - jnp.stack([*pulled_to], axis=1)
        share = contact.impedance(jnp.linalg.norm(gap, axis=1, keepdims=True))
        pull = -contact.RESISTANCE * velocity - scenes.WELD_SPRING * share * gap
        gravity = jnp.array([0, 0, -body.GRAVITY], position.dtype)
        velocity = velocity + body.H * (share * pull + (1 - share) * gravity)
        return position + body.H * velocity, velocity

    start = (gremlins[:, :3], gremlins[:, 7:10])
    position, velocity = jax.lax.fori_loop(0, body.SUBSTEPS, substep, start)
    return jnp.concatenate([position, gremlins[:, 3:7], velocity, gremlins[:, 10:]], axis=1)


def are_busy(
    agent: Array, buttons: Array, anchors: Array, gremlins: Array, flown: Array, far: Array
) -> Array:
    """[4] Whether a gremlin may touch something, or is not flying level as it does when left alone.

    flown [4, 13]: where they get when left alone; far [4]: how far from its place each gets in the
    plane then, m.
    """
    twisted = _twist(gremlins, anchors) > world.QUIET
    leaning = _largest(gremlins[:, 4:6])
    spinning = _largest(gremlins[:, 10:])
    turned = jnp.maximum(leaning, spinning) > world.QUIET
    sinking = body.DT * jnp.minimum(gremlins[:, 9], 0)
    lowest = jnp.minimum(gremlins[:, 2] + sinking, flown[:, 2])
    at_floor = lowest < scenes.SMALL_HALF[2]
    to_button = world.gap(gremlins[:, None], buttons)
    at_button = jnp.any(to_button < FLAT_REACH + BUTTON_RADIUS + far[:, None], axis=1)
    close = apart(gremlins) < 2 * FLAT_REACH + _drift(gremlins, flown)
    at_other = jnp.any(close, axis=1)
    at_robot = world.near(agent, gremlins, world.SMALL_WIDTH, far)
    return turned | twisted | at_floor | (at_button | at_other | at_robot)


def speed(bodies: Array) -> Array:
    """[4] m/s in the plane."""
    return jnp.hypot(bodies[:, 7], bodies[:, 8])


def strayed(before: Array, after: Array) -> Array:
    """[4] How far from its place each gremlin was at any time of the step, m: at its end, or a
    little farther.
    """
    fastest = jnp.maximum(speed(before), speed(after))
    return world.gap(after, before) + body.DT * fastest


def apart(gremlins: Array) -> Array:
    """[4, 4] distances in the plane between gremlins; none is near itself."""
    itself = jnp.eye(COUNT, dtype=bool)
    return world.gap(gremlins[:, None], gremlins[None]) + jnp.where(itself, 10, 0)


def _twist(gremlins: Array, anchors: Array) -> Array:
    """[4] By how much an upright gremlin's yaw differs from its anchor's: the sine of half of it,
    without its sign.
    """
    half_yaw = 0.5 * anchors[:, 2]
    along = gremlins[:, 3] * jnp.sin(half_yaw)
    across = gremlins[:, 6] * jnp.cos(half_yaw)
    return jnp.abs(along - across)


def _largest(columns: Array) -> Array:
    """[4] The largest number of each row, without its sign."""
    return jnp.max(jnp.abs(columns), axis=1)


def _drift(gremlins: Array, flown: Array) -> Array:
    """[4, 4] How far two gremlins that are left alone move against each other in the plane, m:
    mostly in parallel.
    """
    velocity = gremlins[:, 7:9]
    way = flown[:, :2] - gremlins[:, :2]
    by_speed = body.DT * world.gap(velocity[:, None], velocity[None])
    by_way = world.gap(way[:, None], way[None])
    return by_speed + by_way + world.SLACK
