"""The lidar by its properties."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given

from saddle.tasks.point.body import Planar
from saddle.tasks.point.lidar import BINS, lidar, lidars

REACH = 3.0
coordinate = st.floats(-4, 4, width=32)
angle = st.floats(-7, 7, width=32)
points = st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=6)


_read = jax.jit(lambda pose, objects: lidar(Planar(*pose), objects, REACH))
_read_both = jax.jit(lambda a, b: lidars(Planar(*jnp.zeros(3)), (a, b), REACH))


def padded(objects):
    """[6, 2]: objects beyond reach read nothing, so that one compiled program serves all."""
    return np.array([*objects, *[(99, 99)] * (6 - len(objects))], np.float32)


def read(objects, x=0.0, y=0.0, yaw=0.0):
    return np.asarray(_read(np.array([x, y, yaw], np.float32), padded(objects)))


def apart(objects):
    """Without objects at the robot's origin, where angles mean nothing in float32."""
    return [(a, b) for a, b in objects if np.hypot(a, b) > 0.1]


@given(points, coordinate, coordinate, angle)
def test_readings_lie_between_0_and_1(objects, x, y, yaw):
    readings = read(objects, x, y, yaw)
    assert readings.shape == (BINS,) and np.all((readings >= 0) & (readings <= 1))


@given(points, st.integers(0, BINS - 1))
def test_turning_by_a_bin_shifts_the_readings(objects, shift):
    turned = read(apart(objects), yaw=shift * 2 * np.pi / BINS)
    np.testing.assert_allclose(turned, np.roll(read(apart(objects)), -shift), atol=2e-5)


@given(points, coordinate, coordinate, angle)
def test_moving_everything_changes_nothing(objects, x, y, turn):
    c, s = np.cos(turn), np.sin(turn)
    moved = [(x + c * a - s * b, y + s * a + c * b) for a, b in apart(objects)]
    np.testing.assert_allclose(read(moved, x, y, turn), read(apart(objects)), atol=5e-5)


@given(st.floats(0.05, 2.9), st.floats(0, BINS, exclude_max=True))
def test_one_object_fills_its_bin_and_shares_the_neighbours(distance, position):
    """The object's own bin reads its closeness; what it lacks on one side it has on the other."""
    direction = position * 2 * np.pi / BINS
    readings = read([(distance * np.cos(direction), distance * np.sin(direction))])
    closeness = (REACH - distance) / REACH
    expected = np.zeros(BINS)
    own, share = int(position), position - int(position)
    expected[own], expected[(own + 1) % BINS], expected[own - 1] = (
        closeness,
        share * closeness,
        (1 - share) * closeness,
    )
    np.testing.assert_allclose(readings, expected, atol=5e-6)


@given(points)
def test_a_group_reads_the_nearest_of_each(objects):
    alone = np.max([read([one]) for one in objects], axis=0)
    np.testing.assert_allclose(read(objects), alone, atol=1e-6)


@given(points, points)
def test_groups_do_not_mix(first, second):
    both = _read_both(padded(first), padded(second))
    for ours, objects in zip(both, (first, second), strict=True):
        np.testing.assert_allclose(ours, read(objects), atol=1e-6)


def test_beyond_reach_there_is_nothing():
    assert not read([(3.0, 0.0), (0.0, -3.5)]).any()


def test_double_precision_stays_double():
    with jax.enable_x64(True):
        q = Planar(*jnp.zeros(3))
        assert lidar(q, jnp.ones((2, 2)), REACH).dtype == np.float64
