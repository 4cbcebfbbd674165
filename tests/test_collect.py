"""Rollouts: what the host's collector gives the learner is what the device's gives, and both hold
together.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.running import through_a_file

import saddle
from saddle import tasks
from saddle.collect.host import HostCollector
from saddle.collect.settings import largest_divisor
from saddle.collect.steps import acting_key, first_keys, no_moments
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
    state = through_a_file(population, state, tmp_path / "state")
    assert equal(through, before + run(population, state, 2)[1])


def by_hand(task, learner, actor, seen, keys, steps):
    """What the policy did, step by step, and what that led to, in worlds that stay as they are."""
    worlds = task.worlds(seen.shape[0] * seen.shape[1])
    seeds = jax.vmap(jax.random.bits)(first_keys(keys, seen.shape[1]))
    worlds.reset(np.asarray(seeds).astype(np.uint64))
    act = jax.jit(jax.vmap(learner.act))
    rows = []
    for t in range(steps):
        decision = act(actor, seen, jax.vmap(acting_key, (0, None))(keys, t))
        step = worlds.step(np.asarray(decision.action).reshape(-1, task.spec.action_dim))
        rows.append((seen, decision.action, decision.extras.log_prob, step.final_obs, step.reward))
        seen = jnp.asarray(step.obs).reshape(seen.shape)
    return [np.stack([np.asarray(row[i]) for row in rows]) for i in range(5)]


def test_a_rollout_is_what_a_plain_loop_finds():
    """Deciding in the call that takes in the step before changes no bit of it."""
    settings = PPO(steps_per_epoch=400, worlds=4, hidden=(8,), obs_norm=False)
    task = tasks.make(HOPPER, engine="native")
    learner = settings.learner(task.spec)
    keys = jax.vmap(jax.random.key)(jnp.arange(2, dtype=jnp.uint32))
    actor = learner.actor(jax.vmap(learner.init)(keys))
    collector = HostCollector(task, settings, learner, members=2)
    moments = no_moments(2, task.spec.obs_dim)
    worlds, recent = collector.fresh(moments, keys)
    found = by_hand(task, learner, actor, worlds.seen, keys, 100)
    _, _, rollout = collector.collect(actor, moments, recent, worlds, keys)
    signal = np.asarray(rollout.signal)
    assert rollout.ended.sum() > 0
    mine = (rollout.obs, rollout.action, rollout.extras.log_prob, rollout.next_obs, signal[..., 0])
    for one, other in zip(mine, found, strict=True):
        np.testing.assert_array_equal(np.asarray(one).reshape(100, -1), other.reshape(100, -1))


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
        worlds, moments, rollout = population.compiled_rollout()(state)
        state = state._replace(epoch=state.epoch + 1, worlds=worlds, moments=moments)
        counted.append(int(rollout.counted.sum()))
    assert counted == [0, 0, 0, 1, 1]


def whole_episodes(population, state, epochs):
    """How many whole episodes ended in each of so many epochs, and the state after them."""
    found = []
    for _ in range(epochs):
        state, metrics = population.epoch(state)
        found.append(int(metrics["episodes"][0]))
    return found, state


def four_worlds(task, steps):
    """Four worlds, in the layout that spreads them over the clock, and so many steps an epoch."""
    settings = PPO(
        layout="wide", steps_per_epoch=steps, worlds=4, hidden=(4,), passes=1, batch=steps
    )
    return Population(saddle.make(task), settings, [Member()], 40 * steps)


def test_worlds_that_cannot_be_saved_stay_apart_when_training_goes_on(tmp_path):
    """Their episodes are begun anew, and would all end in one epoch of four ever after."""
    task = "toy_environments:Unpicklable?cost=info:cost&length=8"
    population = four_worlds(task, 8)
    _, state = whole_episodes(population, population.init(), 5)
    assert state.worlds is not None and "state" not in state.worlds.state
    other = four_worlds(task, 8)
    resumed = through_a_file(other, state, tmp_path / "state")
    clocks = []
    for _ in range(8):
        resumed, _ = other.epoch(resumed)
        assert resumed.worlds is not None
        clocks.append(sorted(resumed.worlds.state["steps"].tolist()))
    assert clocks == [[0, 2, 4, 6]] * 8


def test_worlds_that_begin_anew_by_themselves_are_not_spread_over_the_clock():
    """Nobody else can end their episodes, which were cut short to spread them."""
    population = four_worlds("toy_environments:SameStep?cost=info:cost&length=5", 20)
    found, _ = whole_episodes(population, population.init(), 3)
    assert found == [4, 4, 4]


@given(each=st.integers(1, 30_000), length=st.integers(1, 2000))
def test_worlds_have_room_for_a_whole_episode_where_an_epoch_has(each, length):
    worlds = PPO(steps_per_epoch=each).worlds_for(length)
    assert each % worlds == 0
    steps = each // worlds
    assert steps >= length or worlds == 1
    if each % length == 0:
        assert steps == length


@given(number=st.integers(1, 5000), most=st.integers(1, 6000))
def test_the_largest_divisor_is_that_of_a_search(number, most):
    divisors = [one for one in range(1, number + 1) if number % one == 0]
    assert largest_divisor(number, most) == max(one for one in divisors if one <= most)
