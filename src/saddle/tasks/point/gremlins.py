"""One env step of Button1: the robot, buttons that do not move, and four gremlins on springs.

Left alone, gremlins fly level and in parallel, where to is known. One that may touch something is
*busy*, and goes through the contact solver with the buttons, the floor and, if that is near, the
robot. Several are moved one by one, as if the others were not there; where afterwards two of them
may have met, all are moved again, together.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body, world
from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import collide, contact, scenes
from saddle.tasks.point.physics.boxes import Points
from saddle.tasks.point.physics.contact import Contacts
from saddle.tasks.point.physics.once import per_body
from saddle.tasks.point.physics.problem import Groups
from saddle.tasks.point.physics.rigid import Bodies
from saddle.tasks.point.physics.substep import Scene, Touching
from saddle.tasks.point.physics.vec import Axes, Vec
from saddle.tasks.rare import patch_rare

BUTTON_RADIUS = 0.1
BUTTON_POINT = 0.5  # share of the overlap at which the contact point with a sphere lies
ORBIT = 0.35  # m, radius of the gremlins' path
FLAT_REACH = 0.1415  # m, of a level gremlin in the plane
REACH = 0.1733  # m, of a gremlin however it is turned
KICK = 0.25  # m, more than a robot throws a gremlin (8 mg) within a step: 10 m/s were seen
AWAY = 100.0  # m, where no gremlin touches a robot
GREMLIN_RISE = 0.1  # m, of the gremlins' target above their start

Step = tuple[Array, Array, Array, Array, Array]  # what button_step returns


def button_step(
    agent: Array, buttons: Array, anchors: Array, gremlins: Array, time: Array, action: Array
) -> Step:
    """One step of Button1.

    buttons [4, 2]; anchors [4, 3] (x, y, yaw); gremlins [4, 13]; time [] s, sets the phase of the
    gremlins' path. Returns agent, acceleration [3], gremlins, and what is in contact at the end:
    buttons [4], any gremlin [].
    """
    flown = _glide(gremlins, anchors, time)
    far = body.DT * _speed(gremlins) + world.gap(flown, gremlins)
    busy = _busy(agent, buttons, anchors, gremlins, flown, far)
    reached = body.REACH + world.travel(agent[3:5])
    to_robot = world.gap(agent, gremlins) - reached
    meets = _nearest(busy, to_robot - REACH - KICK - far)
    at_button = jnp.any(world.gap(agent, buttons) < reached + BUTTON_RADIUS) & ~jnp.any(meets)
    free = (*world.free(agent, action), jnp.zeros(4, bool))
    static = patch_rare(_button_contacts, at_button, (agent, buttons, action), free, kernel=True)
    x = (agent, buttons, anchors, gremlins, time, action)
    moved = _one_by_one(x, busy, meets, flown, static)
    reach = jnp.where(busy, REACH + _strayed(gremlins, moved[2]), FLAT_REACH + far)
    tangled = _tangled(to_robot, gremlins, busy, meets, reach)
    return patch_rare(_gremlin_contacts, tangled, x, moved, kernel=True)


def _one_by_one(
    x: tuple[Array, ...], busy: Array, meets: Array, flown: Array, static: tuple[Array, ...]
) -> Step:
    """Each busy gremlin as if it were the only one, with the robot if it `meets` that.

    x are the arguments of button_step; static is what became of the robot if none meets it.
    """
    agent, buttons, anchors, gremlins, time, action = x

    def one(
        busy: Array, meets: Array, anchor: Array, gremlin: Array, flown: Array
    ) -> tuple[Array, ...]:
        here = agent.at[0].add(jnp.where(meets, 0, AWAY))
        default = (*static[:2], flown, static[2], jnp.zeros((), bool))
        x = (here, buttons, anchor, gremlin, time, action)
        return patch_rare(_gremlin_contact, busy, x, default, kernel=True)

    agents, accelerations, after, presses, touches = jax.vmap(one)(
        busy, meets, anchors, gremlins, flown
    )

    def of_met(each: Array, other: Array) -> Array:
        """The robot as the gremlin that it meets has it, or as it is without any."""
        met = jnp.any(meets)
        return jnp.where(met, jnp.sum(jnp.where(meets[:, None], each, 0), axis=0), other)

    robot = of_met(agents, static[0])
    acceleration = of_met(accelerations, static[1])
    pressed = of_met(presses, static[2])
    return robot, acceleration, after, pressed.astype(bool), jnp.any(touches)


def _speed(bodies: Array) -> Array:
    """[4] m/s in the plane."""
    return jnp.hypot(bodies[:, 7], bodies[:, 8])


def _busy(
    agent: Array, buttons: Array, anchors: Array, gremlins: Array, flown: Array, far: Array
) -> Array:
    """[4] Whether a gremlin may touch something, or is not flying level as it does when left alone.

    flown [4, 13]: where they get when left alone; far [4]: how far from its place each gets in the
    plane then, m.
    """
    half = 0.5 * anchors[:, 2]
    tilt = jnp.abs(gremlins[:, 3] * jnp.sin(half) - gremlins[:, 6] * jnp.cos(half))
    leaning = _largest(gremlins[:, 4:6])
    spinning = _largest(gremlins[:, 10:])
    turned = jnp.maximum(leaning, spinning) > world.QUIET
    lowest = jnp.minimum(gremlins[:, 2] + body.DT * jnp.minimum(gremlins[:, 9], 0), flown[:, 2])
    at_button = world.gap(gremlins[:, None], buttons) < FLAT_REACH + BUTTON_RADIUS + far[:, None]
    at_other = _apart(gremlins) < 2 * FLAT_REACH + _drift(gremlins, flown)
    met = (
        jnp.any(at_button, axis=1)
        | jnp.any(at_other, axis=1)
        | world.near(agent, gremlins, world.SMALL_WIDTH, far)
    )
    return turned | (tilt > world.QUIET) | (lowest < scenes.SMALL_HALF[2]) | met


def _largest(columns: Array) -> Array:
    """[4] The largest number of each row, without its sign."""
    return jnp.max(jnp.abs(columns), axis=1)


def _drift(gremlins: Array, flown: Array) -> Array:
    """[4, 4] How far two gremlins that are left alone move against each other in the plane, m:
    mostly in parallel.
    """
    ahead = gremlins[:, 7:9]
    way = flown[:, :2] - gremlins[:, :2]
    by_speed = body.DT * world.gap(ahead[:, None], ahead[None])
    by_way = world.gap(way[:, None], way[None])
    return by_speed + by_way + world.SLACK


def _nearest(busy: Array, gap: Array) -> Array:
    """[4] The busy gremlin that is nearest to the robot, if the gap to it is below 0."""
    gap = jnp.where(busy, gap, jnp.inf)
    return (jnp.arange(4) == jnp.argmin(gap)) & (gap < 0)


def _strayed(before: Array, after: Array) -> Array:
    """[4] How far from its place each gremlin was at any time of the step, m: at its end, or a
    little farther.
    """
    return world.gap(after, before) + body.DT * jnp.maximum(_speed(before), _speed(after))


def _tangled(to_robot: Array, gremlins: Array, busy: Array, meets: Array, reach: Array) -> Array:
    """[] Whether a busy gremlin, each of which was moved on its own, may have met another, or the
    robot if not `meets`.

    to_robot [4]: m from the robot, wherever it was in the step; reach [4]: m from its place that a
    gremlin was.
    """
    at_other = busy[:, None] & (_apart(gremlins) < reach[:, None] + reach[None])
    return jnp.any(at_other) | jnp.any(busy & ~meets & (to_robot < reach))


def _apart(gremlins: Array) -> Array:
    """[4, 4] distances in the plane between gremlins; none is near itself."""
    return world.gap(gremlins[:, None], gremlins[None]) + jnp.where(jnp.eye(4, dtype=bool), 10, 0)


def _glide(gremlins: Array, anchors: Array, time: Array) -> Array:
    """Ten substeps of gremlins [4, 13] that touch nothing: pulled to their targets, level."""

    def substep(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        x, v = carry
        gap = x - jnp.stack([*_target(anchors[:, 0], anchors[:, 1], time + i * body.H)], axis=1)
        d = contact.impedance(jnp.linalg.norm(gap, axis=1, keepdims=True))
        pull = -contact.RESISTANCE * v - scenes.WELD_SPRING * d * gap
        gravity = jnp.array([0, 0, -body.GRAVITY], x.dtype)
        v = v + body.H * (d * pull + (1 - d) * gravity)
        return x + body.H * v, v

    x, v = jax.lax.fori_loop(0, body.SUBSTEPS, substep, (gremlins[:, :3], gremlins[:, 7:10]))
    return jnp.concatenate([x, gremlins[:, 3:7], v, gremlins[:, 10:]], axis=1)


def _target(x: Array, y: Array, time: Array) -> Vec:
    """Where a gremlin anchored at (x, y) is pulled to."""
    height = jnp.full_like(x, body.HEIGHT + GREMLIN_RISE)
    return Vec(x + ORBIT * jnp.sin(time), y + ORBIT * jnp.cos(time), height)


def _at_buttons(q: Planar, buttons: Array) -> tuple[Contacts, Array]:
    """Contacts of the robot with buttons [K, 4, 2], and which it touches [4, K]."""
    return scenes.robot_with_static(
        q, buttons[..., 0].T, buttons[..., 1].T, BUTTON_RADIUS, BUTTON_POINT
    )


def _contacts(
    q: Planar, bodies: Bodies, axes: Axes, buttons: Array, robot: list[Points], floor: Points
) -> Touching:
    """Everything but gremlins with each other, and their springs."""
    kind = scenes.SMALL_BOX
    (static, pressed), (at_robot, touched) = (
        _at_buttons(q, buttons),
        scenes.robot_contacts(robot, bodies, kind),
    )
    on_buttons = scenes.spheres_with_boxes(buttons, BUTTON_RADIUS, bodies, axes)
    fixed = scenes.fixed_contacts(on_buttons, bodies, kind)
    floor_ = scenes.floor_contacts(floor, bodies, kind)
    held = jnp.any(pressed, axis=0) | jnp.any(touched, axis=0)
    return Touching(Groups(static, at_robot, fixed, floor_), held, touched)


def _button_contacts(x: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Robot and buttons, no gremlin in play: the same solver with no bodies."""
    agent, buttons, action = x

    def detect(q: Planar, *_: Any) -> Touching:
        static, pressed = _at_buttons(q, buttons)
        return Touching(Groups(static), jnp.any(pressed, axis=0))

    none = jnp.zeros((agent.shape[0], 0, 13), agent.dtype)
    end = world.run(agent, none, action, Scene(scenes.SMALL_BOX, detect))
    agent, acceleration, _ = world.results(end)
    return agent, acceleration, _at_buttons(end.agent.q, buttons)[1].T


def _gremlin_contact(x: tuple[Array, ...]) -> tuple[Array, Array, Array, Array, Array]:
    """Robot, floor, buttons and one gremlin [K, 13], out of reach of the others."""
    agent, buttons, anchor, gremlin, time, action = x
    kind = scenes.SMALL_BOX

    def detect(q: Planar, bodies: Bodies, axes: Axes, moment: Array) -> Touching:
        box = scenes.small_box(bodies.position, axes)
        robot = scenes.robot_points(q, box, 1, scenes.PAIR_SLOTS)
        touching = _contacts(q, bodies, axes, buttons, robot, collide.fold(collide.box_floor(box)))
        target = _target(anchor[None, :, 0], anchor[None, :, 1], moment)
        return touching._replace(weld=scenes.spring_weld(bodies, target, anchor[None, :, 2]))

    end = world.run(agent, gremlin[:, None], action, Scene(kind, detect), time)
    agent, acceleration, bodies = world.results(end)
    return agent, acceleration, bodies[:, 0], _at_buttons(end.agent.q, buttons)[1].T, end.touched[0]


def _gremlin_contacts(x: tuple[Array, ...]) -> tuple[Array, Array, Array, Array, Array]:
    """Everything in Button1 that can touch anything."""
    agent, buttons, anchors, gremlins, time, action = x
    kind = scenes.SMALL_BOX

    def detect(q: Planar, bodies: Bodies, axes: Axes, moment: Array) -> Touching:
        robot, others = scenes.gremlin_points(q, bodies, axes)
        floor = collide.fold(
            per_body(lambda b: collide.box_floor(scenes.small_box(*b)), (bodies.position, axes))
        )
        touching = _contacts(q, bodies, axes, buttons, robot, floor)
        between, paired = scenes.pair_contacts(others, bodies, kind)
        target = _target(anchors[..., 0].T, anchors[..., 1].T, moment)
        weld = scenes.spring_weld(bodies, target, anchors[..., 2].T)
        return touching._replace(
            contacts=touching.contacts._replace(pairs=between), paired=paired, weld=weld
        )

    end = world.run(agent, gremlins, action, Scene(kind, detect), time)
    return *world.results(end), _at_buttons(end.agent.q, buttons)[1].T, jnp.any(end.touched, axis=0)
