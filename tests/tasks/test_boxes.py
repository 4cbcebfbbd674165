"""Boxes against boxes: the contacts of the reference's engine, and the least overlap against NumPy.

data/box_contacts.npz holds 144 pairs of gremlins that touched in substeps of the reference (MuJoCo
2.3.3), and the engine's contacts of each: benchmarks/record_button_contacts.py says how they were
recorded. Half of the pairs touch across an edge that stands upright to within 1e-3 rad.
"""

from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from saddle.tasks.point.physics import boxes
from saddle.tasks.point.physics.boxes import Box, Points, box_box
from saddle.tasks.point.physics.overlap import edge_axis, face_axes, spread, view_from
from saddle.tasks.point.physics.scenes import SMALL_HALF
from saddle.tasks.point.physics.vec import Vec, quaternion_axes

DATA = Path(__file__).parents[1] / "data" / "box_contacts.npz"
PRECISIONS = ("float32", "float64")


@cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(DATA) as file:
        return dict(file)


def gremlins(poses) -> Box:
    """Boxes [n] at these poses [n, 7]."""
    numbers = [poses[:, k] for k in range(7)]
    return Box(Vec(*numbers[:3]), quaternion_axes(*numbers[3:]), SMALL_HALF)


@cache
def contacts(precision: str) -> Points:
    """What we find for the recorded pairs."""
    with jax.enable_x64(precision == "float64"):
        poses = [jnp.asarray(recorded()[name], precision) for name in ("first", "second")]
        found = jax.jit(lambda a, b: box_box(gremlins(a), gremlins(b)))(*poses)
        return jax.tree.map(np.asarray, found)


def farthest(points: Points, pair: int) -> float:
    """How far our contacts of a pair are from the engine's: the worst of distance, point and
    normal; infinite where there are not as many.
    """
    data = recorded()
    theirs = data["contacts"][pair, : data["count"][pair]]
    found = points.found[:, pair]
    if found.sum() != len(theirs):
        return np.inf
    normal = [np.broadcast_to(part, points.found.shape)[:, pair] for part in points.normal]
    columns = [points.distance[:, pair], *(part[:, pair] for part in points.point), *normal]
    ours = np.stack(columns, axis=1)[found]
    gaps = np.abs(ours[:, None] - theirs[None]).max(axis=-1)
    return float(gaps.min(axis=0).max())


@pytest.mark.parametrize(("precision", "limit"), [("float32", 1e-4), ("float64", 1e-10)])
def test_contacts_are_those_of_the_engine(precision, limit):
    points = contacts(precision)
    count = len(recorded()["count"])
    errors = np.array([farthest(points, pair) for pair in range(count)])
    # In the others gremlins of one height lean alike, and rounding decides which corners count.
    assert np.mean(errors < limit) >= 0.97


def test_the_recorded_pairs_are_hard():
    """Many touch across an upright edge, where less than 1e-7 m decides, and some face to face."""
    with jax.enable_x64(True):
        first, second = (gremlins(recorded()[name]) for name in ("first", "second"))
        a, b = spread(*jax.tree.map(jnp.asarray, (first, second)))
        overlap, code, _ = face_axes(a, b)
        gain = np.asarray(edge_axis(view_from(a, b, code)).gain)
        by_edge = gain < -boxes.SLACK * np.asarray(overlap)
    assert by_edge.sum() > 30
    assert (by_edge & (gain > -1e-7)).sum() > 20
    assert (~by_edge).sum() > 30


def turned(tilt: float, way: float, yaw: float) -> np.ndarray:
    """The quaternion of a turn by `yaw` about z after one by `tilt` about a level axis."""
    lean = np.array(
        [np.cos(tilt / 2), *(np.sin(tilt / 2) * np.array([np.cos(way), np.sin(way), 0]))]
    )
    w, x, y, z = lean
    c = np.cos(yaw / 2)
    s = np.sin(yaw / 2)
    return np.array([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w])


def matrix(quaternion: np.ndarray) -> np.ndarray:
    """The rotation matrix, columns are the axes."""
    axes = quaternion_axes(*quaternion)
    return np.array([[*axis] for axis in axes]).T


def overlaps(place: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Of two gremlins `place` apart, with axes a and b: the least overlap along faces' axes and
    along edges', m.
    """

    def along(axis: np.ndarray) -> float:
        reach = 0.1 * (np.abs(axis @ a).sum() + np.abs(axis @ b).sum())
        return reach - abs(axis @ place)

    crosses = [np.cross(p, q) for p in a.T for q in b.T]
    edges = [cross / np.linalg.norm(cross) for cross in crosses if np.linalg.norm(cross) > 1e-12]
    return min(map(along, [*a.T, *b.T])), min(map(along, edges))


@cache
def edge_gain(precision: str):
    def gain(first, second):
        a, b = spread(gremlins(first), gremlins(second))
        overlap, code, _ = face_axes(a, b)
        return overlap, edge_axis(view_from(a, b, code)).gain

    return jax.jit(gain)


angles = st.floats(0, 2 * np.pi)
tilts = st.floats(-4, -0.5).map(lambda power: 10**power)


@given(
    st.tuples(tilts, angles, angles),
    st.tuples(tilts, angles, angles),
    st.floats(0.15, 0.3),
    angles,
    st.floats(-0.05, 0.05),
)
def test_the_gain_of_an_edge_is_the_difference_of_overlaps(one, other, apart, way, rise):
    """However little a box leans: in float32 too the difference is right to some of its digits."""
    # There is no axis across two edges that run alike.
    assume(abs(np.sin(2 * (one[2] - other[2]))) > 0.05)
    quaternions = [turned(*one), turned(*other)]
    place = np.array([apart * np.cos(way), apart * np.sin(way), rise])
    poses = np.array([[0, 0, 0, *quaternions[0]], [*place, *quaternions[1]]])
    for precision, share in (("float32", 1e-2), ("float64", 1e-6)):
        with jax.enable_x64(precision == "float64"):
            rows = [jnp.asarray(pose[None], precision) for pose in poses]
            # what the rounded input says, in double
            exact = np.array([np.asarray(row[0], np.float64) for row in rows])
            exact[:, 3:] /= np.linalg.norm(exact[:, 3:], axis=1, keepdims=True)
            face, edge = overlaps(exact[1, :3], *map(matrix, exact[:, 3:]))
            overlap, found = (float(x[0]) for x in edge_gain(precision)(*rows))
        lean = max(one[0], other[0])
        rounding = 1e-7 if precision == "float32" else 1e-15
        assert abs(overlap - face) < 4 * rounding
        gain, wanted = min(found, 0), min(edge - face, 0)
        assert abs(gain - wanted) < share * abs(wanted) + rounding * lean + 1e-15
