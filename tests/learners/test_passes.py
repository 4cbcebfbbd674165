"""Passes of a population: who takes them together, and who stops, changes nothing for the
others.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saddle.learners import PPO
from saddle.learners.networks.gaussian import Gaussian
from saddle.learners.networks.gpu import backend
from saddle.learners.ppo import minibatch
from saddle.learners.ppo.passes import Improvement, furthest, improve

MEMBERS, SAMPLES, OBS, ACT = 4, 300, 3, 2


def passes(
    ppo: PPO, sizes: tuple[int, ...], most: tuple[int, ...] | None = None
) -> tuple[minibatch.PPOState, Improvement]:
    """Of members that are alike but for the size of their advantages; the third has failed
    before.
    """
    keys = jax.random.split(jax.random.key(0), MEMBERS)
    learner = jax.vmap(lambda key: minibatch.init(key, ppo, OBS, Gaussian(ACT), 1))(keys)
    draw = lambda *shape: jax.random.normal(keys[0], (MEMBERS, SAMPLES, *shape))
    samples = minibatch.Samples(
        draw(OBS),
        draw(ACT),
        jnp.zeros((MEMBERS, SAMPLES, ACT)),
        draw() - 3,
        draw(2),
        draw(2),
        jnp.ones((MEMBERS, SAMPLES, 1)),
    )
    active = jnp.arange(MEMBERS) != 2
    allowed = jnp.array(most or (ppo.passes,) * MEMBERS)
    run = jax.jit(
        lambda *a: improve(ppo, Gaussian(ACT), *a, active=active, most=allowed, sizes=sizes)
    )
    return learner, run(learner, samples, keys, jnp.float32(3e-3))


STOPPING = PPO(hidden=(8, 8), passes=6, batch=64, target_kl=0.05)


@functools.cache
def all_together():
    return passes(STOPPING, (MEMBERS,))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_part_that_moved_furthest_says_when_to_stop(samples):
    kl, places = (np.array(values) for values in zip(*samples, strict=True))
    found = furthest(jnp.asarray(kl, jnp.float32), jnp.eye(5)[places])
    wanted = max(kl[places == place].mean() for place in places)
    assert float(found) == pytest.approx(wanted, abs=1e-6)
    assert float(found) >= float(furthest(jnp.asarray(kl, jnp.float32), None)) - 1e-6


@pytest.mark.parametrize("sizes", [(1,), (3, 1)])
def test_groups_do_not_matter(sizes):
    learner, together = all_together()
    _, apart = passes(STOPPING, sizes)
    assert len(set(together.passes.tolist())) > 2, "some stop, some later, and one has not begun"
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), together, apart
    )
    same = lambda new, old: np.testing.assert_array_equal(new[2], old[2])
    jax.tree.map(same, together.state, learner)
    assert together.passes[2] == 0


def test_a_member_takes_no_more_passes_than_it_may():
    never = dataclasses.replace(STOPPING, target_kl=1e9)
    _, done = passes(never, (2, 1), most=(3, 1, 5, 0))
    assert done.passes.tolist() == [3, 1, 0, 0], "the third is not active, the last may take none"


def test_kernels_with_weights_in_halves_go_where_the_plain_networks_go(monkeypatch):
    ppo = PPO(hidden=(64, 64), passes=2, batch=256, precision="bf16", target_kl=1e9)
    start, plain = passes(ppo, (MEMBERS,))
    monkeypatch.setattr(backend, "fits", lambda ppo: True)
    _, ours = passes(ppo, (MEMBERS,))
    far = lambda a, b: np.sqrt(
        sum(np.sum((x - y) ** 2) for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True))
    )
    for name in ("actor", "critics"):
        went = far(getattr(plain.state, name), getattr(start, name))
        assert far(getattr(ours.state, name), getattr(plain.state, name)) < 0.1 * went
