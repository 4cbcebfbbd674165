"""Epochs that are made of cycles: collecting and learning many times, one end."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from learners.running import run, same, through_a_file
from learners.tally import TallySettings
from learners.toys import Broken, Chain

from saddle.config import Member
from saddle.errors import SaddleError
from saddle.learners import SAC
from saddle.members import BAD_OBSERVATION, BAD_UPDATE, check_metrics
from saddle.multipliers import Fixed, GradientAscent
from saddle.population import Population

HOPPER = "SafetyHopperVelocity-v1"
MEMBERS = (Member(3, Fixed(0.5), (0.0,)), Member(4, GradientAscent(lr=0.1), (0.0,)))
SMALL: dict[str, Any] = {"steps_per_epoch": 60, "worlds": 2, "cycle": 20, "window": 4}


@cache
def population(members=MEMBERS, **settings):
    return Population(Chain(), TallySettings(**(SMALL | settings)), members, 600)


@cache
def hopper():
    settings = TallySettings(**SMALL)
    return Population(HOPPER, settings, MEMBERS, 600, engine="native")


@pytest.mark.parametrize("make", [population, hopper])
def test_an_epoch_learns_once_a_cycle(make):
    """Whole numbers are added up over cycles; of others the mean is taken, where there are any."""
    state, rows = run(make(), 2)
    np.testing.assert_array_equal(state.members.learner.calls, [6, 6])
    np.testing.assert_array_equal(state.members.learner.steps, [120, 120])
    assert [row["calls"].tolist() for row in rows] == [[3, 3], [3, 3]]
    assert [row["odd"].tolist() for row in rows] == [[2, 2], [5, 5]]  # of 1 and 3, and of 5
    np.testing.assert_allclose([row["progress"][0] for row in rows], [1 / 30, 4 / 30])
    assert make().compiled == 1


@pytest.mark.parametrize("worlds", [1, 2])
def test_episodes_go_on_over_cycles_and_epochs(worlds):
    """A chain's episode has 10 steps; cycles of 4 and epochs of 12 cut none of them short."""
    few = population(steps_per_epoch=12, cycle=4, worlds=worlds)
    _, rows = run(few, 10)
    assert sum(int(row["episodes"][0]) for row in rows) == 12 if worlds == 1 else 11
    lengths = [row["length"][0] for row in rows if row["episodes"][0]]
    assert set(lengths) == {10.0}


def test_cycles_meet_what_one_rollout_would_meet():
    """Actions do not depend on how an epoch is divided, nor do worlds."""
    _, divided = run(population(), 3)
    _, other = run(population(cycle=30), 3)
    for a, b in zip(divided, other, strict=True):
        for name in ("return", "cost", "episodes", "window_cost", "lambda"):
            np.testing.assert_array_equal(a[name], b[name])
        assert not np.array_equal(a["draw"], b["draw"])


def test_every_cycle_has_keys_of_its_own():
    _, rows = run(population(cycle=2, steps_per_epoch=4), 3)
    draws = [row["draw"][0] for row in rows]
    assert len(set(draws)) == 3


def test_lambda_moves_once_an_epoch_in_which_an_episode_ended():
    """Epochs of 4 steps of a world, episodes of 10: in two of five one ends."""
    few = population(steps_per_epoch=4, cycle=2, worlds=1)
    _, rows = run(few, 10)
    prices = np.array([row["lambda"][1, 0] for row in rows])
    ended = np.array([row["episodes"][1] for row in rows])
    np.testing.assert_array_equal(np.diff(prices) > 0, ended[:-1] > 0)
    assert ended.sum() == 4
    assert all(row["lambda"][0] == 0.5 for row in rows)
    np.testing.assert_array_equal(rows[-1]["price"], rows[-1]["lambda"])  # that was learned with


def test_lambda_rests_at_first():
    """An epoch moves it when more steps are done than `rest`."""
    for rest, first in ((0, 1), (60, 2), (119, 2), (120, 3)):
        _, rows = run(population(rest=rest), 4)
        prices = [float(row["lambda"][1, 0]) for row in rows]
        assert [price > 1 for price in prices] == [epoch >= first for epoch in range(4)]


def test_lambda_rests_until_the_last_cycle_that_is_random_has_ended():
    """Cycles that begin up to step 100 are random; the one that begins there ends at 110."""
    settings = SAC(cycle=10, steps_per_epoch=20, random_steps=100, clock="update")
    assert settings.rule_clock.rest == 110
    assert SAC(random_steps=0).rule_clock.rest == SAC().cycle, "the first one always is"


def test_lambda_may_move_after_every_cycle():
    """The same cost is used again until another episode ends."""
    few = population(steps_per_epoch=20, cycle=2, worlds=1, each_cycle=True)
    _, rows = run(few, 2)
    # The first episode ends with cycle 5 of 10, so that lambda has moved 5 times before cycle 10,
    # and it is what cycle 10 learns with that the epoch tells.
    steps = 0.1 * np.array([5, 15])  # of Adam
    np.testing.assert_allclose([row["lambda"][1, 0] for row in rows], 1 + steps, rtol=0.01)


def test_a_member_does_not_depend_on_its_company():
    _, together = run(population(), 3)
    _, alone = run(population(MEMBERS[1:]), 3)
    for whole, part in zip(together, alone, strict=True):
        for name in whole:
            np.testing.assert_array_equal(part[name][0], whole[name][1], err_msg=name)


@pytest.mark.parametrize("make", [population, hopper])
def test_a_resumed_run_goes_on_bit_by_bit(make, tmp_path):
    task = make()
    _, through = run(task, 4)
    state, before = run(task, 2)
    state = through_a_file(task, state, tmp_path / "state")
    _, after = run(task, 2, state)
    assert same(through, before + after)


def test_a_member_that_fails_stops_in_its_cycle_and_the_others_go_on():
    members = tuple(Member(seed) for seed in range(12))
    settings = TallySettings(steps_per_epoch=12, cycle=2, worlds=1)
    state, rows = run(Population(Broken(), settings, members, 240), 12)
    failed = np.array([row["failed"] for row in rows])
    lost = failed[-1] > 0
    assert 0 < lost.sum() < 12 and set(failed[-1]) == {0, BAD_OBSERVATION}
    assert np.all(np.diff((failed > 0).astype(int), axis=0) >= 0)
    calls = np.asarray(state.members.learner.calls)
    assert (calls[~lost] == 72).all() and (calls[lost] < 72).all()
    np.testing.assert_array_equal(rows[0]["diverged"], [4] * 12)


def test_an_unsound_member_is_marked():
    _, rows = run(population(breaks=4), 2)
    assert rows[0]["failed"].tolist() == [0, 0]
    assert rows[1]["failed"].tolist() == [BAD_UPDATE] * 2


@pytest.mark.parametrize("name", ["cost", "failed", "lambda"])
def test_a_learner_logs_nothing_that_every_run_logs(name):
    settings = TallySettings(**SMALL)
    metrics = dict.fromkeys(settings.metrics) | {name: None}
    with pytest.raises(SaddleError, match=f"logs '{name}', which every run logs already"):
        check_metrics(settings, metrics, {"cost": None, "failed": None, "lambda": None})  # type: ignore[arg-type]
