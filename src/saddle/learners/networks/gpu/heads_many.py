"""As `heads`, for a last layer of many outputs: activations and weights are rounded to 16 bits, and
sums are a tensor core's products.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, ShapeDtypeStruct
from jax.experimental import pallas as pl

from saddle.accelerate import triton
from saddle.learners.networks.activations import Activation
from saddle.learners.networks.gpu.head_rows import HeadGradients, back, write
from saddle.learners.networks.gpu.kernels import (
    ONE,
    block,
    call,
    columns,
    float32,
    like,
    narrow,
    widen,
)

# Rows and columns at a time, rows that a program goes through, warps; chosen as those of `kernels`.
OUTPUTS = (64, 32, 2)
GRADIENTS = (64, 64, 256, 4)


def outputs(activation: Activation, y: Array, per: Array, b: Array, w: Array) -> Array:
    """As `heads.outputs`: what an actor puts out, whose numbers float16 holds."""
    samples, width = y.shape
    count = w.shape[1]
    rows, depth, warps = OUTPUTS
    w = columns(narrow(w, y.dtype))
    wide = w.shape[1]

    def kernel(y: Any, per: Any, b: Any, w: Any, out: Any) -> None:
        def some(i: Array, total: Array) -> Array:
            at = pl.ds(i * depth, depth)
            act = activation.value(widen(y[:, at]) * per[0] + b[at][None])
            return total + triton.dot(narrow(act, y.dtype), w[at, :])

        nothing = jnp.zeros(out.shape, float32)
        out[...] = jax.lax.fori_loop(0, width // depth, some, nothing)

    run = call(
        kernel,
        grid=(1, samples // rows),
        blocks=[block((rows, width), "i_"), ONE, block((width,), "_"), block(w.shape, "__")],
        results=block((rows, wide), "i_"),
        shapes=ShapeDtypeStruct((samples, wide), float32),
        warps=warps,
    )
    return run(y, per, b, w)[:, :count]


def gradients(
    activation: Activation,
    y: Array,
    per: Array,
    b: Array,
    w: Array,
    last: Array,
    weights: Array,
    plain: bool,
) -> HeadGradients:
    """As `heads.gradients`."""
    samples, width = y.shape
    outputs = w.shape[1]
    sums = weights.shape[0]
    rows, own_columns, span, warps = GRADIENTS
    own_columns = min(own_columns, width)
    weighted_last = (weights[:, None] * last.T).reshape(sums * outputs, samples)
    pulls = columns(narrow(weighted_last.T, y.dtype)).T
    shares = columns(narrow(weights.T, y.dtype)).T

    def kernel(
        y: Any,
        per: Any,
        b: Any,
        w: Any,
        last: Any,
        weights: Any,
        shares: Any,
        pulls: Any,
        *out: Any,
    ) -> None:
        *written, of_deltas, of_w = out

        def some(i: Array, totals: tuple[Array, Array]) -> tuple[Array, Array]:
            at = pl.ds(i * rows, rows)
            entering = y[at, :]
            ends = [last[j, at] for j in range(outputs)]
            act, delta = back(activation, entering, per, b, w, ends)
            weighted = [delta * weights[k, at][:, None] for k in range(sums)]
            write(written, at, [delta, *weighted] if plain else weighted)
            more_deltas = triton.dot(shares[:, at], narrow(delta, y.dtype))
            more_w = triton.dot(pulls[:, at], narrow(act, y.dtype))
            return totals[0] + more_deltas, totals[1] + more_w

        nothing = tuple(jnp.zeros(total.shape[1:], float32) for total in (of_deltas, of_w))
        of_deltas[0], of_w[0] = jax.lax.fori_loop(0, span // rows, some, nothing)

    def some_samples(count: int) -> pl.BlockSpec:
        return block((count, span), "_i")

    tile = block((span, own_columns), "ij")
    blocks = [tile, ONE, block((own_columns,), "j"), block((outputs, own_columns), "_j")]
    blocks += [some_samples(count) for count in (outputs, sums, len(shares), len(pulls))]
    results = [tile] * (sums + plain)
    shapes = [like((samples, width), y)] * (sums + plain)
    for array in (shares, pulls):
        count = len(array)
        results.append(block((1, count, own_columns), "i_j"))
        shapes.append(ShapeDtypeStruct((samples // span, count, width), float32))
    grid = (width // own_columns, samples // span)
    run = call(kernel, grid, blocks, results, shapes, warps)
    *deltas, of_deltas, of_w = run(y, per, b, w.T, last.T, weights, shares, pulls)
    of_weights = of_w.sum(0)[: sums * outputs].reshape(sums, outputs, width)
    return HeadGradients(deltas, of_deltas.sum(0)[:sums], jnp.moveaxis(of_weights, 1, 2))
