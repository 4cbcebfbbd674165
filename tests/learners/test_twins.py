"""A closed-form task as an environment of Gymnasium is learned as its twin in JAX is.

Worlds, noise and arithmetic differ, so that policies agree to the noise of training; that the JAX
twin is right is in test_cmdp.
"""

import numpy as np
import pytest
from learners.test_cmdp import BANDIT, PLAIN, last
from learners.toys import Bandit, Choices, TwoCosts

import saddle
from saddle.config import Member
from saddle.learners import PPO
from saddle.multipliers import Fixed, GradientAscent
from saddle.population import Population

ASCENT = GradientAscent(0.5, 0.5, "plain")
TWINS = {
    "Bandit": (Bandit(), "?cost=info:cost&length=1", (0.25,), {}),
    "TwoCosts": (TwoCosts(), "?cost=info:near&cost=info:far&length=1", (9.0, 1.44), {}),
    "Choices": (Choices(), "?cost=info:cost&length=1", (0.5,), {"entropy": 0.4, "log_std": 0.0}),
}


def train(task, limits, changes):
    """Return, cost and lambda at the end: two fixed multipliers, and ascent to the limits."""
    ppo = PPO(**(PLAIN | BANDIT | changes))
    members = [Member(0, rule, limits) for rule in (Fixed(0.25), Fixed(1.0), ASCENT)]
    population = Population(task, ppo, members, 70 * ppo.steps_per_epoch)
    state, rows = population.init(), []
    for _ in range(population.epochs):
        state, metrics = population.epoch(state)
        rows.append(metrics)
    return {key: last(np.stack([row[key] for row in rows])) for key in ("return", "cost", "lambda")}


SLOW = ("Bandit", "Choices")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in TWINS]
)
def test_an_environment_is_learned_as_its_twin_is(name):
    twin, options, limits, changes = TWINS[name]
    task = saddle.make(f"learners.twins:{name}Env{options}")
    assert task.spec.choices == twin.spec.choices
    assert len(task.spec.constraints) == len(twin.spec.constraints)
    ours, theirs = (train(one, limits, changes) for one in (task, twin))
    np.testing.assert_allclose(ours["return"], theirs["return"], atol=0.06)
    np.testing.assert_allclose(ours["cost"], theirs["cost"], atol=0.1)
    np.testing.assert_allclose(ours["lambda"], theirs["lambda"], rtol=0.2, atol=0.1)
