"""The velocity tasks on MJX: the reference's rows through auto-reset, contact frames, buffer sizes,
batches.
"""

import dataclasses
import importlib.util
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco as untyped
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mujoco.mjx._src import collision_driver

from saddle.batch import one_batch
from saddle.errors import SaddleError
from saddle.parity import velocity
from saddle.parity.golden_files import load
from saddle.tasks import autoreset, make
from saddle.tasks.velocity import colliders, engines, models, steppers
from saddle.tasks.velocity.bodies import BODIES
from saddle.tasks.velocity.steppers import mjx

mujoco: Any = untyped  # its compiled part has no types
HOPPER, WALKER, CHEETAH, ANT = BODIES
STEEP = np.cos(np.radians(20)), np.sin(np.radians(20))  # a capsule 20 degrees off the vertical


def capsule_contacts(axis, height=0.1):
    """MuJoCo C's contact frame [3, 3] of a capsule along `axis` that touches the floor with one
    end.
    """
    spec = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body><freejoint/>
      <geom type="capsule" size=".1 .3"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(spec)
    data = mujoco.MjData(model)
    mujoco.mju_quatZ2Vec(data.qpos[3:7], np.array(axis, float))
    data.qpos[2] = height + 0.3 * abs(axis[2]) - 1e-3
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    return np.array(data.contact.frame[0]).reshape(3, 3)


def collided(collider, axis):
    """What a collider of MJX makes of the same pair: distances [2], positions [2, 3], frames [2, 3,
    3].
    """
    x = np.cross(axis, [0.3, 0.7, -0.2])
    x /= np.linalg.norm(x)
    turned = jnp.asarray([np.eye(3), np.stack([x, np.cross(axis, x), axis], axis=1)], jnp.float32)
    model = SimpleNamespace(geom_size=jnp.array([[0.0, 0, 0], [0.1, 0.3, 0]]))
    data = SimpleNamespace(geom_xpos=jnp.zeros((2, 3)), geom_xmat=turned)
    return jax.tree.map(np.asarray, collider(model, data, None, jnp.array([[0, 1]])))


@settings(max_examples=60)
@given(st.floats(0.02, 1.5), st.floats(-3.1, 3.1))
def test_friction_directions_are_mujocos(lean, turn):
    """lean: angle off the vertical; the frame's second row follows the capsule down to the
    steepest.
    """
    axis = np.array([np.sin(lean) * np.cos(turn), np.sin(lean) * np.sin(turn), np.cos(lean)])
    ours = colliders.friction_frame(jnp.array([0.0, 0, 1]), jnp.asarray(axis, jnp.float32))
    np.testing.assert_allclose(ours, capsule_contacts(axis), atol=2e-5)


def test_an_upright_capsule_takes_mujocos_direction():
    ours = colliders.friction_frame(jnp.array([0.0, 0, 1]), jnp.array([0.0, 0, 1]))
    np.testing.assert_allclose(ours, capsule_contacts([0, 0, 1]), atol=1e-6)


def test_the_minimal_case_of_the_deviation():
    """MJX turns the friction directions of a steep capsule away from MuJoCo C's; ours are MuJoCo
    C's.
    """
    table: Any = collision_driver._COLLISION_FUNC
    pair = (collision_driver.GeomType.PLANE, collision_driver.GeomType.CAPSULE)
    axis = np.array([STEEP[1] * STEEP[1], STEEP[1] * STEEP[0], STEEP[0]])
    expected, theirs = capsule_contacts(axis), table[pair]
    distances, places, frames = collided(theirs, axis)
    turned = np.degrees(np.arccos(np.abs(frames[0, 1:] @ expected[1]).max()))
    assert turned == pytest.approx(20, abs=0.1)
    with colliders.in_jax():
        assert table[pair] is not theirs
        ours = collided(table[pair], axis)
    assert table[pair] is theirs
    np.testing.assert_allclose(ours[0], distances, atol=1e-6)
    np.testing.assert_allclose(ours[1], places, atol=1e-6)
    np.testing.assert_allclose(ours[2], np.stack([expected] * 2), atol=1e-5)


@pytest.mark.parametrize("name", BODIES)
def test_buffers_hold_every_contact_that_can_be(name):
    """MJX's own static count of contacts and rows."""
    body = BODIES[name]
    data = mjx.make_data(models.compiled(body.model()), impl="jax")
    assert steppers.most_contacts(body) == (data._impl.ncon, data._impl.nefc)


def test_nested_worlds_are_one_batch():
    sizes = []

    def batched(x):
        sizes.append(x.shape)
        return 2 * x

    twice = one_batch(batched)
    x = jnp.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(jax.vmap(jax.vmap(twice))(x), 2 * x)
    outer = jax.vmap(lambda a: jax.vmap(lambda b: twice(a + b))(x[0]))(x[:, 0])
    np.testing.assert_array_equal(outer, 2 * (x[:, :1] + x[0]))
    np.testing.assert_array_equal(twice(x[0, 0]), 2 * x[0, 0])
    assert (6, 4) in sizes


@pytest.mark.parametrize("name", BODIES)
def test_a_reset_is_the_first_pose_with_noise(name):
    task, body = make(name, engine="mjx-jax"), BODIES[name]
    model = models.compiled(body.model())
    state = jax.vmap(task.reset)(jax.random.split(jax.random.key(0), 400))
    off = np.asarray(state.qpos) - model.qpos0
    kept = off if not body.free else np.delete(off, [3, 4, 5, 6], axis=1)
    assert 0.9 * body.noise < np.abs(kept).max() <= body.noise
    assert np.asarray(state.qvel).std() == pytest.approx(
        body.noise * (1 if body.normal else 3**-0.5), rel=0.1
    )
    if body.free:
        np.testing.assert_allclose(np.linalg.norm(state.qpos[:, 3:7], axis=1), 1, atol=1e-6)
    assert state.obs.shape == (400, body.spec.obs_dim) and not state.terminated.any()


@pytest.mark.parametrize(
    ("backend", "missing", "engine"),
    [
        ("cpu", (), "native"),
        ("gpu", (), "mjx-warp"),
        ("gpu", ("warp",), "mjx-jax"),
        ("gpu", ("mujoco.mjx",), "native"),
    ],
)
def test_the_default_engine_is_the_best_one_here(monkeypatch, backend, missing, engine):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    monkeypatch.setattr(engines, "_found", lambda module: module not in missing)
    assert engines.default() == engine


def test_mistakes_are_named(monkeypatch):
    with pytest.raises(SaddleError, match="iterations is 0"):
        make(HOPPER, engine="mjx-jax", iterations=0)
    task = make(HOPPER, engine="mjx-jax")
    with pytest.raises(SaddleError, match=r"actions of shape \(3,\)"):
        task.step(task.reset(jax.random.key(0)), jnp.zeros(4))
    if importlib.util.find_spec("warp") is None:
        with pytest.raises(SaddleError, match="saddle-rl\\[cuda\\]"):
            make(HOPPER, engine="mjx-warp")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if "mjx" in name else found(name)
    )
    with pytest.raises(SaddleError, match="saddle-rl\\[mjx\\]"):
        make(HOPPER, engine="mjx-jax")


@pytest.mark.slow
def test_reference_rows_and_worlds_that_end():
    """Ant through auto-reset, in one batch: some of the reference's rows with contact; then a world
    that goes on, one that is too high and one at its last step.
    """
    task: Any = make(ANT, engine="mjx-jax")
    rows = load(None, (ANT,))[0]
    touching = np.flatnonzero(rows["ncon"] > 0)[::4]
    rows = dataclasses.replace(
        rows, arrays={k: a if k == "ep_seed" else a[touching] for k, a in rows.arrays.items()}
    )
    fresh = jax.vmap(task.reset)(jax.random.split(jax.random.key(1), 3))
    fresh = dataclasses.replace(
        fresh, qpos=fresh.qpos.at[1, 2].set(1.5), steps=jnp.array([5, 5, 999], jnp.int32)
    )
    state = jax.tree.map(
        lambda *parts: jnp.concatenate(parts), velocity._inject(rows, task, jnp.float32), fresh
    )
    actions = jnp.concatenate([jnp.asarray(rows["action"]), jnp.zeros((3, 8))])
    program = jax.jit(lambda s, a: autoreset.step(task, s, a)).lower(state, actions)
    options: Any = {"xla_backend_optimization_level": 0}
    now, ended = program.compile(compiler_options=options)(state, actions)

    names = ("qpos", "qvel", "velocity", "obs", "reward", "cost", "terminated", "truncated")
    done = {name: np.asarray(getattr(ended, name)[:-3]) for name in names}
    done["cost"] = done["cost"][:, 0]
    report = velocity.report(rows, velocity.Outcome(*done.values()), "mjx-jax", "float32")
    assert report.passed, report.lines
    assert max(line.percentiles[-1] for line in report.lines if line.quantity == "qvel") < 0.01

    assert ended.terminated[-3:].tolist() == [False, True, False]
    assert ended.truncated[-3:].tolist() == [False, False, True] and not ended.diverged.any()
    assert now.steps[-3:].tolist() == [6, 0, 0] and ended.steps[-3:].tolist() == [6, 6, 1000]
    np.testing.assert_array_equal(now.obs[-3], ended.obs[-3])
    np.testing.assert_allclose(now.qpos[-2:, 2], 0.75, atol=0.1)


@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e12])
def test_a_world_that_diverges_ends(broken):
    task: Any = make(CHEETAH, engine="mjx-jax")
    state = task.reset(jax.random.key(0))
    after = task.settle(dataclasses.replace(state, qvel=state.qvel.at[3].set(broken)), jnp.zeros(6))
    assert after.diverged and after.terminated and task.info(after)["diverged"]
    assert np.isfinite(after.obs).all() and (after.reward, after.cost[0]) == (0, 0)
    sound = task.settle(state, jnp.zeros(6))
    assert not sound.diverged and not sound.terminated
