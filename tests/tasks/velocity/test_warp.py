"""The step on MuJoCo Warp, on whatever Warp runs on here; without Warp nothing is left to test.

`saddle parity --engine mjx-warp` holds it against the reference.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("warp")

from saddle.parity.golden import Golden
from saddle.parity.golden_files import load
from saddle.tasks.velocity import warp_graph
from saddle.tasks.velocity.bodies import BODIES
from saddle.tasks.velocity.steppers import most_contacts

TASK = "SafetyHalfCheetahVelocity-v1"


def batch(golden: Golden) -> tuple[jax.Array, ...]:
    qpos = golden["qpos"].copy()
    qpos[:, : BODIES[TASK].travels] = 0
    return tuple(
        jnp.asarray(x, jnp.float32)
        for x in (qpos, golden["qvel"], np.clip(golden["action"], -1, 1))
    )


def step(worlds: tuple[jax.Array, ...]) -> np.ndarray:
    moved = jax.jit(warp_graph.warp_step(BODIES[TASK]))(worlds)
    return np.concatenate([moved.qpos, moved.qvel, moved.seen], axis=1)


@pytest.fixture(scope="module")
def worlds() -> tuple[jax.Array, ...]:
    return batch(load(None, (TASK,))[0])


@pytest.mark.parametrize(("rows", "contacts"), [(4, 100), (1000, 0), (1000, 100)])
def test_how_much_room_there_is_changes_nothing(monkeypatch, worlds, rows, contacts):
    """With 4 rows, or 16 contacts for all worlds, there is not enough: the step runs again."""
    expected = step(worlds)
    monkeypatch.setattr(warp_graph, "USUAL_ROWS", rows)
    monkeypatch.setattr(warp_graph, "USUAL_CONTACTS", contacts)
    rooms, allocate = [], warp_graph._allocate
    monkeypatch.setattr(
        warp_graph, "_allocate", lambda *args: rooms.append(args[-1]) or allocate(*args)
    )
    warp_graph._call.cache_clear()
    np.testing.assert_array_equal(step(worlds), expected)
    most, all_rows = most_contacts(BODIES[TASK])
    count = len(worlds[0])
    assert rooms[0] == (count * min(contacts, most) + most, min(rows, all_rows))
    assert rooms[1] == (count * most, all_rows)


@pytest.mark.parametrize("broken", [np.nan, 1e20])
def test_a_world_that_broke_down_leaves_nothing_behind(worlds, broken):
    expected = step(worlds)
    qpos, qvel, control = worlds
    lost = step((qpos, qvel.at[:7].set(broken), control))
    assert not np.isfinite(lost[:7]).all()
    np.testing.assert_array_equal(lost[7:], expected[7:])
    np.testing.assert_array_equal(step(worlds), expected)
