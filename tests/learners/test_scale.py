"""Reward-scale invariance: the published beta, and the one with bounds."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.toys import Regulator

from saddle.collect.rollout import Rollout
from saddle.config import Member
from saddle.errors import SaddleError
from saddle.learners import PPO, SAC, scale
from saddle.learners.ppo.learner import in_units
from saddle.learners.ppo.minibatch import PPOState
from saddle.multipliers import Fixed
from saddle.population import Population

LEARNERS = (PPO, SAC)
NORMS = st.floats(0, 1e6, width=32)


def betas(learner, norms):
    """Beta of one constraint after each pair of norms, of the reward and of the cost."""
    beta = scale.start(learner, 1)
    found = []
    for reward, cost in norms:
        beta = scale.refreshed(learner, beta, jnp.float32(reward), jnp.array([cost], jnp.float32))
        found.append(float(beta[0]))
    return found


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_published_beta_begins_with_the_first_ratio_and_has_no_bound(kind):
    assert np.isnan(scale.start(kind(), 2)).all()
    found = betas(kind(), [(2.0, 1.0), (1.0, 1.0), (1.0, 0.0)])
    np.testing.assert_allclose(found, [2.0, 1.9, 0.9 * 1.9 + 1e7], rtol=1e-5)


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_bounded_beta_begins_at_one_and_clips_each_ratio_before_the_mean(kind):
    bounded = kind(rsi="bounded")
    np.testing.assert_array_equal(scale.start(bounded, 3), np.ones(3))
    norms = jnp.array([0.0, 1e9, 0.5])
    found = scale.refreshed(bounded, scale.start(bounded, 3), jnp.float32(1.0), norms)
    np.testing.assert_allclose(found, [1.9, 0.91, 1.1], rtol=1e-6)  # of 10, 0.1 and 2
    back = betas(bounded, [(1.0, 0.0), (1.0, 1.0)])
    np.testing.assert_allclose(back, [1.9, 1.81], rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(NORMS, NORMS), min_size=1, max_size=8),
    st.floats(1, 100),
    st.floats(0, 1),
)
def test_beta_stays_within_its_bounds_whatever_the_gradients(norms, bound, ema):
    found = betas(PPO(rsi="bounded", rsi_max=bound, rsi_ema=ema), norms)
    assert all(1 / bound * (1 - 1e-5) <= beta <= bound * (1 + 1e-5) for beta in found)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.floats(0.5, 2), st.floats(0.5, 2)), min_size=60, max_size=60))
def test_within_the_bounds_both_forget_where_they_began(norms):
    """Ratios of 1/4 to 4 are never clipped, so after 60 of them a start of 1 has left 0.2 %."""
    free, bounded = betas(PPO(), norms)[-1], betas(PPO(rsi="bounded"), norms)[-1]
    assert bounded == pytest.approx(free, abs=0.9**59 * 4)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-8, 8, width=16), min_size=1, max_size=30),
    st.integers(-6, 6),
)
def test_a_cost_unit_is_that_of_the_costs_that_were_met(costs, power):
    some = np.array(costs, np.float32)[:, None]
    met = some[some != 0]
    found = scale.unit(jnp.asarray(some))
    wanted = np.sqrt(np.mean(met.astype(np.float64) ** 2)) if met.size else 0.0
    np.testing.assert_allclose(found, [wanted], rtol=1e-5)
    if met.size:
        np.testing.assert_array_equal(
            scale.unit(jnp.asarray(some * np.float32(2) ** power)), found * 2.0**power
        )


@pytest.mark.parametrize("size", [1e-25, 1e-19, 1.0, 1e19, 1e25])
def test_a_cost_unit_holds_costs_whose_squares_have_no_number(size):
    costs = np.array([[0.0], [0.5], [1.0], [2.0]])
    found = scale.unit(jnp.asarray(costs * size, jnp.float32))
    np.testing.assert_allclose(found, [size * np.sqrt(5.25 / 3)], rtol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_costs_of_0_and_1_are_in_their_unit_to_the_last_bit(costs):
    found = scale.unit(jnp.array(costs, jnp.float32)[:, None])
    np.testing.assert_array_equal(found, [float(any(costs))])


def steps_of(signal):
    """A rollout [T, M, W] of which only the signal is known."""
    nothing = dict.fromkeys(Rollout._fields)
    return Rollout(**{**nothing, "signal": signal})


def before_any_cost(members, constraints):
    """The state of members of which only the unit is known."""
    nothing = dict.fromkeys(PPOState._fields)
    return PPOState(**{**nothing, "unit": jnp.zeros((members, constraints))})


BOUNDED = PPO(rsi="bounded")


def test_a_bounded_beta_sees_costs_alike_whatever_they_are_counted_in():
    """One member counts costs in units that are 64 times smaller, and one meets none."""
    rng = np.random.default_rng(0)
    signal = rng.random((5, 1, 4, 3), np.float32)
    counted = np.array([1, 64, 1], np.float32)
    quiet = np.array([1, 0, 0], np.float32)
    rollout = steps_of(jnp.concatenate([signal, signal * counted, signal * quiet], 1))

    state, found = in_units(BOUNDED, before_any_cost(3, 2), rollout)
    once, again, none = np.moveaxis(np.asarray(found.signal), 1, 0)
    np.testing.assert_array_equal(once, again)
    np.testing.assert_array_equal(once[..., 0], signal[:, 0, :, 0])
    np.testing.assert_allclose(np.sqrt((once[..., 1:] ** 2).mean((0, 1))), 1, rtol=1e-5)
    np.testing.assert_array_equal(none, signal[:, 0] * quiet)
    np.testing.assert_allclose(state.unit[1] / state.unit[0], [64, 1])
    np.testing.assert_array_equal(state.unit[2], [0, 0])
    before = before_any_cost(3, 2)
    assert in_units(PPO(), before, rollout) == (before, rollout)


def test_the_unit_is_the_largest_so_far():
    costs = np.array([2.0, 1e-6, 0.0, 8.0])
    state = before_any_cost(1, 1)
    for cost, unit in zip(costs, [2.0, 2.0, 2.0, 8.0], strict=True):
        signal = jnp.broadcast_to(jnp.array([0.0, cost], jnp.float32), (3, 1, 2, 2))
        state, found = in_units(BOUNDED, state, steps_of(signal))
        np.testing.assert_allclose(state.unit, [[unit]])
        np.testing.assert_allclose(found.signal[..., 1], cost / unit, rtol=1e-6)


@dataclass(frozen=True)
class Weighed(Regulator):
    """Its place is held within 3. The squared place costs `weight`; where that is 0, being far out
    costs as a steep sigmoid does.
    """

    weight: float = 1.0

    def step(self, state, action):
        x = jnp.clip(state.place + action[0], -3, 3)
        reward = -((x - 1) ** 2) - action[0] ** 2 / 2
        cost = self.weight * x**2 if self.weight else jax.nn.sigmoid(20 * (x - 6))
        return self._after(state, reward=reward, cost=cost[None], obs=x[None], place=x)


@pytest.mark.parametrize("weight", [1e-6, 0.0])
def test_costs_may_be_counted_in_any_unit(weight):
    """At lambda 1 an episode returns some -1 where costs are counted in ones, and so it does where
    they are counted in millionths; costs of the size of 1e-26 are numbers like others.
    """
    ppo = PPO(
        steps_per_epoch=1000,
        hidden=(16, 16),
        passes=8,
        batch=250,
        actor_lr=3e-3,
        critic_lr=3e-3,
        rsi="bounded",
        log_std=-0.5,
    )
    members = [Member(seed, Fixed(1.0)) for seed in range(2)]
    population = Population(Weighed(weight=weight), ppo, members, 25_000)
    state = population.init()
    for _ in range(25):
        state, metrics = population.epoch(state)
    np.testing.assert_array_equal(metrics["failed"], 0)
    if weight:
        assert metrics["return"].mean() > -6


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"rsi": False}, "rsi is False; it must be one of 'published', 'bounded', 'off'"),
        ({"rsi": "on"}, "rsi is 'on'; it must be one of"),
        ({"rsi_max": 0.5}, "rsi_max is 0.5; it must be 1 or more"),
        ({"rsi_ema": 1.5}, "rsi_ema is 1.5"),
    ],
)
def test_settings_that_mean_nothing_are_refused(kind, changes, complaint):
    with pytest.raises(SaddleError, match=complaint) as caught:
        kind(**changes)
    assert "\n" not in str(caught.value)
