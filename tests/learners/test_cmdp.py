"""Whole training runs on tasks whose best policy at every lambda is known in closed form.

Scale invariance and the reward's standardisation are off here, so that lambda means what it means
in the Lagrangian.
"""

from functools import cache

import numpy as np
import pytest
from learners.running import stacked
from learners.toys import Bandit, Chain, Choices, Regulator, TwoPrices
from scipy.optimize import brentq
from scipy.special import expit, softmax

from saddle.config import Member
from saddle.learners import PPO
from saddle.multipliers import (
    PID,
    AntiWindupPID,
    AugmentedLagrangian,
    Fixed,
    GradientAscent,
    MultiplicativeAscent,
    OptimisticAscent,
    RegularisedAscent,
)
from saddle.population import Population

PLAIN = {
    "rsi": "off",
    "standardise": False,
    "obs_norm": False,
    "hidden": (16, 16),
    "target_kl": 1e9,
    "critic_l2": 0.0,
}


def train(task, members, epochs, **settings):
    """Metrics [epochs, members, ...] by name."""
    ppo = PPO(**(PLAIN | settings))
    return stacked(Population(task, ppo, members, epochs * ppo.steps_per_epoch))


def last(values, share=0.2):
    """Mean over the end of training."""
    return values[-max(1, int(len(values) * share)) :].mean(0)


BANDIT = dict(steps_per_epoch=512, batch=256, passes=6, actor_lr=0.01, log_std=-2.5, window=512)  # noqa: C408


@cache
def bandit():
    fixed = [Member(0, Fixed(lam)) for lam in (0.0, 0.5, 1.0, 3.0)]
    moving = [
        GradientAscent(init=0.2, lr=0.03),
        GradientAscent(init=0.2, lr=0.5, optimizer="plain"),
        PID(0.2, 1, 0.2),
        AntiWindupPID(0.2, ki=0.05),
        AugmentedLagrangian(0.2, rho=0.1, rho_max=1.0),
        OptimisticAscent(0.2, 0.3),
        RegularisedAscent(0.2, 0.3, 0.02),
        MultiplicativeAscent(0.2, 0.1),
    ]
    return train(Bandit(), fixed + [Member(0, rule, (0.25,)) for rule in moving], 100, **BANDIT)


def test_bandit_fixed_lambda_lands_on_the_frontier():
    """a = 1 / (1 + lambda); the frontier is R = -(1 - sqrt C)^2."""
    cost, ret = last(bandit()["cost"])[:4, 0], last(bandit()["return"])[:4]
    best = 1 / (1 + np.array([0.0, 0.5, 1.0, 3.0]))
    np.testing.assert_allclose(cost, best**2, atol=0.03)
    np.testing.assert_allclose(ret, -((1 - np.sqrt(cost)) ** 2), atol=0.03)


def test_bandit_moving_lambda_finds_lambda_star_and_the_limit():
    """At the limit 0.25, lambda* = 1."""
    np.testing.assert_allclose(last(bandit()["cost"])[4:, 0], 0.25, atol=0.04)
    np.testing.assert_allclose(last(bandit()["lambda"])[4:, 0], 1.0, atol=0.15)


BOTH_BIND, ONE_BINDS = (0.4444 + 0.25, 0.25), (9.0, 0.25)


@cache
def two_prices():
    """Fixed multipliers, one for each constraint and one for both; then rules that move them."""
    members = [Member(0, Fixed(lam), (9.0, 9.0)) for lam in ((0.5, 0.5), (0.0, 1.0), 0.5)]
    for limits in (BOTH_BIND, ONE_BINDS):
        members.append(Member(0, GradientAscent((0.3, 0.3), 0.3, "plain"), limits))
    members.append(Member(0, GradientAscent(0.3, 0.02), BOTH_BIND))
    members.append(Member(0, PID((0.3, 0.3), 1, 0.15), BOTH_BIND))
    return train(TwoPrices(), members, 100, **BANDIT)


def best(lambdas):
    """Costs [..., 2] and return [...] of the best policy at lambdas [..., 2]."""
    a, b = 1 / (1 + lambdas[..., 0]), 1 / (1 + lambdas.sum(-1))
    return np.stack([a**2 + b**2, b**2], -1), -((a - 1) ** 2) - (b - 1) ** 2


def test_a_multiplier_for_each_constraint_lands_on_the_frontier():
    got = two_prices()
    for key in ("cost", "window_cost", "lambda", "beta", "loss_vc", "ev_c", "grad_c"):
        assert got[key].shape[1:] == (7, 2), key
    lambdas = np.array([(0.5, 0.5), (0.0, 1.0), (0.5, 0.5)])
    np.testing.assert_array_equal(got["lambda"][:, :3], np.tile(lambdas, (100, 1, 1)))
    np.testing.assert_array_equal(got["cost"][:, 2], got["cost"][:, 0])
    costs, returns = best(lambdas)
    np.testing.assert_allclose(last(got["cost"])[:3], costs, atol=0.06)
    np.testing.assert_allclose(last(got["return"])[:3], returns, atol=0.05)


def test_rules_find_both_multipliers_together():
    """At BOTH_BIND lambda* is (0.5, 0.5); where the first limit is loose it is (0, 1)."""
    got = two_prices()
    lambdas, costs = last(got["lambda"], 0.4), last(got["cost"], 0.4)
    for member in (3, 5, 6):
        np.testing.assert_allclose(costs[member], BOTH_BIND, atol=0.06)
        np.testing.assert_allclose(lambdas[member], (0.5, 0.5), atol=0.2)
    assert costs[4, 1] == pytest.approx(0.25, abs=0.04) and costs[4, 0] < 9
    assert lambdas[4, 0] < 1e-3 and lambdas[4, 1] == pytest.approx(1, abs=0.2)


def choosing(lam, bonus):
    """Return and cost of the best policy of `Choices`."""
    task, ret, cost = Choices(), 0.0, 0.0
    weight = bonus / len(task.spec.choices)  # the bonus is a mean over actions
    for rewards, costs in zip(task.rewards, task.costs, strict=True):
        worth = (np.array(rewards) - lam * np.array(costs)) / (1 + lam)
        share = softmax(worth / weight)
        ret += share @ np.array(rewards)
        cost += share @ np.array(costs)
    return ret, cost


def test_choices_land_on_the_frontier_and_find_lambda_star():
    bonus, limit = 0.4, 0.5
    wanted = root(lambda lam: choosing(lam, bonus)[1] - limit, 0, 10)
    lams = (0.0, 1.0, 3.0)
    members = [Member(0, Fixed(lam)) for lam in lams]
    members.append(Member(0, GradientAscent(0.5, 0.5, "plain"), (limit,)))
    got = train(
        Choices(),
        members,
        80,
        entropy=bonus,
        **(BANDIT | {"log_std": 0.0, "steps_per_epoch": 1024, "window": 1024}),
    )
    for i, lam in enumerate(lams):
        ret, cost = choosing(lam, bonus)
        assert last(got["return"])[i] == pytest.approx(ret, abs=0.03)
        assert last(got["cost"])[i, 0] == pytest.approx(cost, abs=0.03)
    assert last(got["cost"])[3, 0] == pytest.approx(limit, abs=0.03)
    assert last(got["lambda"])[3, 0] == pytest.approx(wanted, rel=0.15)


def root(f, low, high) -> float:
    return brentq(f, low, high)  # type: ignore[return-value]


def chain_action(lam):
    return root(lambda a: expit(a) * expit(-a) * (1 - lam) - 0.2 * a, -5, 5)


def test_chain():
    """Cost per episode of 10 steps is 10 sigmoid(a)."""
    lams, limit = (0.0, 0.5, 2.0), 4.0
    wanted = root(lambda lam: 10 * expit(chain_action(lam)) - limit, 0, 5)
    members = [Member(0, Fixed(lam)) for lam in lams] + [
        Member(0, GradientAscent(0.5, 0.05, "plain"), (limit,))
    ]
    got = train(
        Chain(),
        members,
        50,
        steps_per_epoch=2000,
        batch=500,
        passes=4,
        actor_lr=0.003,
        log_std=-0.7,
        gamma=0.9,
        cost_gamma=0.9,
    )
    expected = [10 * expit(chain_action(lam)) for lam in lams]
    np.testing.assert_allclose(last(got["cost"])[:3, 0], expected, atol=0.5)
    np.testing.assert_allclose(last(got["cost"])[3, 0], limit, atol=0.4)
    np.testing.assert_allclose(last(got["lambda"])[3, 0], wanted, atol=0.5)


def regulator(lam):
    """Return and cost of the best linear policy x' = x + k (target - x), over starts in [-0.5,
    1.5].
    """
    quadratic, target = 1 + lam, 1 / (1 + lam)
    p, gamma = 0.0, 0.99
    for _ in range(500):  # the discounted Riccati recursion in one dimension
        held = quadratic + gamma * p
        p = held * 0.5 / (held + 0.5)
    k = held / (held + 0.5)
    x, ret, cost = np.linspace(-0.5, 1.5, 2001), 0.0, 0.0
    for _ in range(20):
        a = k * (target - x)
        x = x + a
        ret, cost = ret + (-((x - 1) ** 2) - a**2 / 2).mean(), cost + (x**2).mean()
    return ret, cost


def test_regulator():
    lams = (0.25, 1.0)
    got = train(
        Regulator(),
        [Member(0, Fixed(lam)) for lam in lams],
        80,
        steps_per_epoch=4000,
        batch=500,
        passes=8,
        actor_lr=0.003,
        critic_lr=0.003,
        log_std=-1.2,
    )
    for i, (ret, cost) in enumerate(map(regulator, lams)):
        assert last(got["cost"])[i, 0] == pytest.approx(cost, rel=0.1, abs=0.5)
        assert last(got["return"])[i] == pytest.approx(ret, rel=0.1, abs=0.6)
