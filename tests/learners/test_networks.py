"""Networks against automatic differentiation and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from saddle.learners import PPO
from saddle.learners.networks import plain
from saddle.learners.networks.categorical import Categorical
from saddle.learners.networks.gaussian import Gaussian
from saddle.learners.ppo import learner


@pytest.mark.parametrize("activation", ["elu", "tanh", "relu"])
def test_weighted_gradients_are_those_of_automatic_differentiation(activation):
    ppo = PPO(hidden=(7, 5), activation=activation)
    keys = jax.random.split(jax.random.key(0), 4)
    net = plain.init_net(keys[0], (3, 7, 5, 2))
    x, last = jax.random.normal(keys[1], (11, 3)), jax.random.normal(keys[2], (11, 2))
    weights = jax.random.normal(keys[3], (3, 11))

    @jax.jit
    def ours(net):
        _, inputs = plain.forward(ppo, net, x)
        squares, found = plain.weighted_squares(ppo, net, inputs, last, weights)
        return plain.weighted_gradients(ppo, net, inputs, found, weights), squares

    @jax.jit
    def automatic(net):
        output = lambda net: plain.forward(ppo, net, x)[0]
        return jax.jacrev(lambda net: jnp.sum(weights[:, :, None] * last * output(net), (1, 2)))(
            net
        )

    (weighted, squares), expected = ours(net), automatic(net)
    for k, found in enumerate(weighted):
        np.testing.assert_allclose(
            squares[k], sum(np.sum(leaf[k] ** 2) for leaf in jax.tree.leaves(expected)), rtol=1e-4
        )
        jax.tree.map(
            lambda ours, theirs, k=k: np.testing.assert_allclose(ours, theirs[k], atol=2e-5),
            found,
            expected,
        )


def test_regression_is_that_of_automatic_differentiation():
    ppo = PPO(hidden=(7, 5))
    keys = jax.random.split(jax.random.key(1), 4)
    net = plain.init_net(keys[0], (3, 7, 5, 1))
    x, target, weight = (
        jax.random.normal(keys[1], (11, 3)),
        jax.random.normal(keys[2], (11,)),
        jnp.arange(11.0) / 55,
    )
    error = lambda net: plain.forward(ppo, net, x)[0][:, 0] - target
    ours, errors = plain.regression(ppo, net, x, target, weight)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5),
        (ours, errors),
        (jax.grad(lambda net: jnp.sum(weight * error(net) ** 2))(net), error(net)),
    )


def test_bf16_stays_close():
    keys = jax.random.split(jax.random.key(0), 2)
    critic = plain.init_net(keys[0], (3, 64, 64, 1))
    x = jax.random.normal(keys[1], (50, 3))
    value = lambda how: plain.forward(PPO(hidden=(64, 64), precision=how), critic, x)[0]
    exact, rounded = value("highest"), value("bf16")
    assert rounded.dtype == np.float32
    np.testing.assert_allclose(rounded, exact, atol=2e-2)
    assert np.abs(rounded - exact).max() > 0


def test_advantages_come_from_unrounded_values():
    keys = jax.random.split(jax.random.key(0), 3)
    critics = [
        jax.vmap(lambda key: plain.init_net(key, (3, 64, 64, 1)))(jax.random.split(k, 2))
        for k in keys[:2]
    ]
    obs = jax.random.normal(keys[2], (5, 2, 4, 3))
    exact, ours = (
        learner._values(PPO(hidden=(64, 64), precision=how), tuple(critics), obs)
        for how in ("highest", "bf16")
    )
    np.testing.assert_allclose(ours, exact, atol=1e-5)


def test_initial_weights_fill_their_interval():
    first = np.concatenate(
        [part.ravel() for part in plain.init_net(jax.random.key(1), (16, 400, 1))[0]]
    )
    assert np.abs(first).max() <= 0.25
    assert stats.kstest(first, "uniform", (-0.25, 0.5)).pvalue > 0.01


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.floats(-2, 2)] * 4), min_size=2, max_size=2))
def test_log_prob_and_kl(rows):
    mean, log_std, other, other_std = (
        jnp.array(column, np.float32) for column in zip(*rows, strict=True)
    )
    family = Gaussian(2)
    expected = stats.norm.logpdf(other, mean, np.exp(log_std)).sum()
    np.testing.assert_allclose(
        family.log_prob(mean, log_std, other), expected, rtol=1e-3, atol=1e-3
    )
    sigma, sigma_2 = np.exp(np.array(log_std, float)), np.exp(np.array(other_std, float))
    kl = (np.log(sigma_2 / sigma) + (sigma**2 + (mean - other) ** 2) / (2 * sigma_2**2) - 0.5).sum()
    got = family.kl(mean, log_std, other, other_std)
    np.testing.assert_allclose(got, kl, rtol=1e-4, atol=1e-4)
    assert got >= -1e-5


LOGITS = st.lists(st.floats(-4, 4), min_size=5, max_size=5)
CATEGORIES = Categorical((3, 2))
NO_SPREAD = jnp.zeros(0)


def shares(logits):
    """Probabilities of the three choices of the first action, and of the two of the second."""
    return special.softmax(logits[:3]), special.softmax(logits[3:])


@settings(max_examples=30)
@given(LOGITS, LOGITS)
def test_categories_against_scipy(logits, others):
    first, second = shares(logits)
    expected = np.log(np.outer(first, second))
    actions = jnp.array([[[i, j] for j in range(2)] for i in range(3)])
    output = jnp.broadcast_to(jnp.array(logits, np.float32), (3, 2, 5))
    got = CATEGORIES.log_prob(output, NO_SPREAD, actions)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)

    kl = sum(stats.entropy(p, q) for p, q in zip(shares(logits), shares(others), strict=True))
    output, other = jnp.array([logits, others], np.float32)
    got = CATEGORIES.kl(output, NO_SPREAD, other, NO_SPREAD)
    np.testing.assert_allclose(got, kl, rtol=1e-3, atol=1e-4)

    entropy = (stats.entropy(first) + stats.entropy(second)) / 2
    got = CATEGORIES.entropy(output[None], NO_SPREAD)
    np.testing.assert_allclose(got, entropy, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("family", "action"), [(CATEGORIES, [[2, 0], [1, 1]]), (Gaussian(5), np.eye(5)[:2])]
)
def test_scores_and_entropy_slopes_are_those_of_automatic_differentiation(family, action):
    output = jax.random.normal(jax.random.key(0), (2, 5))
    log_std = jnp.linspace(-1.0, 0.5, family.spreads)
    action = jnp.array(action)
    total = lambda output, log_std: family.log_prob(output, log_std, action).sum()
    found = family.score(output, log_std, action)
    of_output, of_log_std = jax.grad(total, (0, 1))(output, log_std)
    np.testing.assert_allclose(found.output, of_output, atol=1e-5)
    np.testing.assert_allclose(found.log_std.sum(0), of_log_std, atol=1e-5)

    slope, spread_slope = family.entropy_slope(output, log_std)
    of_output, of_log_std = jax.grad(family.entropy, (0, 1))(output, log_std)
    np.testing.assert_allclose(0 if slope is None else slope / len(output), of_output, atol=1e-6)
    np.testing.assert_allclose(spread_slope, of_log_std, atol=1e-6)


def test_draws_of_categories_have_their_shares():
    logits = [0.0, 1.0, -1.0, 0.5, 0.0]
    output = jnp.broadcast_to(jnp.array(logits), (20_000, 5))
    drawn = np.asarray(CATEGORIES.draw(output, NO_SPREAD, jax.random.key(0)))
    for i, expected in enumerate(shares(logits)):
        counts = np.bincount(drawn[:, i], minlength=len(expected))
        assert stats.chisquare(counts, len(drawn) * expected).pvalue > 0.01
    np.testing.assert_array_equal(CATEGORIES.mode(output[0]), [1, 0])
