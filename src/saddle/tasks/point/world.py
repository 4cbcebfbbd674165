"""One env step of each point world: the robot, and the free bodies it can touch.

Most steps touch nothing, and then the robot moves freely and the bodies rest or glide on known paths. Only worlds in
which something may touch within the step go through the contact solver (rare.patch_rare).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.point import body
from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import collide, contact, rigid, scenes
from saddle.tasks.point.physics.contact import Contacts
from saddle.tasks.point.physics.once import per_body
from saddle.tasks.point.physics.portal import Pillar
from saddle.tasks.point.physics.rigid import Bodies
from saddle.tasks.point.physics.substep import Scene, Touching, World, contact_step
from saddle.tasks.point.physics.vec import Axes, Vec
from saddle.tasks.rare import patch_rare

SMALL_WIDTH = 0.1  # m, half-width of a vase or gremlin
BOX_WIDTH = 0.3  # m, half-width of the push box with its posts
TILT = 0.04  # m, by which a tilted body may stick out beyond its outline
BUTTON_RADIUS = 0.1
PILLAR_RADIUS, PILLAR_HALF_HEIGHT = 0.2, 0.5
BUTTON_POINT = 0.5  # share of the overlap at which the contact point with a sphere lies
SLACK = 0.005  # m, more than anything accelerates within a step
QUIET = 1e-5  # m/s and rad/s below which a body at its resting height stays where it is
VASE_HEIGHT = 0.1 - 4.362e-5  # m, of a resting vase's centre
BOX_HEIGHT = 0.2 - 8.74e-6
HEIGHT_SLACK = 2e-7  # m
ORBIT = 0.35  # m, radius of the gremlins' path
FLAT_REACH = 0.1415  # m, of a level gremlin in the plane
REACH = 0.1733  # m, of a gremlin however it is turned
KICK = 0.25  # m, more than a robot throws a gremlin (8 mg) within a step: 10 m/s were seen
AWAY = 100.0  # m, where no gremlin touches a robot
GREMLIN_RISE = 0.1  # m, of the gremlins' target above their start


def goal_step(agent: Array, vase: Array, action: Array) -> tuple[Array, Array, Array]:
    """agent [6], vase [13], action [2] -> agent, acceleration [3], vase."""
    moved, acceleration = _free(agent, action)
    touch = _near(agent, vase, SMALL_WIDTH, _travel(vase[7:10])) | _awake(vase, VASE_HEIGHT)
    return patch_rare(_goal_contacts, touch, (agent, vase, action), (moved, acceleration, vase), kernel=True)


def push_step(agent: Array, pillar: Array, box: Array, action: Array) -> tuple[Array, Array, Array]:
    """agent [6], pillar [2], box [13], action [2] -> agent, acceleration [3], box."""
    moved, acceleration = _free(agent, action)
    at_pillar = _gap(agent[:2], pillar) < body.REACH + PILLAR_RADIUS + _travel(agent[3:5])
    touch = _near(agent, box, BOX_WIDTH, _travel(box[7:10])) | _awake(box, BOX_HEIGHT) | at_pillar
    return patch_rare(_push_contacts, touch, (agent, pillar, box, action), (moved, acceleration, box), kernel=True)


def button_step(
    agent: Array, buttons: Array, anchors: Array, gremlins: Array, time: Array, action: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """One step of Button1.

    buttons [4, 2]; anchors [4, 3] (x, y, yaw); gremlins [4, 13]; time [] s, sets the phase of the gremlins' path.
    Returns agent, acceleration [3], gremlins, and what is in contact at the end: buttons [4], any gremlin [].
    """
    moved, acceleration = _free(agent, action)
    flown = _glide(gremlins, anchors, time)
    far = body.DT * _speed(gremlins) + _gap(flown, gremlins)
    busy = _busy(agent, buttons, anchors, gremlins, flown, far)
    meets = _nearest(busy, _gap(agent, gremlins) - far - _travel(agent[3:5]) - body.REACH - REACH - KICK)
    joined = jnp.any(meets)
    at_button = jnp.any(_gap(agent[:2], buttons) < body.REACH + BUTTON_RADIUS + _travel(agent[3:5]))
    free = (moved, acceleration, jnp.zeros(4, bool))
    static = patch_rare(_button_contacts, at_button & ~joined, (agent, buttons, action), free, kernel=True)

    def alone(busy: Array, meets: Array, anchor: Array, gremlin: Array, flown: Array) -> tuple[Array, ...]:
        here = agent.at[0].add(jnp.where(meets, 0, AWAY))
        default = (*static[:2], flown, static[2], jnp.zeros((), bool))
        return patch_rare(_gremlin_contact, busy, (here, buttons, anchor, gremlin, time, action), default, kernel=True)

    agents, accelerations, after, presses, touches = jax.vmap(alone)(busy, meets, anchors, gremlins, flown)
    of_met = lambda each, else_: jnp.where(joined, jnp.sum(jnp.where(meets[:, None], each, 0), axis=0), else_)
    robot = [of_met(each, else_) for each, else_ in zip((agents, accelerations, presses), static, strict=True)]
    default = (robot[0], robot[1], after, robot[2].astype(bool), jnp.any(touches))
    tangled = _tangled(
        agent, gremlins, busy, meets, jnp.where(busy, REACH + _strayed(gremlins, after), FLAT_REACH + far)
    )
    return patch_rare(
        _gremlin_contacts, tangled, (agent, buttons, anchors, gremlins, time, action), default, kernel=True
    )


def _free(agent: Array, action: Array) -> tuple[Array, Array]:
    moved, acceleration = body.free_step(body.unpack(agent), *body.controls(action))
    return body.pack(moved), jnp.stack(acceleration)


def _gap(a: Array, b: Array) -> Array:
    """Distance in the plane; the last axis holds x and y."""
    return jnp.hypot(a[..., 0] - b[..., 0], a[..., 1] - b[..., 1])


def _speed(bodies: Array) -> Array:
    """[4] m/s in the plane."""
    return jnp.hypot(bodies[:, 7], bodies[:, 8])


def _travel(velocity: Array) -> Array:
    """How far something may get in a step, m."""
    return body.DT * jnp.linalg.norm(velocity, axis=-1) + SLACK


def _near(agent: Array, bodies: Array, half: float, far: Array | float) -> Array:
    """Whether the robot may touch a body [13] (or bodies [B, 13]) of that half-width that gets so far in the step."""
    w, z = bodies[..., 3], bodies[..., 6]
    c, s = w * w - z * z, 2 * w * z  # of the yaw, for a body that stands upright
    x, y = agent[0] - bodies[..., 0], agent[1] - bodies[..., 1]
    ahead, left = jnp.abs(c * x + s * y), jnp.abs(c * y - s * x)
    gap = jnp.hypot(jnp.maximum(ahead - half, 0), jnp.maximum(left - half, 0))
    return gap < body.REACH + TILT + _travel(agent[3:5]) + far


def _awake(free: Array, height: float) -> Array:
    """Whether a free body [13] is not at rest on the floor."""
    moving = jnp.max(jnp.abs(free[7:])) > QUIET
    return moving | (jnp.abs(free[2] - height) > HEIGHT_SLACK) | (jnp.max(jnp.abs(free[4:6])) > QUIET)


def _busy(agent: Array, buttons: Array, anchors: Array, gremlins: Array, flown: Array, far: Array) -> Array:
    """[4] Whether a gremlin may touch something, or is not flying level as it does when left alone.

    flown [4, 13]: where they get when left alone; far [4]: how far from its place each gets in the plane then, m.
    """
    half = 0.5 * anchors[:, 2]
    tilt = jnp.abs(gremlins[:, 3] * jnp.sin(half) - gremlins[:, 6] * jnp.cos(half))
    turned = (jnp.max(jnp.abs(gremlins[:, 10:]), axis=1) > QUIET) | (jnp.max(jnp.abs(gremlins[:, 4:6]), axis=1) > QUIET)
    lowest = jnp.minimum(gremlins[:, 2] + body.DT * jnp.minimum(gremlins[:, 9], 0), flown[:, 2])
    at_button = _gap(gremlins[:, None], buttons) < FLAT_REACH + BUTTON_RADIUS + far[:, None]
    at_other = _apart(gremlins) < 2 * FLAT_REACH + _drift(gremlins, flown)
    met = jnp.any(at_button, axis=1) | jnp.any(at_other, axis=1) | _near(agent, gremlins, SMALL_WIDTH, far)
    return turned | (tilt > QUIET) | (lowest < scenes.SMALL_HALF[2]) | met


def _drift(gremlins: Array, flown: Array) -> Array:
    """[4, 4] How far two gremlins that are left alone move against each other in the plane, m: mostly in parallel."""
    ahead, way = gremlins[:, 7:9], flown[:, :2] - gremlins[:, :2]
    return body.DT * _gap(ahead[:, None], ahead[None]) + _gap(way[:, None], way[None]) + SLACK


def _nearest(busy: Array, gap: Array) -> Array:
    """[4] The busy gremlin that is nearest to the robot, if the gap to it is below 0."""
    gap = jnp.where(busy, gap, jnp.inf)
    return (jnp.arange(4) == jnp.argmin(gap)) & (gap < 0)


def _strayed(before: Array, after: Array) -> Array:
    """[4] How far from its place each gremlin was at any time of the step, m: at its end, or a little farther."""
    return _gap(after, before) + body.DT * jnp.maximum(_speed(before), _speed(after))


def _tangled(agent: Array, gremlins: Array, busy: Array, meets: Array, reach: Array) -> Array:
    """[] Whether a busy gremlin, each of which was moved on its own, may have met another, or the robot if not `meets`.

    reach [4]: how far from its place any part of a gremlin was in the step, m.
    """
    at_other = busy[:, None] & (_apart(gremlins) < reach[:, None] + reach[None])
    at_robot = busy & ~meets & (_gap(agent, gremlins) < body.REACH + _travel(agent[3:5]) + reach)
    return jnp.any(at_other) | jnp.any(at_robot)


def _apart(gremlins: Array) -> Array:
    """[4, 4] distances in the plane between gremlins; none is near itself."""
    return _gap(gremlins[:, None], gremlins[None]) + jnp.where(jnp.eye(4, dtype=bool), 10, 0)


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
    height = jnp.full_like(x, scenes.HEIGHT + GREMLIN_RISE)
    return Vec(x + ORBIT * jnp.sin(time), y + ORBIT * jnp.cos(time), height)


def _run(agent: Array, bodies: Array, action: Array, scene: Scene, time: Array | None = None) -> World:
    """One env step of K worlds in contact. agent [K, 6], bodies [K, B, 13], action [K, 2]."""
    time = jnp.zeros(agent.shape[0], agent.dtype) if time is None else time
    return contact_step(body.unpack(agent), rigid.unpack(bodies), scene, time, *body.controls(action))


def _results(world: World) -> tuple[Array, Array, Array]:
    """agent [K, 6], acceleration [K, 3], bodies [K, B, 13]."""
    acceleration = jnp.stack(world.robot_acceleration, axis=-1)
    return body.pack(world.agent), acceleration, rigid.pack(world.bodies)


def _goal_contacts(x: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    agent, vase, action = x
    kind = scenes.SMALL_BOX

    def detect(q: Planar, bodies: Bodies, axes: Axes, _: Array) -> Touching:
        box = scenes.small_box(bodies.position, axes)
        robot = scenes.robot_points(q, box, 1, scenes.PAIR_SLOTS)
        return Touching(bodies=scenes.body_contacts(robot, [collide.fold(collide.box_floor(box))], bodies, kind))

    world = _run(agent, vase[:, None], action, Scene(kind, detect, 1 + scenes.PAIR_SLOTS))
    agent, acceleration, bodies = _results(world)
    return agent, acceleration, bodies[:, 0]


def _push_contacts(x: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array]:
    agent, pillar, box, action = x
    kind = scenes.PUSH_BOX
    at = Pillar(pillar[:, 0], pillar[:, 1], PILLAR_RADIUS, PILLAR_HALF_HEIGHT)

    def detect(q: Planar, bodies: Bodies, axes: Axes, _: Array) -> Touching:
        parts = scenes.push_box(bodies, axes)
        robot = scenes.robot_points(q, parts, scenes.PUSH_ROUND_SLOTS, scenes.PUSH_FLAT_SLOTS)
        static, at_pillar = scenes.with_pillar(q, parts, at)
        fixed = [collide.fold(collide.box_floor(parts)), at_pillar]
        return Touching(static=static, bodies=scenes.body_contacts(robot, fixed, bodies, kind))

    slots = scenes.PUSH_ROUND_SLOTS + scenes.PUSH_FLAT_SLOTS
    agent, acceleration, bodies = _results(_run(agent, box[:, None], action, Scene(kind, detect, slots)))
    return agent, acceleration, bodies[:, 0]


def _at_buttons(q: Planar, buttons: Array) -> tuple[Contacts, Array]:
    """Contacts of the robot with buttons [K, 4, 2], and which it touches [4, K]."""
    return scenes.robot_with_static(q, buttons[..., 0].T, buttons[..., 1].T, BUTTON_RADIUS, BUTTON_POINT)


def _button_contacts(x: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Robot and buttons, no gremlin in play: the same solver with no bodies."""
    agent, buttons, action = x

    def detect(q: Planar, *_: Any) -> Touching:
        return Touching(static=_at_buttons(q, buttons)[0])

    none = jnp.zeros((agent.shape[0], 0, 13), agent.dtype)
    world = _run(agent, none, action, Scene(scenes.SMALL_BOX, detect, 0))
    agent, acceleration, _ = _results(world)
    return agent, acceleration, _at_buttons(world.agent.q, buttons)[1].T


def _gremlin_contact(x: tuple[Array, ...]) -> tuple[Array, Array, Array, Array, Array]:
    """Robot, floor, buttons and one gremlin [K, 13], out of reach of the others."""
    agent, buttons, anchor, gremlin, time, action = x
    kind = scenes.SMALL_BOX

    def detect(q: Planar, bodies: Bodies, axes: Axes, moment: Array) -> Touching:
        box = scenes.small_box(bodies.position, axes)
        robot = scenes.robot_points(q, box, 1, scenes.PAIR_SLOTS)
        floor = collide.fold(collide.box_floor(box))
        on_buttons = scenes.spheres_with_boxes(buttons, BUTTON_RADIUS, bodies, axes)
        target = _target(anchor[None, :, 0], anchor[None, :, 1], moment)
        return Touching(
            static=_at_buttons(q, buttons)[0],
            bodies=scenes.body_contacts(robot, [floor, on_buttons], bodies, kind),
            weld=scenes.spring_weld(bodies, target, anchor[None, :, 2]),
        )

    world = _run(agent, gremlin[:, None], action, Scene(kind, detect, 1 + scenes.PAIR_SLOTS), time)
    agent, acceleration, bodies = _results(world)
    return agent, acceleration, bodies[:, 0], _at_buttons(world.agent.q, buttons)[1].T, world.touched[0]


def _gremlin_contacts(x: tuple[Array, ...]) -> tuple[Array, Array, Array, Array, Array]:
    """Everything in Button1 that can touch anything."""
    agent, buttons, anchors, gremlins, time, action = x
    kind = scenes.SMALL_BOX

    def detect(q: Planar, bodies: Bodies, axes: Axes, moment: Array) -> Touching:
        robot, others = scenes.gremlin_points(q, bodies, axes)
        floor = collide.fold(per_body(lambda b: collide.box_floor(scenes.small_box(*b)), (bodies.position, axes)))
        on_buttons = scenes.spheres_with_boxes(buttons, BUTTON_RADIUS, bodies, axes)
        target = _target(anchors[..., 0].T, anchors[..., 1].T, moment)
        return Touching(
            static=_at_buttons(q, buttons)[0],
            bodies=scenes.body_contacts(robot, [floor, on_buttons], bodies, kind),
            weld=scenes.spring_weld(bodies, target, anchors[..., 2].T),
            pairs=scenes.pair_contacts(others, bodies, kind),
        )

    world = _run(agent, gremlins, action, Scene(kind, detect, 1 + scenes.PAIR_SLOTS), time)
    return *_results(world), _at_buttons(world.agent.q, buttons)[1].T, jnp.any(world.touched, axis=0)
