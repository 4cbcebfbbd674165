"""One env step of Button1: the robot, buttons that do not move, and four gremlins on springs.

Left alone, gremlins fly where is known beforehand. One that may touch something is *busy*, and goes
through the contact solver with the buttons, the floor and, if that is near, the robot. Several are
moved one by one, as if the others were not there; where afterwards two of them may have met, all
are moved again, together.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body, world
from saddle.tasks.point.body import Planar
from saddle.tasks.point.gremlins import (
    BUTTON_RADIUS,
    COUNT,
    FLAT_REACH,
    apart,
    are_busy,
    glide,
    speed,
    strayed,
    target,
)
from saddle.tasks.point.physics import collide, scenes
from saddle.tasks.point.physics.boxes import Points
from saddle.tasks.point.physics.contact import Contacts
from saddle.tasks.point.physics.once import per_body
from saddle.tasks.point.physics.problem import Groups
from saddle.tasks.point.physics.rigid import Bodies
from saddle.tasks.point.physics.substep import Scene, Touching
from saddle.tasks.point.physics.vec import Axes, Vec
from saddle.tasks.rare import patch_rare

BUTTON_POINT = 0.5  # share of the overlap at which the contact point with a sphere lies
REACH = 0.1733  # m, of a gremlin however it is turned
KICK = 0.25  # m, more than a robot throws a gremlin (8 mg) within a step: 10 m/s were seen
AWAY = 100.0  # m, where no gremlin touches a robot


class Start(NamedTuple):
    """What a step begins from: one world, or K of them along a leading axis. With one gremlin
    alone, its anchor and its state have no axis of four.
    """

    agent: Array  # [6]
    buttons: Array  # [4, 2]
    anchors: Array  # [4, 3]: x, y, yaw
    gremlins: Array  # [4, 13]
    time: Array  # [] s, sets the phase of the gremlins' path
    action: Array  # [2]


class Moved(NamedTuple):
    """What a step ends with, and what is in contact then."""

    agent: Array  # [6]
    acceleration: Array  # [3]
    gremlins: Array  # [4, 13]
    pressed: Array  # [4] bool, buttons in contact
    touched: Array  # [] bool, any gremlin in contact


def button_step(
    agent: Array, buttons: Array, anchors: Array, gremlins: Array, time: Array, action: Array
) -> Moved:
    """One step of Button1; the arguments are those of Start, in its order."""
    start = Start(agent, buttons, anchors, gremlins, time, action)
    flown = glide(gremlins, anchors, time)
    far = body.DT * speed(gremlins) + world.gap(flown, gremlins)
    busy = are_busy(agent, buttons, anchors, gremlins, flown, far)
    reached = body.REACH + world.travel(agent[3:5])
    to_robot = world.gap(agent, gremlins) - reached
    meets = _nearest(busy, to_robot - REACH - KICK - far)
    to_buttons = world.gap(agent, buttons)
    at_button = jnp.any(to_buttons < reached + BUTTON_RADIUS) & ~jnp.any(meets)
    free = (*world.free(agent, action), jnp.zeros(4, bool))
    without = patch_rare(button_contacts, at_button, (agent, buttons, action), free, kernel=True)
    moved = _one_by_one(start, busy, meets, flown, without)
    reach = jnp.where(busy, REACH + strayed(gremlins, moved.gremlins), FLAT_REACH + far)
    tangled = _tangled(to_robot, gremlins, busy, meets, reach)
    return patch_rare(gremlin_contacts, tangled, start, moved, kernel=True)


def _nearest(busy: Array, gap: Array) -> Array:
    """[4] The busy gremlin that is nearest to the robot, if the gap to it is below 0."""
    gap = jnp.where(busy, gap, jnp.inf)
    return (jnp.arange(COUNT) == jnp.argmin(gap)) & (gap < 0)


def _one_by_one(
    start: Start, busy: Array, meets: Array, flown: Array, without: tuple[Array, Array, Array]
) -> Moved:
    """Each busy gremlin as if it were the only one, with the robot if it `meets` that.

    flown [4, 13]: where gremlins get that are not busy; without: robot, acceleration and pressed
    buttons if no gremlin meets the robot.
    """
    agent, acceleration, pressed = without

    def move(busy: Array, meets: Array, anchor: Array, gremlin: Array, flown: Array) -> Moved:
        here = start.agent.at[0].add(jnp.where(meets, 0, AWAY))
        alone = start._replace(agent=here, anchors=anchor, gremlins=gremlin)
        default = Moved(agent, acceleration, flown, pressed, jnp.zeros((), bool))
        return patch_rare(gremlin_contact, busy, alone, default, kernel=True)

    each = jax.vmap(move)(busy, meets, start.anchors, start.gremlins, flown)

    def of_met(each: Array, other: Array) -> Array:
        """The robot as the gremlin that it meets has it, or as it is without any."""
        met = jnp.any(meets)
        of_it = jnp.sum(jnp.where(meets[:, None], each, 0), axis=0)
        return jnp.where(met, of_it, other)

    return Moved(
        agent=of_met(each.agent, agent),
        acceleration=of_met(each.acceleration, acceleration),
        gremlins=each.gremlins,
        pressed=of_met(each.pressed, pressed).astype(bool),
        touched=jnp.any(each.touched),
    )


def _tangled(to_robot: Array, gremlins: Array, busy: Array, meets: Array, reach: Array) -> Array:
    """[] Whether a busy gremlin, each of which was moved on its own, may have met another, or the
    robot if not `meets`.

    to_robot [4]: m from the robot, wherever it was in the step; reach [4]: m from its place that a
    gremlin was.
    """
    at_other = busy[:, None] & (apart(gremlins) < reach[:, None] + reach[None])
    at_robot = busy & ~meets & (to_robot < reach)
    return jnp.any(at_other) | jnp.any(at_robot)


def button_contacts(x: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Robot and buttons, no gremlin in play: the same solver with no bodies."""
    agent, buttons, action = x

    def detect(q: Planar, *_: Any) -> Touching:
        static, pressed = _at_buttons(q, buttons)
        return Touching(Groups(static), jnp.any(pressed, axis=0))

    none = jnp.zeros((agent.shape[0], 0, 13), agent.dtype)
    end = world.run(agent, none, action, Scene(scenes.SMALL_BOX, detect))
    agent, acceleration, _ = world.results(end)
    return agent, acceleration, _pressed(end, buttons)


def gremlin_contact(start: Start) -> Moved:
    """Robot, floor, buttons and one gremlin [K, 13], out of reach of the others."""
    agent, buttons, anchor, gremlin, time, action = start

    def detect(q: Planar, bodies: Bodies, axes: Axes, moment: Array) -> Touching:
        box = scenes.small_box(bodies.position, axes)
        robot = scenes.robot_points(q, box, 1, scenes.PAIR_SLOTS)
        floor = collide.fold(collide.box_floor(box))
        touching = _contacts(q, bodies, axes, buttons, robot, floor)
        pulled_to = target(anchor[None, :, 0], anchor[None, :, 1], moment)
        weld = scenes.spring_weld(bodies, pulled_to, anchor[None, :, 2])
        return touching._replace(weld=weld)

    end = world.run(agent, gremlin[:, None], action, Scene(scenes.SMALL_BOX, detect), time)
    agent, acceleration, bodies = world.results(end)
    return Moved(agent, acceleration, bodies[:, 0], _pressed(end, buttons), end.touched[0])


def gremlin_contacts(start: Start) -> Moved:
    """Everything in Button1 that can touch anything."""
    agent, buttons, anchors, gremlins, time, action = start

    def floor_points(body: tuple[Vec, Axes]) -> Points:
        return collide.box_floor(scenes.small_box(*body))

    def detect(q: Planar, bodies: Bodies, axes: Axes, moment: Array) -> Touching:
        robot, others = scenes.gremlin_points(q, bodies, axes)
        floor = collide.fold(per_body(floor_points, (bodies.position, axes)))
        touching = _contacts(q, bodies, axes, buttons, robot, floor)
        between, paired = scenes.pair_contacts(others, bodies, scenes.SMALL_BOX)
        pulled_to = target(anchors[..., 0].T, anchors[..., 1].T, moment)
        weld = scenes.spring_weld(bodies, pulled_to, anchors[..., 2].T)
        contacts = touching.contacts._replace(pairs=between)
        return touching._replace(contacts=contacts, paired=paired, weld=weld)

    end = world.run(agent, gremlins, action, Scene(scenes.SMALL_BOX, detect), time)
    agent, acceleration, gremlins = world.results(end)
    pressed = _pressed(end, buttons)
    touched = jnp.any(end.touched, axis=0)
    return Moved(agent, acceleration, gremlins, pressed, touched)


def _contacts(
    q: Planar, bodies: Bodies, axes: Axes, buttons: Array, robot: list[Points], floor: Points
) -> Touching:
    """Everything but gremlins with each other, and their springs."""
    kind = scenes.SMALL_BOX
    at_buttons, pressed = _at_buttons(q, buttons)
    at_robot, touched = scenes.robot_contacts(robot, bodies, kind)
    on_buttons = scenes.spheres_with_boxes(buttons, BUTTON_RADIUS, bodies, axes)
    contacts = Groups(
        static=at_buttons,
        robot=at_robot,
        fixed=scenes.fixed_contacts(on_buttons, bodies, kind),
        floor=scenes.floor_contacts(floor, bodies, kind),
    )
    held = jnp.any(pressed, axis=0) | jnp.any(touched, axis=0)
    return Touching(contacts, held, touched)


def _at_buttons(q: Planar, buttons: Array) -> tuple[Contacts, Array]:
    """Contacts of the robot with buttons [K, 4, 2], and which it touches [4, K]."""
    x = buttons[..., 0].T
    y = buttons[..., 1].T
    return scenes.robot_with_static(q, x, y, BUTTON_RADIUS, BUTTON_POINT)


def _pressed(end: world.World, buttons: Array) -> Array:
    """[K, 4] bool: the buttons [K, 4, 2] that the robot touches in the end."""
    return _at_buttons(end.agent.q, buttons)[1].T
