"""SAC in a population: what its replay holds, when it learns, that runs resume and stand alone."""

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.running import run, same, through_a_file
from learners.toys import Broken, Regulator, TwoPrices

from saddle.collect.rollout import Rollout
from saddle.config import Member
from saddle.learners import SAC
from saddle.learners.sac import replay
from saddle.members import BAD_OBSERVATION, BAD_UPDATE
from saddle.multipliers import PID, Fixed, GradientAscent
from saddle.population import Population

SMALL = SAC(
    steps_per_epoch=60,
    random_steps=100,
    replay=150,
    batch=16,
    rsi_batch=8,
    rsi_every=3,
    hidden=(8,),
    actor_lr=1e-3,
)
MEMBERS = (
    Member(3, Fixed(0.5), (1.0,)),
    Member(3, Fixed(2.0), (1.0,)),
    Member(4, GradientAscent(lr=0.1), (0.0,)),
    Member(5, PID(), (0.0,)),
)


@cache
def population(members=MEMBERS, cores=None, **changes):
    return Population(Regulator(), replace(SMALL, **changes), members, 1200, cores=cores)


def rows_of(state, filled, written=None):
    """The replay's first rows of all members, as a batch of [M, filled]."""
    kept = jax.tree.map(np.asarray, state.members.learner.replay)
    places = jnp.broadcast_to(jnp.arange(filled), (len(kept.seen), filled))
    batch = replay.transitions(kept, places, jnp.int32(written or filled), 1)
    return jax.tree.map(np.asarray, batch)


# The replay.


def test_rows_hold_what_happened_and_what_really_followed():
    """x' = x + a holds in every row, also in those that end an episode, and episodes go on over
    cycles and epochs.
    """
    state, _ = run(population(), 2)
    rows = rows_of(state, 120)
    obs, after, action = rows.obs[..., 0], rows.next_obs[..., 0], rows.action[..., 0]
    np.testing.assert_allclose(after, obs + action, atol=1e-6)
    follows = np.isclose(obs[:, 1:], after[:, :-1], atol=1e-6)
    ends = np.flatnonzero(~follows.all(0)) + 1
    np.testing.assert_array_equal(ends, [20, 40, 60, 80, 100])
    reward = -((after - 1) ** 2) - action**2 / 2
    np.testing.assert_allclose(rows.signal[..., 0], reward, atol=1e-5)
    np.testing.assert_allclose(rows.signal[..., 1], after**2, atol=1e-5)
    assert (rows.goes_on == 1).all()  # the toy only truncates


def test_the_oldest_rows_give_way():
    """150 rows, 180 steps: the last 30 lie over the first."""
    state, _ = run(population(), 3)
    before, _ = run(population(), 2)
    now, then = rows_of(state, 150, written=180), rows_of(before, 120)
    assert (now.action[:, :30] != then.action[:, :30]).all()
    for kept, known in zip(now, then, strict=True):
        np.testing.assert_array_equal(kept[:, 30:120], known[:, 30:120])


def rollout_of(steps, worlds=1, **changes):
    """Steps of two members that tell their number."""
    shape = (steps, 2, worlds)
    number = jnp.arange(steps * 2.0 * worlds).reshape(shape)
    no = jnp.zeros(shape, bool)
    fields = {
        "obs": number[..., None],
        "next_obs": number[..., None] + 0.3,
        "action": -number[..., None],
        "extras": (),
        "signal": jnp.stack([number, 2 * number], -1),
        "terminated": no,
        "ended": no,
        "truncated": no,
        "finished": jnp.zeros((*shape, 3)),
        "counted": no,
    }
    return Rollout(**(fields | changes))


def spec():
    return Regulator().spec


def empty(size, replay_type="float32", worlds=1):
    cycle = min(SMALL.cycle, size - size % worlds)
    sac = replace(
        SMALL,
        replay=size,
        replay_type=replay_type,
        batch=4,
        worlds=worlds,
        cycle=cycle,
        steps_per_epoch=cycle,
    )
    return jax.vmap(lambda _: replay.empty(sac, spec()))(jnp.arange(2))


WRITTEN = jax.jit(replay.written)


def test_a_batch_never_sees_an_empty_row():
    kept = replay.written(empty(40), rollout_of(7), jnp.int32(0))
    keys = jax.random.split(jax.random.key(0), 2)
    batch = replay.drawn(kept, keys, 500, jnp.int32(7), 1)
    assert set(np.asarray(batch.obs[0, :, 0])) == set(range(0, 14, 2))
    assert set(np.asarray(batch.obs[1, :, 0])) == set(range(1, 14, 2))
    np.testing.assert_allclose(batch.next_obs, batch.obs + 0.3, rtol=1e-6)
    np.testing.assert_array_equal(batch.action, -batch.obs)
    np.testing.assert_array_equal(batch.signal[..., 1], 2 * batch.obs[..., 0])


def test_a_full_ring_is_drawn_from_as_a_whole():
    kept = empty(30)
    for before in (0, 20, 40):
        kept = replay.written(kept, rollout_of(20), jnp.int32(before))
    batch = replay.drawn(kept, jax.random.split(jax.random.key(0), 2), 2000, jnp.int32(60), 1)
    counts = np.bincount(np.asarray(batch.obs[0, :, 0]).astype(int), minlength=40)
    # The last 20 steps are there once, those before them with their last 10.
    assert (counts[20:40:2] > counts[:20:2] * 1.3).all() and (counts[:20:2] > 20).all()


@pytest.mark.parametrize(
    ("terminated", "truncated", "goes_on"),
    [(False, False, 1), (True, False, 0), (False, True, 1), (True, True, 1)],
)
def test_values_follow_unless_an_episode_terminates_before_its_time_is_up(
    terminated, truncated, goes_on
):
    shape = (4, 2, 1)
    flags: dict[str, Any] = {
        "terminated": jnp.full(shape, terminated),
        "truncated": jnp.full(shape, truncated),
        "ended": jnp.full(shape, terminated or truncated),
    }
    kept = replay.written(empty(20), rollout_of(4, **flags), jnp.int32(0))
    batch = replay.drawn(kept, jax.random.split(jax.random.key(0), 2), 8, jnp.int32(4), 1)
    np.testing.assert_array_equal(batch.goes_on, np.full((2, 8), goes_on))


class Remembered:
    """All that two members of two worlds did, a list of transitions in order of time for each."""

    def __init__(self, draw):
        self.draw = draw
        self.shown = draw.normal(size=(2, 2)).round(1)
        self.rows = [[], []]

    def steps(self, count, restarts):
        """A rollout of so many steps. Episodes end in all ways, and sometimes nothing changes;
        where `restarts`, worlds were started anew before.
        """
        if restarts:
            self.shown = self.draw.normal(size=(2, 2)).round(1)
        fields = {name: [] for name in ("obs", "next_obs", "terminated", "truncated", "action")}
        for _ in range(count):
            after = self.draw.choice([-1.0, 0.0, 1.0], (2, 2))
            terminated = self.draw.random((2, 2)) < 0.15
            truncated = self.draw.random((2, 2)) < 0.1
            action = self.draw.normal(size=(2, 2)).astype(np.float32)
            for name, value in (
                ("obs", self.shown),
                ("next_obs", after),
                ("terminated", terminated),
                ("truncated", truncated),
                ("action", action),
            ):
                fields[name].append(value)
            over = terminated & ~truncated
            for member in range(2):
                for world in range(2):
                    at = member, world
                    row = (self.shown[at], after[at], action[at], 1.0 - over[at])
                    self.rows[member].append(row)
            fresh = self.draw.normal(size=(2, 2)).round(1)
            self.shown = np.where(terminated | truncated, fresh, after)
        stacked: dict[str, Any] = {}
        for name, values in fields.items():
            stacked[name] = jnp.asarray(np.array(values))
        for name in ("obs", "next_obs", "action"):
            stacked[name] = stacked[name].astype(jnp.float32)[..., None]
        stacked["ended"] = stacked["terminated"] | stacked["truncated"]
        return rollout_of(count, 2, **stacked)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.booleans(), min_size=1, max_size=8),
    st.sampled_from([20, 7, 6]),
)
def test_observations_kept_once_are_all_that_was_seen(seed, restarts, room):
    """Beside a list of whole transitions: rollouts of 3 steps of 2 worlds, in a ring of 20 rows, or
    of so few that one row, or none, is left of the rollout before.
    """
    seen = Remembered(np.random.default_rng(seed))
    kept = empty(room, worlds=2)
    for number, restarted in enumerate(restarts):
        kept = WRITTEN(kept, seen.steps(3, restarted), jnp.int32(6 * number))
    filled = 6 * len(restarts)
    known = min(filled, room)
    numbers = np.arange(filled - known, filled)
    places = jnp.broadcast_to(jnp.asarray(numbers % room), (2, known))
    found = replay.transitions(kept, places, jnp.int32(filled), 1)
    for member in range(2):
        obs, next_obs, action, goes_on = np.array(seen.rows[member], np.float32)[numbers].T
        np.testing.assert_array_equal(found.obs[member, :, 0], obs)
        np.testing.assert_array_equal(found.action[member, :, 0], action)
        np.testing.assert_array_equal(found.goes_on[member], goes_on)
        valued = goes_on == 1
        np.testing.assert_array_equal(found.next_obs[member, valued, 0], next_obs[valued])


def test_an_end_that_is_no_longer_kept_is_its_own_next_observation():
    """There is room for 20 // 20 + 2 ends, but for a cycle's 20; 21 rows are cut short."""
    shape = (21, 2, 1)
    flags: dict[str, Any] = {"truncated": jnp.ones(shape, bool), "ended": jnp.ones(shape, bool)}
    kept = replay.written(empty(40), rollout_of(21, **flags), jnp.int32(0))
    kept = replay.written(kept, rollout_of(1), jnp.int32(21))
    places = jnp.broadcast_to(jnp.arange(21), (2, 21))
    found = replay.transitions(kept, places, jnp.int32(22), 1)
    lost, *there = np.asarray(found.next_obs[0] - found.obs[0])[:, 0]
    assert lost == 0
    np.testing.assert_allclose(there, 0.3, rtol=1e-5)


def test_narrow_rows_are_rounded_and_rewards_are_not():
    kept = replay.written(empty(40, "bf16"), rollout_of(40), jnp.int32(0))
    exact = replay.written(empty(40), rollout_of(40), jnp.int32(0))
    keys = jax.random.split(jax.random.key(0), 2)
    ours, theirs = (replay.drawn(own, keys, 64, jnp.int32(40), 1) for own in (kept, exact))
    np.testing.assert_allclose(ours.next_obs, theirs.next_obs, rtol=2**-8)
    assert not np.array_equal(ours.next_obs, theirs.next_obs)
    np.testing.assert_array_equal(ours.signal, theirs.signal)
    assert kept.seen.nbytes == exact.seen.nbytes // 2


# When it learns.


def test_the_first_update_follows_the_random_cycles():
    """Cycles that begin at 0, 20, ..., 100 are random: six of them; the seventh is learned from."""
    state, rows = run(population(), 2)
    assert state.members.learner.updates.tolist() == [0] * 4
    untouched = population().init().members.learner.networks
    assert same(state.members.learner.networks, untouched)
    state, more = run(population(), 1, state)
    assert state.members.learner.updates.tolist() == [3] * 4
    assert not same(state.members.learner.networks.actor, untouched.actor)
    for name in ("loss_q", "q_r", "beta", "loss_pi"):
        assert all(np.isnan(row[name]).all() for row in rows), name
        assert np.isfinite(more[0][name]).all(), name


def test_random_actions_are_uniform_and_every_world_has_its_own():
    state, _ = run(population(layout="wide"), 1)
    action = rows_of(state, 60).action[..., 0]
    assert np.abs(action).max() <= 1 and len(np.unique(action[0])) == 60
    np.testing.assert_array_equal(action[0], action[1])  # of the same seed
    assert not np.array_equal(action[1], action[2])
    np.testing.assert_allclose(action[1:].mean(), 0, atol=0.15)
    np.testing.assert_allclose(action[1:].std(), 3**-0.5, atol=0.06)


def test_lambda_stays_while_actions_are_random():
    """The cycle that begins at step 100 is the last one that is random, and ends the second epoch
    of 60: the third is the first to count.
    """
    _, rows = run(population(), 5)
    prices = np.array([row["lambda"][:, 0] for row in rows])
    np.testing.assert_array_equal(prices[:3, 2:], np.ones((3, 2)))
    assert (np.diff(prices[2:, 2:], axis=0) != 0).all()
    np.testing.assert_array_equal(prices[:, :2], np.tile([0.5, 2.0], (5, 1)))


def test_many_worlds_keep_the_ratio_and_end_one_after_the_other():
    """20 worlds, a step of each a cycle; episodes of 20 steps, so that one ends with every cycle.
    Those that began with the clock in their midst do not count.
    """
    state, rows = run(population(layout="wide"), 9)
    assert [int(row["episodes"][0]) for row in rows] == [0] * 6 + [2, 3, 3]
    assert all(np.all(row["length"] == 20) for row in rows[6:])
    assert state.members.learner.updates.tolist() == [21] * 4
    assert state.members.learner.steps.tolist() == [540] * 4
    rows = rows_of(state, 150, written=540)
    np.testing.assert_allclose(rows.next_obs[..., 0], (rows.obs + rows.action)[..., 0], atol=1e-6)


# What a population promises.


def test_members_with_one_seed_meet_the_same_while_actions_are_random():
    _, rows = run(population(), 4)
    for row in rows[:2]:
        assert row["return"][0] == row["return"][1] != row["return"][2]
    assert rows[-1]["loss_pi"][0] != rows[-1]["loss_pi"][1]


@pytest.mark.exact
def test_a_member_alone_is_the_member_in_a_population():
    """Exactly, on one core; `test_cores.py` has several."""
    whole, together = run(population(cores=1), 4)
    part, alone = run(population(MEMBERS[2:3]), 4)
    for theirs, ours in zip(together, alone, strict=True):
        for name in theirs:
            np.testing.assert_array_equal(ours[name][0], theirs[name][2], err_msg=name)
    own = jax.tree.map(lambda leaf: leaf[2], whole.members.learner)
    assert same(own, jax.tree.map(lambda leaf: leaf[0], part.members.learner))


@pytest.mark.exact
def test_members_may_be_updated_together():
    """As on a GPU: the same up to rounding."""
    task = Population(Regulator(), SMALL, MEMBERS, 1200)
    task._learner.together = True  # type: ignore[attr-defined]
    _, rows = run(task, 4)
    for theirs, ours in zip(run(population(), 4)[1], rows, strict=True):
        for name in theirs:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-3, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(("layout", "replay_type"), [("study", "bf16"), ("wide", "float32")])
def test_a_resumed_run_goes_on_bit_by_bit(layout, replay_type, tmp_path):
    task = population(layout=layout, replay_type=replay_type)
    end, through = run(task, 5)
    state, before = run(task, 3)
    state = through_a_file(task, state, tmp_path / "state")
    resumed, after = run(task, 2, state)
    assert same(through, before + after)
    assert same(end.members, resumed.members)
    assert task.compiled == 1


def test_worlds_on_the_host_resume_too(tmp_path):
    settings = replace(SMALL, worlds=2, steps_per_epoch=80)
    task = Population("SafetyHopperVelocity-v1", settings, MEMBERS[:2], 800, engine="native")
    end, through = run(task, 4)
    state, before = run(task, 2)
    state = through_a_file(task, state, tmp_path / "state")
    resumed, after = run(task, 2, state)
    assert same(through, before + after)
    assert same(end.members, resumed.members)
    assert sum(row["episodes"].sum() for row in through) > 0
    assert end.members.learner.updates.tolist() == [10, 10]


def test_several_constraints_have_a_critic_each_and_cycles_several_updates():
    members = [Member(0, Fixed((0.5, 0.2)), (9.0, 9.0))]
    settings = replace(SMALL, random_steps=0, updates=4)
    state, rows = run(Population(TwoPrices(), settings, members, 600), 2)
    assert state.members.learner.updates.tolist() == [20]  # after each cycle but the first
    assert len(state.members.learner.networks.critics.costs) == 2
    for name in ("q_c", "beta", "grad_c", "loss_qc", "lambda"):
        assert rows[-1][name].shape == (1, 2) and np.isfinite(rows[-1][name]).all(), name


def test_a_member_whose_world_breaks_stays_and_the_others_go_on():
    members = tuple(Member(seed) for seed in range(8))
    settings = replace(SMALL, steps_per_epoch=20, cycle=4, random_steps=10, replay=64)
    task = Population(Broken(), settings, members, 400)
    state, rows = run(task, 6)
    lost = rows[-1]["failed"] > 0
    assert 0 < lost.sum() < 8 and set(rows[-1]["failed"]) == {0, BAD_OBSERVATION}
    assert np.isfinite(rows[-1]["loss_q"][~lost]).all()
    for i in range(8):
        assert all(np.isfinite(leaf).all() for leaf in task.policy(state, i).values())


def test_an_update_that_is_not_finite_is_not_taken():
    """Costs of 1e30 are finite, their squared errors are not."""

    class Dear(Regulator):
        def step(self, state, action):
            after = super().step(state, action)
            return replace(after, cost=after.cost * 1e30)

    task = Population(Dear(), SMALL, MEMBERS[:1], 1200)
    state, rows = run(task, 4)
    assert rows[-1]["failed"].tolist() == [BAD_UPDATE]
    assert same(state.members.learner.networks.actor, task.init().members.learner.networks.actor)
