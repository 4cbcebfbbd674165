"""The first layer's kernel: its PTX, run by a small machine on the CPU, is the layer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners import block_machine
from learners.block_machine import HALF, lowered

from saddle.learners.networks.activations import ACTIVATIONS
from saddle.learners.networks.gpu import first_layer


@pytest.mark.parametrize(
    ("activation", "half", "n", "p", "h"),
    [
        ("elu", "bf16", 256, 80, 128),
        ("elu", "f16", 512, 32, 256),
        ("relu", "bf16", 256, 16, 64),
        ("relu", "f16", 256, 64, 128),
        ("elu", "bf16", 256, 160, 64),
    ],
)
def test_it_is_the_layer(activation, half, n, p, h):
    members, dtype, rng = 2, HALF[half], np.random.default_rng(p)
    x, w = (
        rng.normal(size=(members, n, p)).astype(dtype),
        rng.normal(size=(members, h, p)).astype(dtype),
    )
    b = rng.normal(size=(members, h)).astype(np.float32)
    per, unit = (rng.choice([0.25, 0.5, 1, 2], (members, 1)).astype(np.float32) for _ in range(2))
    if half == "bf16":
        per[:], unit[:] = 1, 1
    out = np.full((members, n, h), np.nan, dtype)
    text = first_layer.program_text(activation, half, n, p, h)[1]
    grid = (h // min(first_layer.COLUMNS, h), n // first_layer.ROWS, members)
    block_machine.run(text, grid, first_layer.THREADS, x, w, b, per, unit, out)
    entering = (
        np.einsum("mnp,mhp->mnh", x.astype(float), w.astype(float)) * per[:, None] + b[:, None]
    )
    expected = (
        np.asarray(ACTIVATIONS[activation].value(jnp.asarray(entering, jnp.float32)))
        * unit[:, None]
    )
    step = 2.0 ** (-8 if half == "bf16" else -11)
    np.testing.assert_allclose(out.astype(float), expected, rtol=1.01 * step, atol=1e-5)


def test_a_nan_stays_one():
    n, p, h = 256, 16, 64
    x, w = np.ones((1, n, p), HALF["bf16"]), np.ones((1, h, p), HALF["bf16"])
    x[0, 5, 3] = np.nan
    out = np.zeros((1, n, h), HALF["bf16"])
    text = first_layer.program_text("elu", "bf16", n, p, h)[1]
    one = np.ones((1, 1), np.float32)
    block_machine.run(
        text, (1, 1, 1), first_layer.THREADS, x, w, np.zeros((1, h), np.float32), one, one, out
    )
    assert np.isnan(out[0, 5].astype(float)).all()
    assert np.isfinite(np.delete(out[0], 5, 0).astype(float)).all()


def test_members_become_one_kernel():
    layer = lambda x, w, b, k: first_layer.first("elu", x, w, b, k, k)
    shapes = [(3, 256, 80), (3, 80, 512), (3, 512), (3, 1)]
    types = [jnp.bfloat16, jnp.bfloat16, jnp.float32, jnp.float32]
    args = [jax.ShapeDtypeStruct(*both) for both in zip(shapes, types, strict=True)]
    text = lowered(layer, *args)
    assert text.count("stablehlo.custom_call") == 1
    assert "grid_x = 4, grid_y = 1, grid_z = 3" in text
    assert jax.eval_shape(jax.vmap(layer), *args).shape == (3, 256, 512)


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        (("elu", 1024, 80, 512), True),
        (("tanh", 1024, 80, 512), False),
        (("elu", 1000, 80, 512), False),
        (("elu", 1024, 78, 512), False),
        (("elu", 1024, 256, 512), False),
        (("relu", 256, 160, 64), True),
    ],
)
def test_what_it_fits(shape, fits):
    assert first_layer.fits(*shape) == fits
