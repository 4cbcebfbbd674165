"""What SAC's actors weigh and its critics are asked: choices, several cost critics, normalised
layers, and critics beside the episodes they spoke of.
"""

import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.test_cmdp import last, root
from learners.test_sac_cmdp import train
from learners.toys import Choices
from scipy.special import softmax

from saddle.collect.rollout import Rollout
from saddle.config import Member
from saddle.errors import SaddleError
from saddle.learners import SAC
from saddle.learners.networks import plain
from saddle.learners.sac import actor, bias, networks
from saddle.learners.sac.actions import ChosenActions, RealActions, actions_of
from saddle.multipliers import Fixed, GradientAscent

TWO = RealActions(2)
MANY = ChosenActions((3, 2, 2))


# Choices.


def test_combinations_are_weighed_by_the_product_of_their_choices():
    logits = np.random.default_rng(0).normal(size=(5, 7))
    found = MANY.outlook(jnp.asarray(logits), jnp.zeros((5, 0)))
    each = [softmax(part, axis=-1) for part in np.split(logits, [3, 5], axis=-1)]
    combinations = list(itertools.product(*map(range, MANY.choices)))
    for place, chosen in enumerate(combinations):
        share = np.prod([shares[:, i] for shares, i in zip(each, chosen, strict=True)], axis=0)
        np.testing.assert_allclose(found.weight[:, place], share, rtol=1e-5)
        action = jnp.tile(jnp.array(chosen, jnp.float32), (5, 1))
        values = jnp.tile(jnp.arange(12.0), (5, 1))
        np.testing.assert_array_equal(MANY.taken(values, action), np.full(5, place))
    entropy = -found.mean(found.log_prob).mean()
    wanted = 3 * MANY.family.entropy(jnp.asarray(logits), jnp.zeros(0))
    np.testing.assert_allclose(entropy, wanted, rtol=1e-5)


def test_random_choices_are_all_alike():
    drawn = np.asarray(MANY.uniform(jax.random.key(0), 3000))
    for i, count in enumerate(MANY.choices):
        shares = np.bincount(drawn[:, i], minlength=count) / 3000
        np.testing.assert_allclose(shares, 1 / count, atol=0.04)


def test_too_many_combinations_are_refused():
    with pytest.raises(SaddleError, match="choices of Maze have 1000 combinations") as caught:
        actions_of("Maze", 3, (10, 10, 10))
    assert "\n" not in str(caught.value)


def best(lam, alpha):
    """Return and cost of the best policy of `Choices` at this temperature."""
    task, ret, cost = Choices(), 0.0, 0.0
    for rewards, costs in zip(task.rewards, task.costs, strict=True):
        share = softmax((np.array(rewards) - lam * np.array(costs)) / alpha)
        ret += share @ np.array(rewards)
        cost += share @ np.array(costs)
    return ret, cost


def test_choices_land_on_the_frontier_and_find_lambda_star():
    alpha, limit = 0.3, 0.5
    wanted = root(lambda lam: best(lam, alpha)[1] - limit, 0, 10)
    members = [Member(0, Fixed(1.0)), Member(0, GradientAscent(0.5, 0.4, "plain"), (limit,))]
    pace = {"steps_per_epoch": 400, "window": 200, "layout": "wide", "random_steps": 2000}
    got = train(Choices(), members, 60, alpha=alpha, gamma=0.0, cost_gamma=0.0, **pace)
    ret, cost = best(1.0, alpha)
    assert last(got["return"])[0] == pytest.approx(ret, abs=0.04)
    assert last(got["cost"])[0, 0] == pytest.approx(cost, abs=0.04)
    assert last(got["cost"])[1, 0] == pytest.approx(limit, abs=0.04)
    assert last(got["lambda"])[1, 0] == pytest.approx(wanted, rel=0.2)


# Several cost critics.


def own_networks(sac):
    return networks.init(jax.random.key(3), sac, 4, TWO, 2)


@given(st.integers(2, 5), st.floats(0, 3), st.integers(0, 2**31))
@settings(max_examples=25)
def test_a_cautious_cost_is_the_mean_and_some_deviations(critics, caution, seed):
    sac = SAC(cost_critics=critics, cost_caution=caution)
    said = np.random.default_rng(seed).normal(size=(critics, 7)).astype(np.float32)
    wanted = said.mean(0) + caution * said.std(0)
    np.testing.assert_allclose(networks.cautious(sac, jnp.asarray(said)), wanted, atol=1e-4)


def test_critics_that_agree_are_one():
    """Their actor's losses are those beside a single critic, and gradients have no hole."""
    few = SAC(hidden=(6,), batch=16)
    several = replace(few, cost_critics=3, cost_caution=1.0)
    one = own_networks(few)
    same = one.critics._replace(costs=tuple(own * 3 for own in one.critics.costs))
    obs, noise = jnp.ones((16, 4)), jnp.full((16, 2), 0.3)

    def priced(sac, critics):
        own = one._replace(critics=critics)
        return jax.value_and_grad(
            lambda net: actor.losses(sac, TWO, own, net, obs, noise).costs.sum()
        )(one.actor)

    (lone, lone_slope), (found, slope) = priced(few, one.critics), priced(several, same)
    np.testing.assert_allclose(found, lone, atol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), slope, lone_slope)


def test_each_cost_critic_begins_differently():
    found = own_networks(SAC(hidden=(6,), cost_critics=3)).critics.costs
    assert [len(own) for own in found] == [3, 3]
    first = [np.asarray(critic[0][0]) for own in found for critic in own]
    for a, b in itertools.combinations(first, 2):
        assert (a != b).all()


def test_caution_needs_critics_that_can_differ():
    with pytest.raises(SaddleError, match="set cost_critics to 2 or more"):
        SAC(cost_caution=1.0)


# Layers that are normalised.


def test_normalised_layers_do_not_see_the_size_of_what_enters_them():
    sac = SAC(hidden=(32, 32), layer_norm=True)
    critic = own_networks(sac).critics.reward[0]
    x = jnp.asarray(np.random.default_rng(0).normal(size=(9, 6)), jnp.float32)
    louder = tuple((7 * w, 7 * b) for w, b in critic[:-1]) + critic[-1:]
    np.testing.assert_allclose(
        plain.normalised_output(sac, louder, x), plain.normalised_output(sac, critic, x), atol=1e-4
    )
    assert not np.allclose(plain.output(sac, louder, x), plain.output(sac, critic, x), atol=1e-2)
    said = networks.values(sac, TWO, critic, x[:, :4], x[:, 4:])
    np.testing.assert_array_equal(said, plain.normalised_output(sac, critic, x))


@given(st.integers(0, 2**31), st.floats(0.1, 100), st.floats(-100, 100))
@settings(max_examples=25)
def test_a_normalised_sample_has_mean_zero_and_variance_one(seed, spread, middle):
    x = middle + spread * np.random.default_rng(seed).normal(size=(3, 64))
    found = np.asarray(plain.layer_norm(jnp.asarray(x, jnp.float32)), float)
    np.testing.assert_allclose(found.mean(-1), 0, atol=1e-3)
    np.testing.assert_allclose(found.var(-1), 1, atol=1e-2)


# Critics beside episodes.


def test_critics_are_held_beside_the_episodes_they_spoke_of():
    """Against a loop over steps: two members, two worlds, episodes across two rollouts."""
    rng = np.random.default_rng(0)
    sac = SAC(gamma=0.9, cost_gamma=0.8, worlds=2)
    steps, members, worlds = 11, 2, 2
    shape = (steps, members, worlds)
    draw = lambda size: jnp.asarray(rng.normal(size=(*shape, size)), jnp.float32)
    ended = rng.random(shape) < 0.4
    lengths = np.zeros(shape)
    running = np.zeros(shape[1:])
    for t in range(steps):
        running += 1
        lengths[t] = running
        running[ended[t]] = 0
    zeros = jnp.zeros(shape)
    whole = Rollout(
        obs=draw(4),
        next_obs=draw(4),
        action=draw(2),
        extras=(),
        signal=draw(3),
        terminated=jnp.asarray(ended),
        ended=jnp.asarray(ended),
        truncated=zeros.astype(bool),
        finished=jnp.stack([zeros, jnp.asarray(lengths, jnp.float32), zeros, zeros], -1),
        counted=jnp.asarray(ended),
    )
    critics = [networks.init(jax.random.key(i), sac, 4, TWO, 2).critics for i in range(members)]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *critics)
    begun = bias.Running(jnp.full((2, 2, 3), jnp.nan), jnp.zeros((2, 2, 3)))
    cut = 5
    parts = [jax.tree.map(lambda x: x[:cut], whole), jax.tree.map(lambda x: x[cut:], whole)]
    after, first = bias.followed(sac, TWO, stacked, begun, parts[0], jnp.array(False))
    _, second = bias.followed(sac, TWO, stacked, after, parts[1], jnp.array(False))

    for member in range(members):
        said = np.stack(
            [
                bias.said(sac, TWO, critics[member], whole.obs[t, member], whole.action[t, member])
                for t in range(steps)
            ]
        )
        for found, span in ((first, range(cut)), (second, range(cut, steps))):
            spoken, came = [], []
            for world, t in itertools.product(range(worlds), span):
                if ended[t, member, world]:
                    begin = t + 1 - int(lengths[t, member, world])
                    signal = np.asarray(whole.signal[begin : t + 1, member, world])
                    powers = np.arange(len(signal))[:, None]
                    came.append((signal * np.array([0.9, 0.8, 0.8]) ** powers).sum(0))
                    spoken.append(said[begin, world])
            means = np.mean(spoken, 0), np.mean(came, 0)
            for what, mean in zip(("q", "mc"), means, strict=True):
                np.testing.assert_allclose(found[f"start_{what}_r"][member], mean[0], atol=1e-5)
                np.testing.assert_allclose(found[f"start_{what}_c"][member], mean[1:], atol=1e-5)
