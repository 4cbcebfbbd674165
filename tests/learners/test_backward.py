"""The backward pass from the last layer: its PTX against NumPy and Triton's kernel.

A small machine runs the PTX on the CPU.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners import block_machine
from learners.block_machine import HALF, lowered

from saddle.learners.networks.activations import ACTIVATIONS
from saddle.learners.networks.gpu import backward, heads

MEMBERS = 2
SHAPES = [
    ("elu", "bf16", 512, 512, 2, 2, True),
    ("elu", "f16", 512, 256, 6, 2, True),
    ("relu", "bf16", 256, 256, 3, 1, False),
    ("relu", "f16", 256, 256, 1, 2, True),
]


def _arrays(half, n, h, a, k):
    rng = np.random.default_rng(n + h + a)
    normal = lambda *shape: rng.normal(size=(MEMBERS, *shape)).astype(np.float32)
    per = (
        rng.choice([0.5, 2], (MEMBERS, 1)).astype(np.float32)
        if half == "f16"
        else np.ones((MEMBERS, 1), np.float32)
    )
    return (
        normal(n, h).astype(HALF[half]),
        per,
        normal(h),
        normal(h, a) * 0.1,
        normal(n, a),
        normal(k, n),
    )


def _expected(activation, y, per, b, w, last, weights):
    """In float64: deltas [M, N, H] and weighted ones [M, K, N, H]; sums over samples of those, and
    of act * last.
    """
    entering = y.astype(float) * per[:, :, None] + b[:, None]
    act, slope = (
        np.asarray(x, float)
        for x in ACTIVATIONS[activation].both(jnp.asarray(entering, jnp.float32))
    )
    delta = last.astype(float) @ w.swapaxes(1, 2) * slope
    weighted = weights[..., None] * delta[:, None]
    return (
        delta,
        weighted,
        weighted.sum(2),
        np.einsum("mkn,mna,mnh->mkah", weights.astype(float), last, act),
    )


@pytest.mark.parametrize(("activation", "half", "n", "h", "a", "k", "plain"), SHAPES)
def test_tops(activation, half, n, h, a, k, plain):
    arrays = _arrays(half, n, h, a, k)
    y, per, b, w, last, weights = arrays
    deltas = [np.full((MEMBERS, n, h), np.nan, HALF[half]) for _ in range(k + plain)]
    span = backward.span(k * (1 + a))
    sums = np.full((MEMBERS, n // span, k * (1 + a), h), np.nan, np.float32)
    text = backward.gradients_text(activation, half, n, h, a, k, plain)[1]
    grid = (n // (4 * span), h // backward.COLUMNS, MEMBERS)
    turned = np.ascontiguousarray(w.swapaxes(1, 2))
    block_machine.run(text, grid, backward.THREADS, y, per, b, turned, last, weights, *deltas, sums)
    delta, weighted, of_deltas, of_w = _expected(activation, *arrays)
    every = ([delta] if plain else []) + list(weighted.swapaxes(0, 1))
    for mine, other in zip(deltas, every, strict=True):
        np.testing.assert_allclose(
            mine.astype(float), other, rtol=2.0 ** (-8 if half == "bf16" else -11), atol=1e-5
        )
    found = sums.sum(1).reshape(MEMBERS, k, 1 + a, h)
    np.testing.assert_allclose(found[:, :, 0], of_deltas, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found[:, :, 1:], of_w, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("a", [2, 6])
def test_results_are_those_of_the_kernels_for_triton(a, monkeypatch):
    """In shape and meaning; `launch` stands in for a GPU."""
    y, per, b, w, last, weights = (jnp.asarray(x) for x in _arrays("bf16", 512, 256, a, 2))

    def run(name, text, grid, threads, results):
        def on_cpu(*arrays):
            out = [np.zeros(r.shape, r.dtype) for r in results]
            block_machine.run(text, grid, threads, *(np.ascontiguousarray(x) for x in arrays), *out)
            return out

        return lambda *arrays: jax.pure_callback(on_cpu, results, *arrays)

    monkeypatch.setattr(backward, "launch", run)
    ours = backward.gradients("elu", y[0], per[0], b[0], w[0], last[0], weights[0], True)
    theirs = heads.gradients(
        ACTIVATIONS["elu"], y[0], per[0], b[0], w[0], last[0], weights[0], True
    )
    for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        size = float(jnp.abs(other.astype(float)).max())
        np.testing.assert_allclose(mine.astype(float), other.astype(float), atol=0.01 * size)


def test_members_become_one_kernel():
    of = lambda dtype, *shape: jax.ShapeDtypeStruct((3, *shape), dtype)
    arrays = (
        of(jnp.bfloat16, 512, 512),
        *(of(jnp.float32, *s) for s in ((1,), (512,), (512, 2), (512, 2), (2, 512))),
    )
    text = lowered(lambda *args: backward.gradients("elu", *args, plain=True), *arrays)
    assert text.count("stablehlo.custom_call") == 1
    assert "grid_x = 1, grid_y = 2, grid_z = 3" in text


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        (("elu", 1024, 512, 2, 2), True),
        (("elu", 1024, 512, 6, 2), True),
        (("elu", 1024, 512, 8, 1), True),
        (("elu", 1024, 512, 8, 2), False),
        (("tanh", 1024, 512, 1, 1), False),
        (("relu", 1000, 512, 1, 1), False),
        (("elu", 1024, 128, 1, 1), False),
    ],
)
def test_what_it_fits(shape, fits):
    assert backward.fits(*shape) == fits
