"""What a population promises: members are independent, a resumed run goes on bit by bit, failures
stay alone.
"""

from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners.running import same
from learners.toys import Broken, Chain, Toy, begin, spec

from saddle import checkpoint
from saddle.config import Member
from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.members import BAD_OBSERVATION, REASONS
from saddle.multipliers import PID, Fixed, GradientAscent
from saddle.population import Population
from saddle.tasks import State, TaskSpec

SMALL = PPO(steps_per_epoch=200, batch=64, passes=3, hidden=(8,), window=30, target_kl=0.01)
MEMBERS = (
    Member(3, Fixed(0.1)),
    Member(3, Fixed(5.0)),
    Member(4, GradientAscent(), (2.0,)),
    Member(5, PID(), (2.0,)),
)


@cache
def population(layout="study", members=MEMBERS):
    return Population(Chain(), PPO(**{**vars(SMALL), "layout": layout}), members, 2000)


def run(population, state=None, epochs=3):
    """State and metrics of each epoch."""
    state, rows = population.init() if state is None else state, []
    for _ in range(epochs):
        state, metrics = population.epoch(state)
        rows.append(metrics)
    return state, rows


def policies(population, state):
    return [population.policy(state, i) for i in range(len(population.members))]


def test_members_with_one_seed_start_alike_and_meet_the_same_worlds():
    """Common random numbers: lambda is all that differs."""
    state = population().init()
    first, second, other, _ = policies(population(), state)
    assert same(first, second) and not same(first, other)
    _, (metrics, *_) = run(population(), state, 1)
    assert metrics["return"][0] == metrics["return"][1] != metrics["return"][2]
    assert metrics["lambda"][0] != metrics["lambda"][1]


@pytest.mark.parametrize("layout", ["study", "wide"])
def test_a_member_does_not_depend_on_its_company(layout):
    """Alone and last of four: the same up to rounding, and exactly so in what is random."""
    (_, together), (_, alone) = run(population(layout)), run(population(layout, MEMBERS[3:]))
    for whole, part in zip(together, alone, strict=True):
        for key in whole:
            np.testing.assert_allclose(
                part[key][0], whole[key][3], rtol=2e-3, atol=2e-4, err_msg=key
            )
    assert alone[0]["return"][0] == together[0]["return"][3]


@pytest.mark.parametrize("layout", ["study", "wide"])
def test_a_resumed_run_goes_on_bit_by_bit(layout, tmp_path):
    task = population(layout)
    _, through = run(task, epochs=4)
    state, before = run(task, epochs=2)
    checkpoint.save(tmp_path / "state", task.to_save(checkpoint.snapshot(state)), {"note": 1})
    saved, facts = checkpoint.load(tmp_path / "state", like=task.saved_shape())
    state = task.restored(saved)
    assert facts == {"note": 1} and task.epoch_of(state) == 2
    _, after = run(task, state, 2)
    assert same(through, before + after)
    assert task.compiled == 1  # a restored state runs the program that is compiled already


def test_kl_stops_each_member_by_itself():
    _, rows = run(population(), epochs=1)
    kl, passes = rows[0]["kl"], rows[0]["passes"]
    assert np.all((kl > SMALL.target_kl) | (passes == SMALL.passes)) and np.all(passes >= 1)


@cache
def broken():
    """A population of which some members break, the state of its last epoch, and the metrics of
    all.
    """
    members = tuple(Member(seed) for seed in range(12))
    task = Population(
        Broken(), PPO(steps_per_epoch=12, batch=12, passes=1, hidden=(4,)), members, 1200
    )
    return task, *run(task, epochs=12)


def test_a_broken_member_is_marked_and_the_others_go_on():
    task, state, rows = broken()
    failed = np.array([row["failed"] for row in rows])
    assert 0 < np.sum(failed[-1] > 0) < 12 and set(failed[-1]) == {0, BAD_OBSERVATION}
    assert BAD_OBSERVATION in REASONS
    assert np.all(np.diff((failed > 0).astype(int), axis=0) >= 0)
    lost = failed[-1] > 0
    assert np.isnan(rows[-1]["return"][lost]).all() and np.isfinite(rows[-1]["return"][~lost]).all()
    assert all(
        np.isfinite(leaf).all() for leaf in policies(task, state)[int(np.argmax(lost))].values()
    )


def test_wide_counts_whole_episodes_only():
    """Two worlds, 100 steps each an epoch, clocks at 0 and 5: the second one's first five steps are
    no episode.
    """
    _, rows = run(population("wide"))
    assert all(np.all(row["length"] == 10) for row in rows)
    assert [row["episodes"].tolist() for row in rows] == [[19] * 4, [20] * 4, [20] * 4]


@pytest.mark.parametrize(
    ("members", "steps", "message"),
    [
        ((), 2000, "at least one member"),
        (MEMBERS, 100, "less than one epoch"),
        ((Member(0, Fixed(), (1.0, 2.0)),), 2000, "one limit per constraint"),
    ],
)
def test_bad_populations(members, steps, message):
    with pytest.raises(SaddleError, match=message):
        Population(Chain(), SMALL, members, steps)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Member(limits=(-1.0,)), "0 or more"),
        (lambda: Member(limits=(float("nan"),)), "0 or more"),
        (lambda: Fixed(-0.1), "0 or more"),
        (lambda: PID(delay=0), "between 1 and 32"),
        (lambda: PID(ema_p=1.0), "below 1"),
        (lambda: PPO(worlds=3), "divisor"),
        (lambda: PPO(hidden=()), "at least one layer"),
        (lambda: PPO(gamma=1.5), r"\[0, 1\]"),
    ],
)
def test_bad_configs(make, message):
    with pytest.raises(SaddleError, match=message):
        make()


def test_worlds_that_broke_down_are_counted():
    _, _, rows = broken()
    np.testing.assert_array_equal(rows[0]["diverged"], [4] * 12)
    _, (metrics,) = run(population(), epochs=1)
    assert "diverged" not in metrics


@dataclass(frozen=True)
class Blank(Toy):
    """What it shows is not a number in episodes that start badly."""

    spec: TaskSpec = spec("Blank", 1, 6)

    def reset(self, key):
        return State(**begin(self.spec, key, jnp.ones(1)))

    def step(self, state, action):
        odd = jax.random.uniform(state.key) < 0.05
        obs = jnp.where(odd, jnp.nan, action)
        return self._after(state, reward=action[0], cost=jnp.ones(1), obs=obs)


def test_what_a_broken_member_saw_is_not_remembered():
    """Else all that it does from then on is not a number, which a simulator may refuse."""
    settings = PPO(steps_per_epoch=12, batch=12, passes=1, hidden=(4,))
    population = Population(Blank(), settings, [Member(seed) for seed in range(8)], 1200)
    state, rows = run(population, epochs=10)
    lost = rows[-1]["failed"] > 0
    assert 0 < lost.sum() < 8
    for leaf in state.moments:
        assert np.isfinite(leaf).all()
