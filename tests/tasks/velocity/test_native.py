"""Host worlds on MuJoCo C, against the reference's recorded episodes, Gymnasium's own environments
and NumPy.
"""

import functools
import logging
from pathlib import Path
from typing import Any

import gymnasium
import mujoco as untyped
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp, mannwhitneyu

from saddle.errors import SaddleError
from saddle.tasks import HostTask, make
from saddle.tasks.velocity import models
from saddle.tasks.velocity.bodies import BODIES
from saddle.tasks.velocity.body import glide, settle

mujoco: Any = untyped
HOPPER, WALKER, CHEETAH, ANT = BODIES
GOLDEN = Path(__file__).parents[2] / "data" / "golden"


def host_worlds(name, count, threads=None):
    return make(name, engine="native").worlds(count, threads)


EACH = pytest.mark.parametrize("name", BODIES)


@functools.cache
def reference(name):
    """What to compare -> [episodes, ...], under random actions."""
    with np.load(GOLDEN / "random_policy_stats.npz") as file:
        prefix = f"{name}|random|"
        return {key.removeprefix(prefix): file[key] for key in file.files if key.startswith(prefix)}


def random_actions(worlds, draw):
    return draw.uniform(-1, 1, (worlds.worlds, worlds.spec.action_dim)).astype(np.float32)


@functools.cache
def played(name):
    """One random episode for each of the reference's: return, cost, length, mean observation."""
    seeds = 1000 + reference(name)["seed"][: 24 if name == ANT else None]
    worlds, draw = host_worlds(name, len(seeds), 1), np.random.default_rng(0)
    worlds.reset(seeds)
    alive = np.ones(len(seeds), bool)
    sums: dict[str, Any] = dict.fromkeys(("ret", "cost", "length"), np.zeros(len(seeds)))
    sums["obs_mean"] = np.zeros((len(seeds), worlds.spec.obs_dim))
    while alive.any():
        made = worlds.step(random_actions(worlds, draw))
        new = {"ret": made.reward, "cost": made.cost[:, 0], "length": 1}
        sums |= {name: sums[name] + alive * value for name, value in new.items()}
        sums["obs_mean"] += alive[:, None] * made.final_obs
        alive &= ~(made.terminated | made.truncated)
    sums["obs_mean"] /= sums["length"][:, None]
    return sums


@EACH
def test_a_seed_starts_the_references_episode(name):
    theirs = reference(name)
    worlds = host_worlds(name, len(theirs["seed"]), 1)
    np.testing.assert_allclose(worlds.begin(theirs["seed"]), theirs["obs0"], atol=1e-15)
    assert worlds.reset(theirs["seed"]).dtype == np.float32


@EACH
def test_random_episodes_are_distributed_as_the_references(name):
    ours, theirs = played(name), reference(name)
    p = lambda test, a, b: float(np.asarray(test(a, b))[1])
    varied = [what for what in ("ret", "cost", "length") if np.ptp(theirs[what])]
    pvalues = [p(mannwhitneyu, ours[what], theirs[what]) for what in varied]
    pvalues += [
        p(ks_2samp, a, b) for a, b in zip(ours["obs_mean"].T, theirs["obs_mean"].T, strict=True)
    ]
    assert min(pvalues) > 0.01 / len(pvalues), pvalues
    if name == CHEETAH:
        assert (ours["length"] == 1000).all()


@pytest.mark.parametrize(
    ("name", "file"), [(CHEETAH, "half_cheetah.xml"), (WALKER, "walker2d.xml")]
)
def test_gymnasiums_model_runs_the_same_episode(name, file, tmp_path, monkeypatch):
    """Gymnasium's own file in plain MuJoCo, warm-started and never set back, with the same start
    and actions.
    """
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log file about an attribute of these files
    model = mujoco.MjModel.from_xml_path(
        str(Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / file)
    )
    data, worlds, draw = mujoco.MjData(model), host_worlds(name, 1, 1), np.random.default_rng(1)
    worlds.begin(np.array([7]))
    data.qpos[:], data.qvel[:] = worlds.qpos[0], worlds.qvel[0]
    for _ in range(40):
        before, actions = data.qpos[0], 0.5 * random_actions(worlds, draw)
        data.ctrl[:] = actions[0]
        mujoco.mj_step(model, data, worlds.body.substeps)
        made = worlds.advance(actions)
        np.testing.assert_allclose(worlds.qpos[0], data.qpos, atol=1e-8)
        np.testing.assert_allclose(worlds.qvel[0], data.qvel, atol=1e-6)
        assert made.velocity[0, 0] == pytest.approx(
            (data.qpos[0] - before) / worlds.spec.dt, abs=1e-6
        )


@EACH
def test_a_world_does_not_know_the_others(name):
    """Places in the batch, its size and the number of threads do not matter, across episodes."""
    many, few = host_worlds(name, 5, 2), host_worlds(name, 2, 1)
    many.reset(np.array([3, 1, 4, 1, 5]))
    few.reset(np.array([4, 1]))
    draw = np.random.default_rng(2)
    for _ in range(25):
        actions = random_actions(many, draw)
        one, other = many.step(actions), few.step(actions[[2, 3]])
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a[[2, 3]], b)


@EACH
def test_what_is_saved_goes_on_bit_by_bit(name):
    draw = np.random.default_rng(3)
    worlds, copy = host_worlds(name, 3, 1), host_worlds(name, 3, 2)
    worlds.reset(np.arange(3))
    worlds.step(random_actions(worlds, draw))
    saved = worlds.save()
    assert all(len(entry) == 3 for entry in saved.values())
    copy.load(saved)
    for _ in range(30):
        actions = random_actions(worlds, draw)
        for a, b in zip(worlds.step(actions), copy.step(actions), strict=True):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(SaddleError, match="holds 3 worlds"):
        host_worlds(name, 2, 1).load(saved)


def test_an_episode_that_ends_shows_both_observations():
    worlds = host_worlds(HOPPER, 2, 1)
    worlds.reset(np.arange(2))
    worlds.qpos[1, 1] = 0.5  # has fallen
    worlds.steps[0] = 999
    made = worlds.step(np.zeros((2, 3), np.float32))
    assert (list(made.terminated), list(made.truncated)) == ([False, True], [True, False])
    assert made.final_obs[1, 0] == pytest.approx(0.5, abs=0.1) and made.obs[1, 0] == pytest.approx(
        1.25, abs=0.01
    )
    assert (worlds.steps == 0).all() and (made.obs != made.final_obs).any(axis=1).all()


@pytest.mark.parametrize("broken", [np.nan, 1e12])
@pytest.mark.parametrize("name", [HOPPER, CHEETAH, ANT])
def test_a_world_that_diverges_starts_anew_and_is_counted(
    name, broken, caplog, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log file
    worlds = host_worlds(name, 2, 1)
    worlds.reset(np.arange(2))
    worlds.qvel[1] = broken
    with caplog.at_level(logging.WARNING, "saddle"):
        made = worlds.step(np.zeros((2, worlds.spec.action_dim), np.float32))
    assert list(made.terminated) == [False, True] and list(worlds.diverged) == [0, 1]
    assert all(np.isfinite(array).all() for array in made)
    assert "1 worlds diverged" in caplog.text
    assert np.isfinite(worlds.step(np.zeros((2, worlds.spec.action_dim), np.float32)).obs).all()


def test_mistakes_are_named():
    worlds = host_worlds(HOPPER, 2, 1)
    good = np.zeros((2, 3), np.float32)
    for mistake, words in {
        lambda: worlds.step(good): "call reset first",
        lambda: worlds.reset(np.arange(3)): "2 worlds need 2 seeds",
        lambda: host_worlds(HOPPER, 0): "worlds is 0",
        lambda: host_worlds(HOPPER, 1, 0): "threads is 0",
        lambda: make("SafetyHoperVelocity-v1"): "did you mean 'SafetyHopperVelocity-v1'",
        lambda: make(HOPPER, engine="bullet"): "unknown engine 'bullet'",
        lambda: make(HOPPER, engine="native", iterations=3): "does not take these options",
    }.items():
        with pytest.raises(SaddleError, match=words):
            mistake()
    worlds.reset(np.arange(2))
    for actions, words in ((good[:1], "shape"), (good + np.nan, "finite")):
        with pytest.raises(SaddleError, match=words):
            worlds.step(actions)


def test_without_a_gpu_the_tasks_step_on_the_host():
    assert all(isinstance(make(name), HostTask) for name in BODIES)
    assert not isinstance(make("SafetyPointCircle1-v0"), HostTask)


@settings(max_examples=40)
@given(st.lists(st.floats(-3, 3), min_size=29, max_size=29), st.floats(-0.5, 0.5))
def test_gliding_is_mujocos_integration(numbers, seconds):
    model = models.compiled(models.ant())
    qpos, qvel = np.array(numbers[:15]), np.array(numbers[15:])
    qpos[3:7] = np.array([1, 0, 0, 0]) + 0.1 * qpos[3:7]
    qpos[3:7] /= np.linalg.norm(qpos[3:7])
    moved = qpos.copy()
    mujoco.mj_integratePos(model, moved, qvel, seconds)
    np.testing.assert_allclose(glide(qpos, seconds * qvel, np), moved, atol=1e-12)


@settings(max_examples=60)
@given(st.sampled_from(tuple(BODIES)), st.floats(-5, 5), st.floats(-5, 5), st.floats(-2, 2))
def test_rules_by_hand(name, vx, vy, push):
    """Reward pays for the action as given, beyond its range too; cost is strict; standing still is
    healthy.
    """
    body, model = BODIES[name], models.compiled(BODIES[name].model())
    velocity = np.array([vx, vy])[: body.travels]
    action = np.full(body.spec.action_dim, push)
    ruled = settle(body, model.qpos0, np.zeros(model.nv), velocity, action, np)
    weight = {HOPPER: 0.001, WALKER: 0.001, CHEETAH: 0.1, ANT: 0.5}[name]
    threshold = {HOPPER: 0.7402, WALKER: 2.3415, CHEETAH: 3.2096, ANT: 2.6222}[name]
    assert ruled.reward == pytest.approx(
        vx + (name != CHEETAH) - weight * body.spec.action_dim * push**2
    )
    assert ruled.cost == float((np.hypot(vx, vy) if name == ANT else vx) > threshold)
    assert not ruled.terminated and not ruled.diverged
