"""SAC's arithmetic, against PyTorch's: benchmarks/record_sac.py says how the data was made."""

import dataclasses
import functools
import itertools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners.running import same
from scipy.stats import norm

from saddle.errors import SaddleError
from saddle.learners import SAC, adam, scale
from saddle.learners.networks.squashed import HIGHEST, LOWEST, Squashed
from saddle.learners.sac import actor, critics, draws, networks, update
from saddle.learners.sac.actions import RealActions
from saddle.learners.sac.draws import Draws
from saddle.learners.sac.networks import Critics, Networks
from saddle.learners.sac.replay import Batch

PEER = json.loads((Path(__file__).parents[1] / "data" / "sac.json").read_text())
ACTIONS = RealActions(2)
SETTINGS = {name: value for name, value in PEER["settings"].items() if name != "lam"}
BOTH = ("fixed", "tuned")

update_once = jax.jit(update.update, static_argnums=(0, 1))


def settings(kind):
    return SAC(batch=16, rsi_batch=8, alpha=0.05, tune_alpha=kind == "tuned", **SETTINGS)


def net(layers):
    """Weights and biases of each layer."""
    return tuple((jnp.array(w, jnp.float32), jnp.array(b, jnp.float32)) for w, b in layers)


def of_critics(found):
    first, second, *costs = map(net, found)
    return Critics((first, second), tuple((cost,) for cost in costs))


def start(kind):
    """The networks that PyTorch began with."""
    sac = settings(kind)
    begun = PEER[kind]["start"]
    own = networks.init(jax.random.key(0), sac, 4, ACTIONS, 2)
    parts = {name: of_critics(begun[name]) for name in ("critics", "targets")}
    return own._replace(actor=net(begun["actor"]), **parts)


def given(step):
    """An update's batch, and what is random in it."""
    data = {name: jnp.array(value, jnp.float32) for name, value in step["given"].items()}
    batch = Batch(*(data[name] for name in Batch._fields))
    places = jnp.array(step["given"]["places"])
    drawn = Draws(data["next"], data["actor"], data["alpha"], data["look"], places)
    return batch, drawn


def assert_close(ours, theirs):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=3e-6), ours, theirs)


@pytest.mark.parametrize("kind", BOTH)
def test_updates_are_those_of_pytorch(kind):
    """Four of them, of which the second and fourth move actor, temperature and targets, and look at
    beta.
    """
    sac, own, lam = settings(kind), start(kind), jnp.array(PEER["settings"]["lam"])
    for number, step in enumerate(PEER[kind]["updates"], 1):
        own, (of_values, of_actor) = update_once(sac, ACTIONS, own, *at(step, lam), number)
        found = step["found"]
        np.testing.assert_allclose(of_values.loss_q, found["loss_q"], rtol=1e-5)
        np.testing.assert_allclose(of_values.loss_qc, found["loss_qc"], rtol=1e-5)
        assert_close(own.actor, net(found["actor"]))
        assert_close(own.critics, of_critics(found["critics"]))
        assert_close(own.targets, of_critics(found["targets"]))
        if number % 2:
            assert np.isnan(of_actor.loss_pi)
            continue
        np.testing.assert_allclose(of_actor.loss_pi, found["loss_pi"], rtol=1e-4)
        np.testing.assert_allclose(of_actor.entropy, -found["log_prob"], rtol=1e-4)
        np.testing.assert_allclose(of_actor.grad_pi, found["grad_pi"], rtol=1e-4)
        norms = [of_actor.grad_r, *of_actor.grad_c]
        np.testing.assert_allclose(norms, found["norms"], rtol=1e-4)
        np.testing.assert_allclose(own.beta, found["beta"], rtol=1e-4)
        np.testing.assert_allclose(own.log_alpha, found["log_alpha"], atol=1e-6)


def at(step, lam):
    """What `update` is given of a recorded step."""
    batch, drawn = given(step)
    return batch, lam, drawn


def test_the_record_has_clipped_gradients_and_such_that_are_not():
    sizes = [size for step in PEER["fixed"]["updates"] for size in step["found"]["sizes"]]
    bound = PEER["settings"]["max_grad_norm"]
    assert min(sizes) < bound < max(sizes)


# The density of an action.


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (0.7, -1.0), (-1.5, 0.4), (0.2, 9.0)])
def test_densities_add_up_to_one(mean, log_std):
    """Over the actions that a fine grid of noise leads to."""
    spread = np.exp(np.clip(log_std, LOWEST, HIGHEST))
    reach = 10 if spread > 4 else 8  # beyond which tanh is 1 in float32
    before = np.linspace(-reach, reach, 40001)
    noise = jnp.asarray((before - mean) / spread, jnp.float32)[:, None]
    _, log_prob = Squashed(1).sample(jnp.tile(jnp.array([mean, log_std]), (40001, 1)), noise)
    whole = np.trapezoid(np.exp(np.asarray(log_prob, float)), np.tanh(before))
    share = norm.cdf(noise[-1, 0]) - norm.cdf(noise[0, 0])
    assert whole == pytest.approx(share, abs=1e-4)


def test_log_probabilities_of_actions_add_up():
    output = jnp.array([0.3, -0.2, -0.5, 0.1])
    noise = jnp.array([0.4, -1.1])
    action, both = ACTIONS.family.sample(output, noise)
    each = [Squashed(1).sample(output[i::2], noise[i : i + 1]) for i in range(2)]
    np.testing.assert_allclose(action, [float(own[0][0]) for own in each], rtol=1e-6)
    np.testing.assert_allclose(both, sum(float(own[1]) for own in each), rtol=1e-5)


@pytest.mark.parametrize(("said", "meant"), [(9.0, HIGHEST), (-50.0, LOWEST), (0.3, 0.3)])
def test_the_spread_is_cut_and_has_no_slope_outside(said, meant):
    def log_prob(log_std):
        return Squashed(1).sample(jnp.array([0.0, log_std]), jnp.array([0.5]))[1]

    np.testing.assert_allclose(log_prob(said), log_prob(meant), rtol=1e-6)
    assert (jax.grad(log_prob)(said) == 0) == (said != meant)


def test_far_out_the_density_stays_finite():
    """Where tanh is 1 to the last bit."""
    _, found = Squashed(1).sample(jnp.array([[40.0, 2.0], [-40.0, 2.0]]), jnp.zeros((2, 1)))
    assert np.isfinite(found).all()


# Targets, the order of things, and beta.


def batch_of(goes_on):
    rng = np.random.default_rng(0)
    draw = lambda *shape: jnp.asarray(rng.normal(size=(16, *shape)), jnp.float32)
    return Batch(draw(4), draw(4), jnp.tanh(draw(2)), draw(3), jnp.asarray(goes_on, jnp.float32))


def test_nothing_follows_what_terminated():
    sac, own = settings("fixed"), start("fixed")
    over = np.arange(16) % 2 == 0
    noise = jnp.zeros((16, 2))
    of_reward, of_costs = critics.targets(sac, ACTIONS, own, batch_of(~over), noise)
    signal = batch_of(~over).signal
    np.testing.assert_array_equal(of_reward[over], signal[over, 0])
    assert (of_reward[~over] != signal[~over, 0]).all()
    for i, (of_cost,) in enumerate(of_costs):
        np.testing.assert_array_equal(of_cost[over], signal[over, 1 + i])
        assert (of_cost[~over] != signal[~over, 1 + i]).all()


def test_costs_follow_the_mean_unless_told():
    own, batch = start("fixed"), batch_of(np.ones(16))
    noises = jnp.zeros((16, 2)), jnp.ones((16, 2))

    def targets(cost_target, noise):
        sac = dataclasses.replace(settings("fixed"), cost_target=cost_target)
        return critics.targets(sac, ACTIONS, own, batch, noise)

    means = [targets("mean", noise) for noise in noises]
    drawn = [targets("sampled", noise) for noise in noises]
    np.testing.assert_array_equal(means[0][1], means[1][1])
    assert (np.asarray(means[0][0]) != np.asarray(means[1][0])).all()
    np.testing.assert_allclose(drawn[0][1], means[0][1], rtol=1e-6)
    assert (np.asarray(drawn[1][1]) != np.asarray(means[1][1])).all()


def small_updates(count, **changes):
    """Networks after each of so many updates of a small learner, and what they tell."""
    sac = SAC(batch=16, rsi_batch=8, hidden=(6,), actor_lr=1e-2, **changes)
    own = networks.init(jax.random.key(1), sac, 4, ACTIONS, 2)
    lam = jnp.ones(2)
    found: list[tuple[Networks, update.Stats]] = []
    for number in range(1, count + 1):
        drawn = draws.draw(jax.random.key(number), sac, ACTIONS)
        batch = batch_of(np.ones(16))
        own, stats = update_once(sac, ACTIONS, own, batch, lam, drawn, jnp.int32(number))
        found.append((own, stats))
    return found


@pytest.mark.parametrize("delay", [1, 2, 3])
def test_actor_and_targets_move_every_so_many_updates(delay):
    found = small_updates(6, delay=delay)
    for number, ((before, _), (after, _)) in enumerate(itertools.pairwise(found), 2):
        moves = number % delay == 0
        assert same(before.actor, after.actor) != moves
        assert same(before.targets, after.targets) != moves
        assert not same(before.critics, after.critics)


def test_beta_looks_at_the_first_actor_update_and_then_every_so_many():
    looks = [update.looks_at_scale(SAC(), jnp.int32(number)) for number in range(1, 151)]
    assert [number for number, look in enumerate(looks, 1) if look] == [1, 50, 100, 150]


def test_beta_stays_between_two_looks():
    found = small_updates(12, rsi_every=3)
    betas = [np.asarray(own.beta) for own, _ in found]
    looked = [bool(np.isfinite(stats[1].grad_r)) for _, stats in found]
    # Actor updates are the even ones: numbers 2, 6 and 12 are its first, third and sixth.
    assert [number for number, look in enumerate(looked, 1) if look] == [2, 6, 12]
    assert np.isnan(betas[0]).all()
    for number in range(2, 13):
        stays = np.array_equal(betas[number - 1], betas[number - 2])
        assert stays == (number not in (2, 6, 12))


def test_with_lambda_one_and_no_memory_both_pull_equally_hard():
    """The weighted gradients on the observations that were looked at have one norm."""
    sac = SAC(batch=16, rsi_batch=8, hidden=(6,), rsi_ema=0.0)
    own = networks.init(jax.random.key(1), sac, 4, ACTIONS, 2)
    batch, drawn = batch_of(np.ones(16)), draws.draw(jax.random.key(2), sac, ACTIONS)
    obs = batch.obs[drawn.places]
    look = functools.partial(actor.losses, sac, ACTIONS, own, obs=obs, noise=drawn.look)
    reward, costs = actor.gradient_norms(sac, ACTIONS, own, obs, drawn.look)
    beta = scale.refreshed(sac, own.beta, reward, costs)
    of_reward = jax.grad(lambda net: look(actor=net).reward)(own.actor)
    np.testing.assert_allclose(adam.norm(of_reward), reward, rtol=1e-5)
    for i in range(2):
        of_cost = jax.grad(lambda net, i=i: beta[i] * look(actor=net).costs[i])(own.actor)
        np.testing.assert_allclose(adam.norm(of_cost), reward, rtol=1e-4)


def test_without_scale_invariance_beta_is_one():
    found = small_updates(4, rsi="off")
    np.testing.assert_array_equal(found[-1][0].beta, np.ones(2))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"replay": 200}, "replay is 200, less than a batch of 256"),
        ({"replay": 16, "batch": 16}, "less than a cycle of 20"),
        ({"cycle": 300}, "a cycle of 300 steps does not divide 2000"),
        ({"worlds": 8}, "8 worlds do not divide a cycle of 20"),
        ({"obs_norm": True}, "observations as they are"),
        ({"rsi_max": 0.5}, "rsi_max is 0.5"),
        ({"polyak": 1.5}, "polyak"),
        ({"delay": 0}, "delay is 0"),
        ({"hidden": ()}, "at least one layer"),
    ],
)
def test_bad_settings(changes, complaint):
    with pytest.raises(SaddleError, match=complaint) as caught:
        SAC(**changes)
    assert "\n" not in str(caught.value)


def test_a_training_has_to_outlast_its_random_steps():
    """501 cycles are random; the first update follows the one after them."""
    with pytest.raises(SaddleError, match="random for 10020"):
        SAC().check_steps(10_039)
    SAC().check_steps(10_040)


def test_clocks():
    """OmniSafe's moves lambda after every update of 20 steps, from epoch index 101 on."""
    assert SAC().rule_clock == (False, 10_020), "the cycle that begins at 10,000 is random"
    assert SAC(clock="update", warmup_epochs=101).rule_clock == (True, 202_000)
