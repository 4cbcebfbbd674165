"""Rollouts: what the host's collector gives the learner is what the device's gives, and both hold
together.
"""

from functools import cache

import jax
import numpy as np
import pytest

from saddle import checkpoint
from saddle.config import Member
from saddle.learners import PPO
from saddle.multipliers import Fixed
from saddle.population import Population

HOPPER = "SafetyHopperVelocity-v1"
MEMBERS = (Member(1, Fixed(0.5)), Member(2, Fixed(2.0)))


@cache
def hopper(layout):
    ppo = PPO(
        layout=layout, steps_per_epoch=320, worlds=4, batch=160, passes=2, hidden=(8,), window=20
    )
    return Population(HOPPER, ppo, MEMBERS, 3200, engine="native")


def run(population, state, epochs):
    rows = []
    for _ in range(epochs):
        state, metrics = population.epoch(state)
        rows.append(metrics)
    return state, rows


def equal(a, b):
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.array_equal(x, y, equal_nan=True) for x, y in pairs)


@pytest.mark.parametrize("layout", ["study", "wide"])
def test_worlds_on_the_host(layout, tmp_path):
    """Episodes finish early and count, and a resumed run goes on bit by bit."""
    population = hopper(layout)
    _, through = run(population, population.init(), 4)
    assert sum(row["episodes"].sum() for row in through) > 0
    assert (
        np.isfinite(through[-1]["window_return"]).all() and through[-1]["window_length"].max() < 80
    )
    state, before = run(population, population.init(), 2)
    checkpoint.save(tmp_path / "state", state, {})
    state, _ = checkpoint.load(tmp_path / "state", like=population.init_shape())
    assert equal(through, before + run(population, state, 2)[1])


def test_clocks_of_worlds_on_the_host_are_spread_in_the_wide_layout():
    """Four worlds, 250 steps each an epoch, clocks a quarter of an episode apart: first the one at
    0 is a whole one.
    """
    ppo = PPO(
        layout="wide", steps_per_epoch=1000, worlds=4, hidden=(4,), passes=1, batch=1000, window=2
    )
    population = Population(
        "SafetyHalfCheetahVelocity-v1", ppo, [Member(limits=(25.0,))], 5000, engine="native"
    )
    state = population.init()
    assert state.worlds is not None
    assert state.worlds.state["steps"].tolist() == [0, 250, 500, 750]
    counted = []
    for _ in range(5):
        worlds, moments, rollout = population.rollout(state)
        state = state._replace(epoch=state.epoch + 1, worlds=worlds, moments=moments)
        counted.append(int(rollout.counted.sum()))
    assert counted == [0, 0, 0, 1, 1]
