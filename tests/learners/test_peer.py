"""Our arithmetic against OmniSafe's and PyTorch's: benchmarks/record_omnisafe.py says how the data
was made.
"""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saddle.collect import normalise
from saddle.learners import PPO, adam
from saddle.learners.networks.distributions import Actor
from saddle.learners.networks.gaussian import Gaussian
from saddle.learners.ppo import advantages, minibatch
from saddle.multipliers import PID, Fixed, GradientAscent
from saddle.multipliers.stacked import Rules

PEER = json.loads((Path(__file__).parents[1] / "data" / "omnisafe" / "arithmetic.json").read_text())


whole = lambda ppo, learner: minibatch.join(ppo, *minibatch.split(ppo, learner))
step_once = jax.jit(
    lambda ppo, learner, samples, *a: minibatch.minibatch(
        ppo, Gaussian(samples.action.shape[-1]), *whole(ppo, learner), samples, *a
    ),
    static_argnums=0,
)


def lambdas(rule, costs=PEER["costs"], limit=25.0):
    others = [
        other for other in (Fixed(), GradientAscent(), PID()) if type(other) is not type(rule)
    ]
    rules = Rules([rule, *others])  # in company, as in a population
    numbers = jax.tree.map(lambda x: x[0], rules.numbers)
    state, found = rules.init(numbers, 1), []
    for cost in costs:
        state = rules.update(state, numbers, jnp.array([cost]), jnp.array([limit]))
        found.append(float(state.lam[0]))
    return found


def test_gradient_ascent():
    np.testing.assert_allclose(lambdas(GradientAscent()), PEER["ascent"], rtol=2e-6)


@pytest.mark.parametrize(
    ("record", "rule"), [("pid_study", PID()), ("pid_strong", PID(kp=0.1, ki=0.01, kd=0.5))]
)
def test_pid(record, rule):
    np.testing.assert_allclose(lambdas(rule), PEER[record], rtol=1e-5)


def test_fixed_stays():
    assert lambdas(Fixed(0.3)) == [pytest.approx(0.3)] * len(PEER["costs"])


def test_plain_ascent():
    lam, expected = 1.0, []
    for cost in PEER["costs"]:
        lam = max(0.0, lam + 0.001 * (cost - 25.0))
        expected.append(lam)
    np.testing.assert_allclose(
        lambdas(GradientAscent(lr=0.001, optimizer="plain")), expected, rtol=1e-5
    )


def test_no_finished_episode_moves_nothing():
    with_gap = [60.0, float("nan"), 55.5]
    for rule in (GradientAscent(), PID(kp=0.1, ki=0.01, kd=0.5)):
        found, without = lambdas(rule, with_gap), lambdas(rule, [60.0, 55.5])
        assert found[1] == found[0] and [found[0], found[2]] == without


def test_normaliser():
    moments = normalise.none(3)
    for batch, expected in zip(PEER["batches"], PEER["normalised"], strict=True):
        batch = jnp.array(batch)
        moments = normalise.merge(moments, normalise.of(batch, jnp.ones(len(batch), bool)))
        np.testing.assert_allclose(
            normalise.apply(moments, batch, 5.0), expected, rtol=2e-5, atol=2e-6
        )


def test_advantages_and_targets():
    """Three paths: truncated, terminated, cut by the end of the epoch."""
    gae = {key: np.array(value) for key, value in PEER["gae"].items()}
    ends = np.cumsum(gae["lengths"]) - 1
    values = jnp.stack([gae["value_r"], gae["value_c"]], -1)
    after = np.concatenate([values[1:], values[-1:]])
    after[ends] = gae["last"]
    ended, terminated = np.zeros(12, bool), np.zeros(12, bool)
    ended[ends[:2]], terminated[ends[1]] = True, True
    after[ends[1]] = 99.0  # must not be looked at
    signal, both = jnp.stack([gae["reward"], gae["cost"]], -1), jnp.array([0.99, 0.99])
    flags = jnp.asarray(terminated), jnp.asarray(ended)
    adv = advantages.gae(signal, values, jnp.asarray(after), *flags, both, jnp.array([0.95, 0.95]))
    wanted = np.stack([gae["adv_r"], gae["adv_c"]], -1)
    np.testing.assert_allclose(advantages.standardised(adv, True), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((adv + values)[:, 0], gae["target_value_r"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((adv + values)[:, 1], gae["target_value_c"], rtol=1e-5, atol=1e-5)


def net(parts):
    """Weights and biases in turn."""
    parts = [jnp.array(part, jnp.float32) for part in parts]
    return tuple(zip(parts[::2], parts[1::2], strict=True))


def assert_close(ours, theirs):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-6), ours, theirs)


def minibatch_of(record):
    data = {key: jnp.array(value, jnp.float32) for key, value in record["data"].items()}
    start = record["start"]
    actor = Actor(net(start["actor"]), jnp.array(start["log_std"]))
    critics = tuple(net(critic) for critic in start["critics"])
    learner = minibatch.PPOState(
        actor,
        critics,
        adam.init(actor),
        tuple(map(adam.init, critics)),
        beta=jnp.full(1, jnp.nan),
        unit=jnp.zeros(1),
    )
    lam = jnp.full((16, 1), record["lambda"])
    samples = minibatch.Samples(output=jnp.zeros_like(data["action"]), lam=lam, **data)
    return learner, samples


def test_two_minibatches_with_reward_scale_invariance():
    """Forward, back-propagation, clipped loss, beta, critics with L2, gradient clip and Adam, in
    minibatch.
    """
    record = PEER["minibatch"]
    learner, samples = minibatch_of(record)
    weight = jnp.full(16, 1 / 16)
    for step in record["steps"]:
        learner, stats = step_once(PPO(hidden=(6, 6)), learner, samples, weight, jnp.float32(3e-4))
        np.testing.assert_allclose(learner.beta, step["beta"], rtol=1e-5)
        np.testing.assert_allclose(stats.loss_pi, step["loss"], rtol=1e-5)
        params = step["params"]
        np.testing.assert_allclose(learner.actor.log_std, params["log_std"], atol=1e-7)
        assert_close(learner.actor.net, net(params["actor"]))
        for ours, theirs in zip(learner.critics, params["critics"], strict=True):
            assert_close(ours, net(theirs))


def test_scale_invariance_does_not_see_the_scale_of_costs():
    """Costs a hundred times as large leave the actor's step as it is, but for rounding."""
    steps = []
    for size in (1.0, 100.0):
        learner, samples = minibatch_of(PEER["minibatch"])
        samples = samples._replace(advantage=samples.advantage * jnp.array([1.0, size]))
        weight = jnp.full(16, 1 / 16)
        steps.append(
            step_once(PPO(hidden=(6, 6)), learner, samples, weight, jnp.float32(3e-4))[0].actor.net
        )
    assert_close(*steps)


def test_beta_can_be_bounded():
    """Without any cost beta explodes, as in the study; bounded it takes a tenth of the way from 1
    to 10.
    """
    learner, samples = minibatch_of(PEER["minibatch"])
    free = samples._replace(advantage=samples.advantage * jnp.array([1.0, 0.0]))
    weight = jnp.full(16, 1 / 16)
    after, _ = step_once(PPO(hidden=(6, 6)), learner, free, weight, jnp.float32(3e-4))
    assert float(after.beta[0]) > 1e6
    bounded = learner._replace(beta=jnp.ones(1))
    ppo = PPO(hidden=(6, 6), rsi="bounded")
    after, _ = step_once(ppo, bounded, free, weight, jnp.float32(3e-4))
    assert float(after.beta[0]) == pytest.approx(1.9)
