"""The last layer's kernels: their PTX, run by a small machine on the CPU, does what the kernels for
Triton do.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners import block_machine
from learners.block_machine import HALF, lowered

from saddle.learners.networks.activations import ACTIVATIONS
from saddle.learners.networks.gpu import heads, last_layer

SHAPES = [
    ("elu", "bf16", 256, 512),
    ("elu", "f16", 128, 256),
    ("relu", "bf16", 128, 256),
    ("relu", "f16", 128, 512),
]
MEMBERS = 2


def _arrays(half, n, h, a):
    rng = np.random.default_rng(n + h + a)
    normal = lambda *shape: rng.normal(size=(MEMBERS, *shape)).astype(np.float32)
    per = (
        rng.choice([0.5, 2], (MEMBERS, 1)).astype(np.float32)
        if half == "f16"
        else np.ones((MEMBERS, 1), np.float32)
    )
    return normal(n, h).astype(HALF[half]), per, normal(h), normal(h, a) * 0.1


def _run(text, n, *arrays):
    grid = (n // last_layer.BLOCK, 1, MEMBERS)
    block_machine.run(text, grid, last_layer.THREADS, *arrays)


@pytest.mark.parametrize("a", last_layer.OUTPUTS)
@pytest.mark.parametrize(("activation", "half", "n", "h"), SHAPES)
def test_outputs(activation, half, n, h, a):
    y, per, b, w = _arrays(half, n, h, a)
    out = np.full((MEMBERS, n, a), np.nan, np.float32)
    _run(
        last_layer.outputs_text(activation, half, n, h, a)[1],
        n,
        y,
        per,
        b,
        np.ascontiguousarray(w.swapaxes(1, 2)),
        out,
    )
    entering = y.astype(np.float64) * per[:, None] + b[:, None]
    activated = np.asarray(ACTIVATIONS[activation].value(jnp.asarray(entering, jnp.float32)), float)
    np.testing.assert_allclose(out, activated @ w, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("activation", "half", "n", "h"), SHAPES)
def test_regression(activation, half, n, h):
    y, per, b, w = _arrays(half, n, h, 1)
    rng = np.random.default_rng(0)
    c, target, weight = (
        rng.normal(size=shape).astype(np.float32)
        for shape in ((MEMBERS, 1), (MEMBERS, n), (MEMBERS, n))
    )
    error, delta = (
        np.full((MEMBERS, n), np.nan, np.float32),
        np.full((MEMBERS, n, h), np.nan, HALF[half]),
    )
    sums = np.full((MEMBERS, n // last_layer.SPAN, 2, h), np.nan, np.float32)
    text = last_layer.regression_text(activation, half, n, h)[1]
    _run(text, n, y, per, b, w[:, :, 0].copy(), c, target, weight, error, delta, sums)
    theirs = jax.vmap(
        lambda y, per, b, w, c, t, k: heads.regression(
            ACTIVATIONS[activation], y, per, b, (w, c), t, k
        )
    )
    expected = theirs(jnp.asarray(y), per, b, w, c, target, weight)
    total = np.abs(sums).sum(1)
    np.testing.assert_allclose(error, expected[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        delta.astype(float),
        np.asarray(expected[1], float),
        rtol=2.0 ** (-7 if half == "bf16" else -10),
        atol=1e-6,
    )
    for k in range(2):
        assert np.all(np.abs(sums.sum(1)[:, k] - expected[2 + k]) <= 1e-5 * total[:, k] + 1e-6)


def test_members_become_one_kernel():
    of = lambda dtype, *shape: jax.ShapeDtypeStruct((3, *shape), dtype)
    y, per, b, w = (
        of(jnp.bfloat16, 256, 512),
        of(jnp.float32, 1),
        of(jnp.float32, 512),
        of(jnp.float32, 512, 2),
    )
    text = lowered(lambda *args: last_layer.outputs("elu", *args), y, per, b, w)
    assert text.count("stablehlo.custom_call") == 1
    assert "grid_x = 2, grid_y = 1, grid_z = 3" in text
    one, each = of(jnp.float32, 512, 1), of(jnp.float32, 256)
    text = lowered(
        lambda y, per, b, w, t: last_layer.regression("elu", y, per, b, (w, per), t, t),
        y,
        per,
        b,
        one,
        each,
    )
    assert text.count("stablehlo.custom_call") == 1


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        (("elu", 1024, 512, 2), True),
        (("elu", 1024, 512, 3), False),
        (("tanh", 1024, 512, 1), False),
        (("relu", 1000, 512, 1), False),
        (("elu", 1024, 128, 1), False),
    ],
)
def test_what_they_fit(shape, fits):
    assert last_layer.fits(*shape) == fits
