"""A beta for each stratum of multipliers, beside that of the stratum's samples alone."""

import jax
import jax.numpy as jnp
import numpy as np

from saddle.learners import PPO
from saddle.learners.networks.gaussian import Gaussian
from saddle.learners.ppo import minibatch

OBS, ACT, COSTS, SAMPLES = 3, 2, 2, 40
PLAIN = PPO(hidden=(6, 6))


def beta_after(strata, some=slice(None)):
    """Beta after a minibatch of some of the samples, the first look at any gradients."""
    key = jax.random.key(0)
    state = minibatch.init(key, PLAIN, OBS, Gaussian(ACT), COSTS)
    if strata is not None:
        state = state._replace(beta=jnp.full((strata.shape[1], COSTS), jnp.nan))
    draw = lambda place, size: jax.random.normal(jax.random.fold_in(key, place), (SAMPLES, size))
    samples = minibatch.Samples(
        obs=draw(0, OBS),
        action=draw(1, ACT),
        output=jnp.zeros((SAMPLES, ACT)),
        log_prob=jnp.full(SAMPLES, -3.0),
        advantage=draw(2, 1 + COSTS),
        target=draw(3, 1 + COSTS),
        lam=jnp.ones((SAMPLES, COSTS)),
        strata=strata,
    )
    samples = jax.tree.map(lambda leaf: leaf[some], samples)
    count = samples.log_prob.size
    _, views = minibatch.join(PLAIN, *minibatch.split(PLAIN, state))
    weight = jnp.full(count, 1 / count)
    after, _ = minibatch.minibatch(
        PLAIN, Gaussian(ACT), state, views, samples, weight, jnp.float32(1e-3)
    )
    return np.asarray(after.beta)


def test_every_stratum_has_the_beta_of_its_own_samples():
    places = np.arange(SAMPLES) % 2
    found = beta_after(jnp.eye(3)[places])
    for place in (0, 1):
        wanted = beta_after(None, some=places == place)
        np.testing.assert_allclose(found[place], wanted, rtol=1e-4)
    assert np.isnan(found[2]).all(), "a stratum without samples has none yet"
