"""The step on MuJoCo Warp, on whatever Warp runs on here; without Warp nothing is left to test.

`saddle parity --engine mjx-warp` holds it against the reference.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("warp")

from saddle.parity.golden import Golden, load
from saddle.tasks.velocity import warp_graph
from saddle.tasks.velocity.bodies import BODIES
from saddle.tasks.velocity.steppers import most_contacts

TASK = "SafetyHalfCheetahVelocity-v1"


def batch(golden: Golden) -> tuple[jax.Array, ...]:
    qpos = golden["qpos"].copy()
    qpos[:, : BODIES[TASK].travels] = 0
    return tuple(jnp.asarray(x, jnp.float32) for x in (qpos, golden["qvel"], np.clip(golden["action"], -1, 1)))


def step(worlds: tuple[jax.Array, ...]) -> np.ndarray:
    moved = jax.jit(warp_graph.warp_step(BODIES[TASK]))(worlds)
    return np.concatenate([moved.qpos, moved.qvel, moved.seen], axis=1)


@pytest.fixture(scope="module")
def worlds() -> tuple[jax.Array, ...]:
    return batch(load(None, (TASK,))[0])


@pytest.mark.parametrize("rows", [4, 1000])
def test_room_for_fewer_rows_changes_nothing(monkeypatch, worlds, rows):
    expected = step(worlds)
    monkeypatch.setattr(warp_graph, "USUAL_ROWS", rows)
    assert most_contacts(BODIES[TASK])[1] > 4
    np.testing.assert_array_equal(step(worlds), expected)


@pytest.mark.parametrize("broken", [np.nan, 1e20])
def test_a_world_that_broke_down_leaves_nothing_behind(worlds, broken):
    expected = step(worlds)
    qpos, qvel, control = worlds
    lost = step((qpos, qvel.at[:7].set(broken), control))
    assert not np.isfinite(lost[:7]).all()
    np.testing.assert_array_equal(lost[7:], expected[7:])
    np.testing.assert_array_equal(step(worlds), expected)
