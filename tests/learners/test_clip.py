"""The clipped surrogate, of the weighed advantage or of each objective apart, beside the same
written out.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saddle.learners import PPO
from saddle.learners.networks import plain
from saddle.learners.networks.gaussian import Gaussian
from saddle.learners.ppo import minibatch

pytestmark = pytest.mark.exact

OBS, ACT, COSTS, SAMPLES = 3, 2, 2, 40
FAMILY = Gaussian(ACT)
FIRST_MOMENT = 0.1  # of the gradient, that Adam keeps of its first


def learner(apart):
    return PPO(hidden=(6, 6), rsi="off", max_grad_norm=1e9, clip_apart=apart)


def drawn(key):
    """Samples some of whose ratios lie outside of what is clipped, at multipliers of their own."""
    keys = iter(jax.random.split(key, 8))
    sizes = {"obs": OBS, "action": ACT, "output": ACT, "advantage": 1 + COSTS, "target": 1 + COSTS}
    arrays = {name: jax.random.normal(next(keys), (SAMPLES, size)) for name, size in sizes.items()}
    lam = jax.random.uniform(next(keys), (SAMPLES, COSTS), maxval=5.0)
    state = minibatch.init(next(keys), learner(False), OBS, FAMILY, COSTS)
    output = plain.output(learner(False), state.actor.net, arrays["obs"])
    log_prob = FAMILY.log_prob(output, state.actor.log_std, arrays["action"])
    moved = 0.3 * jax.random.normal(next(keys), (SAMPLES,))
    return state, minibatch.Samples(**arrays, log_prob=log_prob + moved, lam=lam)


def written_out(actor, samples, apart):
    """The loss: minus the mean of min(ratio A, clip(ratio) A), summed over what is clipped."""
    output = plain.output(learner(apart), actor.net, samples.obs)
    ratio = jnp.exp(FAMILY.log_prob(output, actor.log_std, samples.action) - samples.log_prob)
    signs = jnp.concatenate([jnp.ones((SAMPLES, 1)), -samples.lam], 1)
    terms = signs * samples.advantage / (1 + samples.lam.sum(1, keepdims=True))
    if not apart:
        terms = terms.sum(1, keepdims=True)
    ratio = ratio[:, None]
    return -jnp.minimum(ratio * terms, jnp.clip(ratio, 0.8, 1.2) * terms).sum(1).mean()


@functools.partial(jax.jit, static_argnums=1)
def both(key, apart):
    """Loss and gradient of the minibatch, and of the loss that is written out."""
    ppo = learner(apart)
    state, samples = drawn(key)
    _, views = minibatch.join(ppo, *minibatch.split(ppo, state))
    weight = jnp.full(SAMPLES, 1 / SAMPLES)
    after, stats = minibatch.minibatch(ppo, FAMILY, state, views, samples, weight, jnp.zeros(()))
    wanted = jax.value_and_grad(written_out)(state.actor, samples, apart)
    return (stats.loss_pi, after.actor_adam.mu), wanted


@pytest.mark.parametrize("apart", [False, True])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31 - 1))
def test_the_gradient_is_that_of_the_clipped_loss(apart, seed):
    (loss, moments), (wanted_loss, wanted) = both(jax.random.key(seed), apart)
    np.testing.assert_allclose(loss, wanted_loss, rtol=1e-4, atol=1e-5)
    jax.tree.map(
        lambda mu, grad: np.testing.assert_allclose(mu, FIRST_MOMENT * grad, atol=1e-5),
        moments,
        wanted,
    )


def test_objectives_that_are_clipped_apart_are_another_loss():
    weighed = both(jax.random.key(0), False)[1][0]
    apart = both(jax.random.key(0), True)[1][0]
    assert abs(float(weighed) - float(apart)) > 1e-3
