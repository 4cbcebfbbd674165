"""Whole trainings of SAC on tasks whose best policy at every lambda is known in closed form.

Scale invariance is off here, so that lambda means what it means in the Lagrangian.
"""

from functools import cache

import numpy as np
import pytest
from learners.running import stacked
from learners.test_cmdp import last, regulator, root
from learners.toys import Bandit, Regulator

from saddle.config import Member
from saddle.learners import SAC
from saddle.multipliers import PID, Fixed, GradientAscent
from saddle.population import Population

SMALL = {
    "rsi": "off",
    "random_steps": 4000,
    "replay": 40_000,
    "hidden": (32, 32),
    "actor_lr": 1e-3,
    "critic_lr": 3e-3,
    "alpha": 0.01,
}


def train(task, members, epochs, **settings):
    """Metrics [epochs, members, ...] by name."""
    sac = SAC(**(SMALL | settings))
    return stacked(Population(task, sac, members, epochs * sac.steps_per_epoch))


LAMBDAS = (0.5, 1.0, 3.0)


@cache
def bandit():
    """Fixed multipliers, then rules at the limit 0.25."""
    members = [Member(0, Fixed(lam)) for lam in LAMBDAS]
    for rule in (GradientAscent(init=0.5, lr=0.03), PID(0.2, 0.2, 0.05)):
        members.append(Member(0, rule, (0.25,)))
    nothing_follows = {"gamma": 0.0, "cost_gamma": 0.0, "polyak": 0.05}
    pace = {"steps_per_epoch": 400, "window": 100, "layout": "wide"}
    return train(Bandit(), members, 100, **nothing_follows, **pace)


def test_bandit():
    """a = 1 / (1 + lambda), which is the frontier R = -(1 - sqrt C)^2; at the limit 0.25, lambda*
    is 1.
    """
    got = bandit()
    cost, ret = last(got["cost"])[:, 0], last(got["return"])
    best = 1 / (1 + np.array(LAMBDAS))
    np.testing.assert_allclose(cost[:3], best**2, atol=0.06)
    np.testing.assert_allclose(ret, -((1 - np.sqrt(cost)) ** 2), atol=0.03)
    np.testing.assert_allclose(cost[3:], 0.25, atol=0.04)
    np.testing.assert_allclose(last(got["lambda"])[3:, 0], 1.0, atol=0.2)


def test_critics_say_what_episodes_come_to():
    """Where nothing follows a step they are told the truth itself."""
    got = bandit()
    for signal in "rc":
        said, came = (last(got[f"start_{what}_{signal}"]) for what in ("q", "mc"))
        np.testing.assert_allclose(said, came, atol=0.02)
        own = last(got["return"]) if signal == "r" else last(got["cost"])
        np.testing.assert_allclose(came, own, atol=0.01)


@pytest.mark.slow
def test_regulator():
    """Values of many steps, through targets and episodes that are cut off by their time limit."""
    limit, lams = 6.5, (0.25, 1.0)
    wanted = root(lambda lam: regulator(lam)[1] - limit, 0.1, 2.0)
    members = [Member(0, Fixed(lam)) for lam in lams]
    members.append(Member(0, GradientAscent(init=0.3, lr=0.05), (limit,)))
    pace = {"steps_per_epoch": 1000, "window": 50, "batch": 128}
    got = train(Regulator(), members, 60, polyak=0.01, **pace)
    for i, (ret, cost) in enumerate(map(regulator, lams)):
        assert last(got["cost"])[i, 0] == pytest.approx(cost, rel=0.1, abs=0.7)
        assert last(got["return"])[i] == pytest.approx(ret, rel=0.1, abs=0.6)
    assert last(got["cost"])[2, 0] == pytest.approx(limit, abs=0.8)
    assert last(got["lambda"])[2, 0] == pytest.approx(wanted, abs=0.2)
