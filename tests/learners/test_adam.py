"""Adam with a first moment 16 bits wide, against itself without."""

import jax
import jax.numpy as jnp
import numpy as np

from saddle.learners import PPO, adam
from saddle.learners.networks.gaussian import Gaussian
from saddle.learners.ppo import minibatch
from saddle.learners.ppo.passes import improve

LR = 1e-2


def descend(state: adam.Adam, params: dict, steps: int) -> tuple[adam.Adam, dict]:
    """Down a quadratic whose minimum is at 1."""
    for _ in range(steps):
        state, params = adam.step(state, params, jax.tree.map(lambda p: p - 1, params), LR, 1e9)
    return state, params


def test_a_narrow_first_moment_goes_the_same_way():
    keys = jax.random.split(jax.random.key(0), 2)
    params = {"w": jax.random.normal(keys[0], (8, 8)), "b": jax.random.normal(keys[1], (8,))}
    wide, expected = descend(adam.init(params), params, 50)
    narrow, found = descend(adam.narrow(adam.init(params), jnp.bfloat16), params, 50)
    assert (
        narrow.mu["w"].dtype == jnp.bfloat16
        and narrow.mu["b"].dtype == narrow.nu["w"].dtype == jnp.float32
    )
    np.testing.assert_array_equal(narrow.mu["b"], wide.mu["b"])
    # Two bits of 256 lost at each step of 50, each of which goes LR far.
    np.testing.assert_allclose(found["w"], expected["w"], atol=50 * LR / 128)
    assert np.abs(found["w"] - expected["w"]).max() > 0


def test_between_epochs_moments_are_float32_that_bf16_holds():
    how = PPO(precision="bf16", hidden=(8, 8), passes=2, batch=16)
    family = Gaussian(2)
    keys = jax.random.split(jax.random.key(0), 3)
    learner = jax.vmap(lambda key: minibatch.init(key, how, 3, family, 1))(keys)
    draw = lambda *shape: jax.random.normal(keys[0], (3, 32, *shape))
    samples = minibatch.Samples(
        draw(3), draw(2), draw(2), draw(), draw(2), draw(2), jnp.ones((3, 32, 1))
    )
    done = improve(
        how,
        family,
        learner,
        samples,
        keys,
        jnp.float32(1e-3),
        jnp.ones(3, bool),
        jnp.full(3, how.passes),
        sizes=(3,),
    )
    dtypes = lambda tree: [leaf.dtype for leaf in jax.tree.leaves(tree)]
    assert dtypes(done.state) == dtypes(learner)
    mu = done.state.critic_adams[0].mu[0][0]
    np.testing.assert_array_equal(mu, mu.astype(jnp.bfloat16).astype(jnp.float32))
    assert np.abs(mu).max() > 0
