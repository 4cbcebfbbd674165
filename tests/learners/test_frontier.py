"""It learns: a small budget on SafetyPointCircle1-v0 already draws a frontier, along which return
and cost fall.
"""

import numpy as np
import pytest

from saddle.config import Member
from saddle.multipliers import Fixed
from saddle.population import Population
from saddle.study.presets import QUICKSTART

LAMBDAS, EPOCHS, LAST = (0.1, 2.0, 10.0), 40, 8


@pytest.mark.slow
def test_return_and_cost_fall_as_lambda_grows():
    members = [Member(0, Fixed(lam), (25.0,)) for lam in LAMBDAS]
    ppo = QUICKSTART.learner
    population = Population("SafetyPointCircle1-v0", ppo, members, EPOCHS * ppo.steps_per_epoch)
    state, rows = population.init(), []
    for _ in range(EPOCHS):
        state, metrics = population.epoch(state)
        rows.append((metrics["return"], metrics["cost"][:, 0]))
    first = np.mean(rows[:2], axis=0)[0]
    returns, costs = np.mean(rows[-LAST:], axis=0)
    assert returns[0] > first.max() + 15, "the least constrained policy has learned to circle"
    assert returns[0] > returns[1] + 8 and returns[1] > returns[2] + 5
    assert costs[0] > costs[1] + 50 and costs[1] > costs[2] - 5
    assert costs[2] < 10
