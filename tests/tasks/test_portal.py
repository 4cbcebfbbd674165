"""The pillar's collider against the reference's engine, and against geometry.

data/pillar_contacts.npz holds 400 pairs of a pillar (radius 0.2 m, half-height 0.5 m, on the floor)
with the robot's sphere (50), its arrow (110) or a post of the push box (240), and the contact that
MuJoCo 2.3.3 finds: a model of one mocap cylinder and one free body with that geom, the pose set,
mj_fwdPosition called. The normals are turned to point away from the pillar. 225 poses were met in
substeps of the reference's Push1 transitions; 175 are drawn: placed at any angle around the pillar
and of any yaw, -20 to 1 mm apart along the line of centres, posts also tilted by 10 mrad and raised
by 2 mm on average.

Where the portal is level to within rounding, the engine's own last digit decides its path. So a few
pairs in a hundred may differ; how far off they are is bounded too.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.tasks.point import body
from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import scenes
from saddle.tasks.point.physics.boxes import Points
from saddle.tasks.point.physics.pillar import (
    Pillar,
    cylinder_solid,
    from_box,
    is_near,
    pillar_contacts,
)
from saddle.tasks.point.physics.portal import Solid
from saddle.tasks.point.physics.rigid import Bodies, unpack
from saddle.tasks.point.physics.vec import Vec, quaternion_axes

DATA = Path(__file__).parents[1] / "data" / "pillar_contacts.npz"
RADIUS, HALF_HEIGHT = 0.2, 0.5


def test_every_contact_of_the_engine_is_found(contacts):
    data, points = contacts
    clear = ~data["found"] | (data["distance"] < -1e-6)
    np.testing.assert_array_equal(points.found[0][clear], data["found"][clear])


def test_contacts_are_those_of_the_engine(contacts):
    data, points = contacts
    double = points.distance.dtype == np.float64
    distance, normal, point = errors(data, points)
    sphere = (data["radius"] > 0)[data["found"]]
    assert np.median(distance[~sphere]) < (1e-14 if double else 1e-7)
    assert np.median(normal[~sphere]) < (1e-12 if double else 1e-6)
    assert np.median(point[~sphere]) < (1e-14 if double else 2e-7)
    assert np.max(distance[sphere]) < 1e-6
    assert np.mean(distance < 1e-6) > 0.94
    assert np.mean(normal < (1e-5 if double else 5e-5)) > (0.95 if double else 0.92)
    assert np.mean(point < 1e-5) > (0.97 if double else 0.95)


def test_a_contact_on_another_path_is_still_close(contacts):
    distance, normal, _ = errors(*contacts)
    assert np.max(distance) < 2e-4
    assert np.quantile(normal, 0.99) < 0.05


@given(
    angle=st.floats(-3.14, 3.14),
    overlap=st.floats(1e-5, 0.05),
    x=st.floats(-2, 2),
    y=st.floats(-2, 2),
)
def test_a_sphere_is_pushed_straight_out(angle, overlap, x, y):
    away = np.array([np.cos(angle), np.sin(angle)])
    center = np.array([x, y]) + away * (RADIUS + body.RADIUS - overlap)
    points = collide_one((x, y), (*center, body.HEIGHT), (1, 0, 0, 0), (0, 0, 0), body.RADIUS)
    assert points.found[0, 0]
    np.testing.assert_allclose(points.distance[0, 0], -overlap, atol=2e-6)
    np.testing.assert_allclose([v[0, 0] for v in points.normal], [*away, 0], atol=1e-3)


@given(
    yaw=st.floats(-3.14, 3.14),
    along=st.floats(-0.6, 0.6),
    across=st.floats(-0.6, 0.6),
    half=st.sampled_from([(0.05, 0.05, 0.05), (0.1, 0.1, 0.2)]),
)
def test_an_upright_box_touches_where_its_outline_meets_the_disc(yaw, along, across, half):
    gap = np.hypot(max(abs(along) - half[0], 0), max(abs(across) - half[1], 0)) - RADIUS
    c, s = np.cos(yaw), np.sin(yaw)
    center = (c * along - s * across, s * along + c * across, half[2])
    points = collide_one((0, 0), center, (np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)), half, 0.0)
    if gap > -0.05 and abs(gap) > 2e-6:
        assert points.found[0, 0] == (gap < 0)
    if -0.02 < gap < -1e-4:
        np.testing.assert_allclose(points.distance[0, 0], gap, atol=4e-4)


@pytest.mark.parametrize(
    ("center", "half", "radius"),
    [
        ((0, 0, 0.5), (0.1, 0.1, 0.2), 0.0),
        ((0, 0, 0.1), (0.05, 0.05, 0.05), 0.0),
        ((0.3, 0, 0.2), (0.1, 0.1, 0.2), 0.0),
        ((0.29, 0, 0.5), (0.1, 0.1, 0.2), 0.0),
        ((0.2, 0.2, 0.5), (0.1, 0.1, 0.2), 0.0),
        ((0.29, 0, 0.5), (0, 0, 0), 0.1),
        ((0, 0, 0.5), (0, 0, 0), 0.1),
    ],
)
def test_degenerate_placements_give_numbers(center, half, radius):
    points = collide_one((0, 0), center, (1, 0, 0, 0), half, radius)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(points))


def test_robot_and_parts_in_one_loop_are_as_each_alone(scene):
    pillar, q, box = scene
    mine, theirs = _pillar_contacts(pillar.x, pillar.y, q, box)
    sphere, arrow = scenes.robot_shapes(q)
    zero = jnp.zeros_like(q.x)
    ball = from_box(arrow)._replace(
        center=sphere, half=Vec(zero, zero, zero), radius=zero + body.RADIUS
    )
    alone = jax.jit(lambda solid: cylinder_solid(pillar, solid, is_near(pillar, solid)))
    for found, single in ((mine.found[0], ball), (mine.found[1], from_box(arrow))):
        np.testing.assert_array_equal(found, alone(single).found[0])
    each = alone(from_box(scenes.push_box(box, box.axes)))
    assert 0 < np.sum(each.found) < each.found.size / 2
    np.testing.assert_array_equal(
        np.sum(theirs.found, axis=(0, 1)), np.sum(each.found, axis=(0, 1, 2))
    )
    total = lambda p: np.sum(np.where(p.found, p.distance, 0).reshape(-1, len(q.x)), axis=0)
    np.testing.assert_allclose(total(theirs), total(each), atol=2e-4)


def test_nothing_near_gives_no_contact(scene):
    pillar, q, box = scene
    groups = _pillar_contacts(pillar.x + 9, pillar.y, q, box)
    assert not any(np.any(points.found) for points in groups)


@pytest.fixture(scope="module")
def scene() -> tuple[Pillar, Planar, Bodies]:
    """Pillars, and robots and push boxes beside them: many touch."""
    rng = np.random.default_rng(0)
    real = lambda v: jnp.asarray(v, jnp.float32)
    angles = lambda: rng.uniform(-np.pi, np.pi, 64)
    around = lambda low, high: rng.uniform(low, high, 64) * np.exp(1j * angles())
    place, robot, push, half = (
        rng.uniform(-1, 1, (2, 64)),
        around(0.25, 0.36),
        around(0.48, 0.63),
        angles() / 2,
    )
    x, y = real(place)
    zero = np.zeros(64)
    pose = [x + push.real, y + push.imag, zero + 0.2, np.cos(half), zero, zero, np.sin(half)]
    box = unpack(real(np.stack(pose + [zero] * 6, axis=-1))[:, None])
    q = Planar(x + real(robot.real), y + real(robot.imag), real(angles()))
    return Pillar(x, y, RADIUS, HALF_HEIGHT), q, box


@jax.jit
def _pillar_contacts(x, y, q, box) -> tuple[Points, Points]:
    sphere, arrow = scenes.robot_shapes(q)
    parts = scenes.push_box(box, box.axes)
    return pillar_contacts(Pillar(x, y, RADIUS, HALF_HEIGHT), sphere, body.RADIUS, arrow, parts, 2)


def collide_one(pillar, center, quaternion, half, radius) -> Points:
    """One pair in float32, arrays [1, 1]."""
    full = lambda values: [jnp.full(1, v, jnp.float32) for v in values]
    return _collide(
        *full(pillar),
        Vec(*full(center)),
        full(quaternion),
        Vec(*full(half)),
        jnp.full(1, radius, jnp.float32),
    )


@jax.jit
def _collide(x, y, center, quaternion, half, radius) -> Points:
    pillar = Pillar(x, y, RADIUS, HALF_HEIGHT)
    solid = Solid(center, quaternion_axes(*quaternion), half, radius)
    return cylinder_solid(pillar, solid, is_near(pillar, solid))


@pytest.fixture(scope="module", params=["float32", "float64"])
def contacts(request) -> tuple[dict, Points]:
    """The recorded pairs, and the contacts found here."""
    with np.load(DATA) as file:
        data = dict(file)
    with jax.enable_x64(request.param == "float64"):
        columns = lambda name: [jnp.asarray(v, request.param) for v in data[name].T]
        vectors = (Vec(*columns("center")), columns("quaternion"), Vec(*columns("half")))
        points = _collide(*columns("pillar"), *vectors, jnp.asarray(data["radius"], request.param))
        return data, jax.tree.map(np.asarray, points)


def errors(data, points) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of distance, normal and point, for every contact of the engine."""
    apart = lambda name: np.max(
        np.abs(np.stack([v[0] for v in getattr(points, name)], axis=1) - data[name]), axis=1
    )
    distance = np.abs(points.distance[0] - data["distance"])
    return tuple(error[data["found"]] for error in (distance, apart("normal"), apart("point")))
