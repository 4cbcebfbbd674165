"""Networks against automatic differentiation and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from saddle.config import PPO
from saddle.learners import networks
from saddle.learners.networks import Actor


@pytest.mark.parametrize("activation", ["elu", "tanh", "relu"])
def test_weighted_gradients_are_those_of_automatic_differentiation(activation):
    ppo = PPO(hidden=(7, 5), activation=activation)
    keys = jax.random.split(jax.random.key(0), 4)
    layers = networks.init_layers(keys[0], (3, 7, 5, 2))
    x, last = jax.random.normal(keys[1], (11, 3)), jax.random.normal(keys[2], (11, 2))
    weights = jax.random.normal(keys[3], (3, 11))
    _, inputs = networks.forward(ppo, layers, x)
    found = networks.deltas(ppo, layers, inputs, last)
    got = networks.weighted_gradients(ppo, inputs, found, weights)
    for weight, ours in zip(weights, got, strict=True):
        objective = lambda p, weight=weight: jnp.sum(weight[:, None] * last * networks.apply(ppo, p, x))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), ours, jax.grad(objective)(layers))
    plain = networks.gradient(ppo, inputs, found, jnp.ones(11))
    objective = lambda p: jnp.sum(last * networks.apply(ppo, p, x))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), plain, jax.grad(objective)(layers))


def test_bf16_stays_close():
    keys = jax.random.split(jax.random.key(0), 2)
    layers = networks.init_layers(keys[0], (3, 64, 64, 2))
    x = jax.random.normal(keys[1], (50, 3))
    exact, rounded = (networks.apply(PPO(precision=how), layers, x) for how in ("highest", "bf16"))
    assert rounded.dtype == np.float32
    np.testing.assert_allclose(rounded, exact, atol=2e-2)
    assert np.abs(rounded - exact).max() > 0


def test_initial_weights_fill_their_interval():
    (w, b), _ = networks.init_layers(jax.random.key(1), (16, 400, 1))
    for values in (w, b):
        assert np.abs(values).max() <= 0.25
    assert stats.kstest(np.ravel(w), "uniform", (-0.25, 0.5)).pvalue > 0.01


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.floats(-2, 2)] * 4), min_size=2, max_size=2))
def test_log_prob_and_kl(rows):
    mean, log_std, other, other_std = (jnp.array(column, np.float32) for column in zip(*rows, strict=True))
    actor = Actor((), jnp.asarray(log_std))
    expected = stats.norm.logpdf(other, mean, np.exp(log_std)).sum()
    np.testing.assert_allclose(networks.log_prob(actor, mean, other), expected, rtol=1e-3, atol=1e-3)
    sigma, sigma_2 = np.exp(np.array(log_std, float)), np.exp(np.array(other_std, float))
    kl = (np.log(sigma_2 / sigma) + (sigma**2 + (mean - other) ** 2) / (2 * sigma_2**2) - 0.5).sum()
    got = networks.kl(mean, log_std, other, other_std)
    np.testing.assert_allclose(got, kl, rtol=1e-4, atol=1e-4)
    assert got >= -1e-5
