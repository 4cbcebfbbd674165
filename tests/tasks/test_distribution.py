"""Whole episodes against the reference's statistics, by rank tests.

The motion is chaotic, so that only distributions can agree. Each test may be wrong in one case of a
hundred: it holds its p-values against 1 % divided by their number. Keys are fixed, so that a
machine gives the same answer each time.
"""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import fisher_exact, ks_2samp, kstest, mannwhitneyu

from saddle.policies import scripted
from saddle.tasks import make

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
CIRCLE, GOAL, BUTTON, PUSH = TASKS = tuple(
    f"SafetyPoint{name}1-v0" for name in ("Circle", "Goal", "Button", "Push")
)
EPISODES = {
    CIRCLE: 200,
    GOAL: 200,
    BUTTON: 32,
    PUSH: 24,
}  # of each policy; contacts take their time on a CPU
MOVING_SENSORS = [0, 1, 3, 4, 8]  # accelerometer, velocimeter, gyro


def on(*names):
    """A parameter `name` per task."""
    return pytest.mark.parametrize("name", names)


@functools.cache
def reference(task, policy):
    """What to compare -> [episodes, ...]."""
    with np.load(GOLDEN / f"{policy}_policy_stats.npz") as file:
        prefix = f"{task}|{policy}|"
        return {key.removeprefix(prefix): file[key] for key in file.files if key.startswith(prefix)}


@functools.cache
def ours(name):
    """The same from our task, policy by policy. Both policies play side by side in one compiled
    program.
    """
    task = make(name)
    drive = scripted(task)
    length, episodes = task.spec.episode_length, EPISODES[name]

    def step(is_random, carry, key):
        state, total, squares = carry
        action = jnp.where(is_random, jax.random.uniform(key, (2,), minval=-1), drive(state.obs))
        state = task.step(state, action)
        events = task.info(state) | {
            "ret": state.reward,
            "cost": state.cost[0],
            "terminated": state.terminated,
        }
        return (state, total + state.obs, squares + state.obs**2), events

    def episode(is_random, key):
        start, key = jax.random.split(key)
        state = task.reset(start)
        carry = (state, jnp.zeros_like(state.obs), jnp.zeros_like(state.obs))
        carry, events = jax.lax.scan(
            functools.partial(step, is_random), carry, jax.random.split(key, length)
        )
        mean, squares = carry[1] / length, carry[2] / length
        std = jnp.sqrt(jnp.maximum(0, squares - mean**2))
        return jax.tree.map(jnp.sum, events) | {"obs0": state.obs, "obs_mean": mean, "obs_std": std}

    is_random = jnp.arange(2 * episodes) < episodes
    played = jax.jit(jax.vmap(episode))(
        is_random, jax.random.split(jax.random.key(0), 2 * episodes)
    )
    played = {
        {"goal_met": "goals"}.get(key, key): np.asarray(value) for key, value in played.items()
    }
    assert not played["terminated"].any()
    halves = {"random": slice(episodes), "scripted": slice(episodes, None)}
    return {
        policy: {key: value[half] for key, value in played.items()}
        for policy, half in halves.items()
    }


def two_sample(a, b) -> float:
    """The p-value of Kolmogorov and Smirnov that two samples come from one distribution."""
    return float(np.asarray(ks_2samp(a, b))[1])


def rank(a, b) -> float:
    """The p-value of Mann and Whitney that neither of two samples tends to be larger."""
    return float(np.asarray(mannwhitneyu(a, b))[1])


def check(pvalues):
    """All at 1 % together."""
    least = min(pvalues, key=lambda label: pvalues[label])
    assert pvalues[least] * len(pvalues) > 0.01, (
        f"{least}: p = {pvalues[least]:.2g} of {len(pvalues)}"
    )


def lidar_groups(obs):
    """[episodes, groups, 16]."""
    return obs[:, 12:].reshape(len(obs), -1, 16)


@pytest.mark.parametrize("policy", ["random", "scripted"])
@on(GOAL, BUTTON, PUSH)
def test_return_cost_and_goals(name, policy):
    mine, theirs = ours(name)[policy], reference(name, policy)
    kinds = [key for key in theirs if key.startswith("cost")]
    check({key: rank(mine[key], theirs[key]) for key in ("ret", "goals", *kinds)})


@on(CIRCLE)
def test_circle_random(name):
    mine, theirs = ours(name)["random"], reference(name, "random")
    check({key: rank(mine[key], theirs[key]) for key in ("ret", "cost")})


@on(CIRCLE)
def test_circle_scripted(name):
    """Some episodes lock into a tight clockwise orbit: their share, and the others by
    themselves.
    """
    mine, theirs = ours(name)["scripted"], reference(name, "scripted")
    locked = [stats["ret"] < 0 for stats in (mine, theirs)]
    share = np.asarray(fisher_exact([[np.sum(some), np.sum(~some)] for some in locked]))[1]
    others = {key: rank(mine[key][~locked[0]], theirs[key][~locked[1]]) for key in ("ret", "cost")}
    check({"locked": share, **others})


@pytest.mark.parametrize("policy", ["random", "scripted"])
@on(*TASKS)
def test_observations_along_the_way(name, policy):
    """Spread of each moving sensor, and the mean of each lidar."""
    mine, theirs = ours(name)[policy], reference(name, policy)
    pvalues = {
        f"sensor {i}": two_sample(mine["obs_std"][:, i], theirs["obs_std"][:, i])
        for i in MOVING_SENSORS
    }
    means = [lidar_groups(stats["obs_mean"]).mean(-1) for stats in (mine, theirs)]
    groups = range(means[0].shape[1])
    check(pvalues | {f"lidar {i}": two_sample(means[0][:, i], means[1][:, i]) for i in groups})


@on(*TASKS)
def test_first_observations(name):
    """Layouts as the lidars see them: the nearest of each group, and how much of the circle each
    group fills.
    """
    policies = ("random", "scripted")
    mine = lidar_groups(np.concatenate([ours(name)[policy]["obs0"] for policy in policies]))
    theirs = lidar_groups(np.concatenate([reference(name, policy)["obs0"] for policy in policies]))
    check(
        {
            f"{label} {group}": two_sample(statistic(mine[:, group]), statistic(theirs[:, group]))
            for group in range(mine.shape[1])
            for label, statistic in (("nearest", lambda x: x.max(-1)), ("sum", lambda x: x.sum(-1)))
        }
    )


@on(*TASKS)
def test_first_heading_is_uniform(name):
    """By the magnetometer, which reads -(sin, cos) / 2 of the heading."""
    obs = np.concatenate([ours(name)[policy]["obs0"] for policy in ("random", "scripted")])
    heading = np.arctan2(-obs[:, 9], -obs[:, 10])
    assert kstest(heading, "uniform", (-np.pi, 2 * np.pi)).pvalue > 0.01
