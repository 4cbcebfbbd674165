"""Values of next observations: those that are known are not evaluated again, and nothing else
changes.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from saddle.collect.rollout import Rollout
from saddle.learners import PPO
from saddle.learners.networks import plain
from saddle.learners.ppo import learner

SMALL = PPO(hidden=(8, 8), precision="highest")
STEPS, MEMBERS, WORLDS, INPUTS = 24, 2, 4, 3
EVERY = dict.fromkeys(Rollout._fields)


def _critics() -> tuple:
    nets = lambda seed: jax.vmap(lambda k: plain.init_critic(k, SMALL, INPUTS))(
        jax.random.split(jax.random.key(seed), 2)
    )
    return nets(0), nets(1)


@jax.jit
def _both(obs: jax.Array, final: jax.Array, ended: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What `_next_values` finds, and the values of all next observations."""
    rollout: Any = Rollout(**{**EVERY, "obs": obs, "next_obs": final, "ended": ended})
    values = learner._values(SMALL, _critics(), obs)
    return learner._next_values(SMALL, _critics(), rollout, values), learner._values(
        SMALL, _critics(), final
    )


@given(st.integers(0, 999), st.floats(0, 0.3))
def test_next_values_are_the_values_of_next_observations(seed, rate):
    """From no episode that ends to more than there is room for."""
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(STEPS + 1, MEMBERS, WORLDS, INPUTS)).astype(np.float32)
    ended = rng.random((STEPS, MEMBERS, WORLDS)) < rate
    final = np.where(ended[..., None], rng.normal(size=obs[1:].shape).astype(np.float32), obs[1:])
    ours, expected = _both(obs[:-1], final, ended)
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


def test_few_are_evaluated_at_a_time(monkeypatch):
    """In every member: as many as the last step's worlds and one in so many more."""
    evaluated = []
    evaluate = learner._evaluate
    monkeypatch.setattr(
        learner, "_evaluate", lambda *args: evaluated.append(args[2].shape[1]) or evaluate(*args)
    )
    zero = jnp.zeros((STEPS, MEMBERS, WORLDS, INPUTS))
    rollout: Any = Rollout(
        **{**EVERY, "obs": zero, "next_obs": zero, "ended": jnp.zeros(zero.shape[:3], bool)}
    )
    jax.eval_shape(
        lambda: learner._next_values(SMALL, _critics(), rollout, jnp.zeros((*zero.shape[:3], 2)))
    )
    assert set(evaluated) == {WORLDS + STEPS * WORLDS // learner.FEW}
