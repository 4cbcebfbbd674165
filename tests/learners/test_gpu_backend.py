"""The GPU's kernels, interpreted, against the plain networks."""

import functools
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.accelerate import gate
from saddle.accelerate.ptx_launch import TARGET
from saddle.learners import PPO
from saddle.learners.networks import plain
from saddle.learners.networks.gaussian import Gaussian
from saddle.learners.networks.gpu import backend, kernels
from saddle.learners.ppo import minibatch
from saddle.learners.ppo.minibatch import Samples

ROUNDING = {"bf16": 2e-2, "tf32": 2e-3}
KERNELS: Any = backend
PLAIN: Any = plain


def close(ours, exact, precision, times=1):
    """To the precision's rounding, or some times that, as a share of the whole array's size."""
    assert ours.shape == exact.shape
    ours, exact = np.asarray(ours, float), np.asarray(exact, float)  # squares of small numbers
    assert np.linalg.norm(ours - exact) <= times * ROUNDING[precision] * max(
        float(np.linalg.norm(exact)), 1e-37
    )


def members(outputs, samples, hidden=(64, 128), inputs=5, count=2):
    keys = jax.random.split(jax.random.key(outputs), 4)
    nets = jax.vmap(lambda key: plain.init_net(key, (inputs, *hidden, outputs)))(
        jax.random.split(keys[0], count)
    )
    x, last = (
        jax.random.normal(key, (count, samples, n))
        for key, n in zip(keys[1:3], (inputs, outputs), strict=True)
    )
    weights = jax.random.normal(keys[3], (count, 3, samples)) / samples
    return nets, x, last, weights


def module_of(ppo) -> Any:
    """The kernels, or in full precision the plain networks."""
    return plain if ppo.precision == "highest" else backend


@functools.cache
def every_result(ppo):
    """The program of all that networks compute of members. Compiled once for all tests that ask for
    the same.
    """
    module = module_of(ppo)

    def member(net, x, last, weights):
        net = module.rounded(ppo, net)
        out, trace = module.forward(ppo, net, x)
        squares, found = module.weighted_squares(ppo, net, trace, last, weights)
        one_output = last.shape[-1] == 1
        judged = (
            module.regression(ppo, net, x, last[:, 0], jnp.abs(weights[0])) if one_output else ()
        )
        again = module.deltas(ppo, net, trace, last)
        grads = [module.weighted_gradients(ppo, net, trace, f, weights) for f in (found, again)]
        return out, module.output(ppo, net, x), grads, squares, judged

    return jax.jit(jax.vmap(member))


@pytest.mark.parametrize(
    ("inputs", "outputs", "samples", "activation", "precision"),
    # In 16 columns, in 64 + 16, in 32 + 16, in 128, which are too many thrice.
    [
        (5, 1, 256, "relu", "bf16"),
        (5, 1, 256, "relu", "tf32"),
        (70, 1, 256, "elu", "tf32"),
        (45, 2, 300, "tanh", "bf16"),
        (100, 7, 512, "elu", "bf16"),
    ],
)
def test_kernels_do_what_the_plain_networks_do(inputs, outputs, samples, activation, precision):
    arguments = members(outputs, samples, inputs=inputs)
    ours = every_result(PPO(hidden=(64, 128), activation=activation, precision=precision))(
        *arguments
    )
    exact = every_result(PPO(hidden=(64, 128), activation=activation))(*arguments)
    times = 5 if activation == "relu" else 1  # a rounded sum can fall on the other side of its kink
    jax.tree.map(lambda a, b: close(a, b, precision, times), ours, exact)


@functools.cache
def scaled_results(ppo):
    """The program of what weights and targets times a size give, which is divided by that size."""
    module = module_of(ppo)

    def member(net, x, last, weights, size):
        net = module.rounded(ppo, net)
        _, trace = module.forward(ppo, net, x)
        squares, found = module.weighted_squares(ppo, net, trace, last, weights * size)
        even = jnp.full(len(x), 1 / len(x))
        grads, errors = module.regression(ppo, net, x, last[:, 0] * jnp.maximum(size, 1e-2), even)
        sums = module.weighted_gradients(ppo, net, trace, found, weights * size)
        return sums, squares / size**2, grads, errors

    return jax.jit(jax.vmap(member, (0, 0, 0, 0, None)))


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_weights_and_targets_of_any_size_fit_into_float16(size):
    """Where no sample has a cost, beta multiplies noise by 1e6 and more; rewards have any scale."""
    arguments = (*members(1, 256), jnp.float32(size))
    ours = scaled_results(PPO(hidden=(64, 128), precision="tf32"))(*arguments)
    exact = scaled_results(PPO(hidden=(64, 128)))(*arguments)
    jax.tree.map(
        lambda a, b: close(a, b, "tf32"),
        *(jax.tree.map(lambda g: g / size, y) for y in (ours, exact)),
    )


@functools.cache
def critic_results(ppo):
    """The program of a critic's regression and its output."""
    module = module_of(ppo)

    def member(net, x, target, weight):
        net = module.rounded(ppo, net)
        return module.regression(ppo, net, x, target, weight), module.output(ppo, net, x)

    return jax.jit(jax.vmap(member))


@pytest.mark.parametrize("precision", ["bf16", "tf32"])
@pytest.mark.parametrize(
    "sizes", [(1e-8, 1e-8, 1e-8), (3.0, 3.0, 3.0), (2e-32, 2e-32, 1.0), (2e-32, 1.0, 1.0)]
)
def test_a_network_of_any_size_has_the_gradients_of_the_plain_one(precision, sizes):
    """A critic's L2 penalty draws weights to 0 while there is nothing to tell apart, and the last
    come back first.
    """
    nets, x, target, weights = members(1, 256)
    nets = tuple(
        jax.tree.map(lambda w, size=size: w * size, layer)
        for layer, size in zip(nets, sizes, strict=True)
    )

    arguments = (nets, x, target[..., 0], jnp.abs(weights[:, 0]))
    ours = critic_results(PPO(hidden=(64, 128), precision=precision))(*arguments)
    exact = critic_results(PPO(hidden=(64, 128)))(*arguments)
    times = 2 if min(sizes) < 1e-30 else 1  # a bias's gradient is a sum in which most cancels
    jax.tree.map(lambda a, b: close(a, b, precision, times), ours, exact)


def test_a_minibatch_is_the_plain_one_to_its_rounding(monkeypatch):
    n, keys = 256, jax.random.split(jax.random.key(3), 6)
    learner = minibatch.init(keys[0], PPO(hidden=(64, 64)), 5, Gaussian(2), 1)
    draw = lambda key, *shape: jax.random.normal(key, (n, *shape))
    action = draw(keys[1], 2)
    samples = Samples(
        draw(keys[2], 5),
        action,
        jnp.zeros((n, 2)),
        Gaussian(2).log_prob(jnp.zeros((n, 2)), learner.actor.log_std, action),
        draw(keys[3], 2),
        30 * draw(keys[4], 2),
        jnp.ones((n, 1)),
    )
    weight = (jnp.arange(n) < 200) / 200

    def step(ppo):
        run = jax.jit(
            lambda learner: minibatch.minibatch(
                ppo,
                Gaussian(2),
                *minibatch.join(ppo, *minibatch.split(ppo, learner)),
                samples,
                weight,
                jnp.float32(3e-4),
            )
        )
        return run(learner)

    exact, exact_stats = step(PPO(hidden=(64, 64)))
    monkeypatch.setattr(backend, "fits", lambda ppo: True)
    for precision in ("bf16", "tf32"):
        ours, stats = step(PPO(hidden=(64, 64), precision=precision))
        near = functools.partial(close, precision=precision)
        jax.tree.map(near, stats, exact_stats)
        jax.tree.map(near, ours.actor_adam.mu, exact.actor_adam.mu)
        jax.tree.map(near, ours.critic_adams, exact.critic_adams)
        np.testing.assert_allclose(ours.beta, exact.beta, rtol=ROUNDING[precision])


@given(st.integers(1, 2000))
def test_a_width_is_cut_into_blocks_that_begin_where_one_of_theirs_can(inputs):
    width = kernels.room(inputs)
    cuts = kernels.pieces(width)
    assert inputs <= width < 2 * max(inputs, 16) and len(cuts) <= 2
    starts = [size * place for size, place in cuts]
    assert starts == [0, *np.cumsum([size for size, _ in cuts])[:-1]]
    assert sum(size for size, _ in cuts) == width and all(
        size >= 16 and size.bit_count() == 1 for size, _ in cuts
    )


def test_float16_keeps_the_bits_that_tf32_keeps():
    """Between 2^-14 and 65504, rounding to float16 is rounding to ten bits of mantissa."""
    sizes = 2.0 ** np.random.default_rng(0).uniform(-14, 15, 10_000)
    x = sizes.astype(np.float32) * np.where(np.arange(10_000) % 2, 1, -1).astype(np.float32)
    bits = x.view(np.uint32)
    tf32 = ((bits + 0x0FFF + ((bits >> 13) & 1)) & 0xFFFFE000).view(np.float32)
    np.testing.assert_array_equal(
        np.asarray(jnp.asarray(x).astype(jnp.float16)).astype(np.float32), tf32
    )


@pytest.fixture
def a_gpu(monkeypatch):
    """A machine that says it has a Hopper GPU."""
    device = SimpleNamespace(compute_capability="9.0")
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "devices", lambda: [device])
    monkeypatch.setattr(gate, "answer", lambda kind: gate.Answer(kind != "llvm"))
    monkeypatch.setattr(backend, "_works", lambda ppo: True)
    return device


@pytest.mark.parametrize(
    "settings",
    [
        {"precision": "highest"},
        {"hidden": (64,), "precision": "bf16"},
        {"hidden": (64, 65), "precision": "bf16"},
    ],
)
def test_what_the_kernels_cannot_hold_is_left_to_the_plain_networks(a_gpu, settings):
    assert backend.fits(PPO(precision="bf16")) and backend.fits(PPO(precision="tf32"))
    assert not backend.fits(PPO(**settings))


def test_a_gpu_with_less_memory_a_processor_has_the_plain_networks(a_gpu):
    a_gpu.compute_capability = "8.9"
    assert not backend.fits(PPO(precision="bf16"))


@pytest.mark.parametrize("precision", ["bf16", "tf32"])
@pytest.mark.parametrize(("obs", "act"), [(28, 2), (76, 2), (27, 8)])
@pytest.mark.usefixtures("a_gpu")
def test_a_minibatch_can_be_written_for_a_gpu(precision, obs, act):
    """No GPU here, but what Triton cannot express shows before one is needed: networks and samples
    as in the study.
    """
    ppo, members = PPO(precision=precision), 2
    n = ppo.batch

    def step():
        zeros = lambda *shape: jnp.zeros((members, *shape))
        learner = jax.vmap(lambda key: minibatch.init(key, ppo, obs, Gaussian(act), 1))(
            jax.random.split(jax.random.key(0), members)
        )
        samples = Samples(
            zeros(n, obs),
            zeros(n, act),
            zeros(n, act),
            zeros(n),
            zeros(n, 2),
            zeros(n, 2),
            zeros(n, 1),
        )
        whole = jax.vmap(lambda learner: minibatch.join(ppo, *minibatch.split(ppo, learner)))(
            learner
        )
        run = jax.vmap(functools.partial(minibatch.minibatch, ppo, Gaussian(act)))
        return run(*whole, samples, zeros(n), jnp.full(members, 3e-4))

    def judge():
        net = plain.init_net(jax.random.key(0), (obs, *ppo.hidden, act))
        return minibatch.outputs(ppo, backend.rounded(ppo, net), jnp.zeros((n, obs)))

    lowered = lambda f: jax.jit(f).trace().lower(lowering_platforms=("cuda",)).as_text()
    kernels = lambda text: (
        text.count('"__gpu$xla.gpu.triton"') + text.count("@__gpu$xla.gpu.triton"),
        text.count(TARGET),
    )
    few = act <= 2
    assert kernels(lowered(judge)) == ((0, 2) if few else (1, 1))  # first layer, outputs
    triton, ptx = kernels(lowered(step))
    assert ptx == (
        8 if few else 6
    )  # three first layers, two critics' errors, the actor's outputs, its two ways back
    assert triton >= (5 if few else 7)
