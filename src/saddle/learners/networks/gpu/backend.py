"""Networks of two hidden layers on a GPU: the large products by its library, all between them by
kernels (`stretches`).

The same functions as `networks/plain.py` has, to the rounding of 16 bits. Both precisions that it
serves hold arrays of samples and the factors of products in 16 bits: bf16 as bfloat16, tf32 as
float16, which has TF32's ten bits of mantissa. Arrays are kept times their unit (`units`).
"""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.accelerate import gate
from saddle.learners.networks.activations import ACTIVATIONS
from saddle.learners.networks.gpu import heads, kernels, stretches
from saddle.learners.networks.gpu.head_rows import HeadGradients
from saddle.learners.networks.gpu.units import DEEP, inverse, unit
from saddle.learners.networks.gpu.view import HALF, View
from saddle.learners.networks.gpu.view import join as join
from saddle.learners.networks.gpu.view import rounded as rounded
from saddle.learners.networks.gpu.view import split as split
from saddle.learners.networks.gpu.view import weights as weights
from saddle.learners.networks.plain import (
    BACK,
    FORWARD,
    SUM,
    Net,
    NetworkSettings,
    dot_16,
    init_net,
    squares,
)

ROWS = 256  # samples are filled up to a multiple of it
AT_ONCE = 256  # columns of inputs that a kernel holds, over all weights
HEADROOM = 64.0  # times the largest target; errors may be larger, and most are smaller
SMALL_TARGET = 1e-2  # an error beside smaller ones is not taken to be as small
WIDTHS = (64, 128, 256, 512)  # of a hidden layer: what a block of a kernel can be
# Compute capabilities of Hopper and of Blackwell in data centres: 227 KiB
ROOMY = ("9.0", "10.0", "10.3")
# What sums over samples are rounded to, as mixed precision does
GRADIENT = {"bf16": jnp.bfloat16, "tf32": jnp.float32}


class Trace(NamedTuple):
    """What the backward pass needs of the forward pass, 16 bits wide."""

    x: Array  # [N, P], the input, a column of ones, zeros
    first: Array  # [N, H1], what leaves the first layer's activation, times unit
    second: Array  # [N, H2], what enters the second's, without its bias, times unit and the view's
    unit: Array  # []


class Found(NamedTuple):
    """Of a back-propagation that is not yet weighted."""

    last: Array  # [N, out]
    # [N, H1], d(last . output) / d(what leaves the first layer's activation), times the view's unit
    back: Array


def fits(settings: NetworkSettings) -> bool:
    """Whether these functions can stand in for the plain ones here."""
    shaped = len(settings.hidden) == 2 and all(width in WIDTHS for width in settings.hidden)
    known = shaped and settings.precision in HALF
    return known and gate.allows("triton", ROOMY) and _works(settings)


@cache
def _works(settings: NetworkSettings) -> bool:
    """Whether the kernels of such networks compile and run."""
    return gate.works("a network's update", lambda: jax.jit(lambda: _trial(settings))())


def _trial(settings: NetworkSettings) -> Any:
    """What a minibatch does with a critic and with an actor of two outputs, of few samples and
    inputs.
    """
    inputs = 8
    x = jnp.ones((ROWS, inputs))
    ones = jnp.ones((2, ROWS))
    critic = rounded(settings, init_net(jax.random.key(0), (inputs, *settings.hidden, 1)))
    actor = rounded(settings, init_net(jax.random.key(1), (inputs, *settings.hidden, 2)))
    fitted = regression(settings, critic, x, ones[0], ones[0])
    mean, trace = forward(settings, actor, x)
    norms, found = weighted_squares(settings, actor, trace, mean, ones)
    return fitted, norms, weighted_gradients(settings, actor, trace, found, ones[:1])


def fed(settings: NetworkSettings, x: Array) -> Array:
    """Inputs x [N, in] as the kernels take them: [N, P], 16 bits wide, with a column of ones, then
    zeros.

    The functions here take either; who comes with the same samples many times had better bring
    these.
    """
    ones = jnp.pad(x, ((0, 0), (0, 1)), constant_values=1.0)
    return kernels.narrow(kernels.roomy(ones), HALF[settings.precision])


def forward(settings: NetworkSettings, view: View, x: Array) -> tuple[Array, Trace]:
    """x [N, in] -> output [N, out], and what the backward pass needs."""
    w, b = view.last
    trace = _hidden(settings, view, x)
    every = stretches.outputs(
        settings.activation, trace.second, _per(trace, view), view.middle_biases, w
    )
    return every[: x.shape[0]] + b, trace


def output(settings: NetworkSettings, view: View, x: Array) -> Array:
    """x [N, in] -> output [N, out], for those who need no backward pass."""
    return forward(settings, view, x)[0]


def _hidden(settings: NetworkSettings, view: View, x: Array) -> Trace:
    """Forward to what enters the second hidden layer's activation. x [N, in]."""
    w, b = view.net[0]
    half = HALF[settings.precision]
    wide = x if x.dtype == half else fed(settings, x)
    wide = jnp.pad(wide, ((0, -x.shape[0] % ROWS), (0, 0)))
    unit_of_weights = _unit_if_needed(settings, jnp.abs(w).max())
    # No activation is farther from 0 than what enters it.
    largest = (jnp.abs(wide).max() * jnp.abs(w).sum(0) + jnp.abs(b)).max()
    unit_of_trace = _unit_if_needed(settings, largest)
    wide_w = jnp.pad(w, ((0, wide.shape[1] - w.shape[0]), (0, 0)))
    wide_w = (wide_w * unit_of_weights).astype(half)
    first = stretches.first(
        settings.activation, wide, wide_w, b, inverse(unit_of_weights), unit_of_trace[None]
    )
    second = dot_16(first, view.middle_weights, FORWARD, first.dtype)
    return Trace(wide, first, second, unit_of_trace)


def regression(
    settings: NetworkSettings, view: View, x: Array, target: Array, weight: Array
) -> tuple[Net, Array]:
    """Gradient of sum(weight * error**2), and the errors [N] of the output from target [N].
    x [N, in], weight [N].
    """
    last_weights, _ = view.last
    trace = _hidden(settings, view, x)
    target = _fill(trace, target)
    weight = _fill(trace, weight)
    size_of_error = jnp.maximum(jnp.abs(target).max(), SMALL_TARGET)
    size_of_delta = size_of_error * jnp.abs(last_weights).max()
    scale = unit(weight.max() * size_of_delta) * HEADROOM
    error, delta, of_middle_biases, of_last_weights = stretches.regression(
        settings.activation,
        trace.second,
        _per(trace, view),
        view.middle_biases,
        view.last,
        target,
        2 * scale * weight,
    )
    back = _back(view, delta)
    of_last_biases = 2 * scale * (weight @ error)[None]
    grads = (
        _first_layer_gradients(settings, view, trace, back)[0],
        (_of_middle_weights(settings, trace, delta), of_middle_biases),
        (of_last_weights[:, None], of_last_biases),
    )
    return jax.tree.map(lambda gradient: gradient / scale, grads), error[: x.shape[0]]


def deltas(settings: NetworkSettings, view: View, trace: Trace, last: Array) -> Found:
    """Back-propagation, sample by sample. last [N, out]."""
    last = _fill(trace, last)
    activation = ACTIVATIONS[settings.activation]
    w, _ = view.last
    delta = heads.delta(activation, trace.second, _per(trace, view), view.middle_biases, w, last)
    return Found(last, _back(view, delta))


def _back(view: View, delta: Array) -> Array:
    """Through the middle weights: delta [N, H2] -> [N, H1], times the view's unit."""
    return dot_16(delta, view.middle_weights, BACK, delta.dtype)


def weighted_gradients(
    settings: NetworkSettings, view: View, trace: Trace, found: Found, weights: Array
) -> list[Net]:
    """Weighted sums of the samples' gradients, one per row of weights [K, N]. One back-propagation
    serves all.
    """
    scale, weights = _scaled(trace, weights)
    of_head = _head_gradients(settings, view, trace, found.last, weights, plain=False)
    gradients: list[Net] = []
    for part in _weighted(settings, view, trace, found, weights, scale, of_head):
        of_weights = _of_middle_weights(settings, trace, part.delta) / part.scale
        gradients.append((part.first, (of_weights, part.middle_biases), part.last))
    return gradients


def weighted_squares(
    settings: NetworkSettings, view: View, trace: Trace, last: Array, weights: Array
) -> tuple[Array, Found]:
    """[K], the squared norms of `weighted_gradients`; and what `deltas` gives, whose kernel is part
    of this one's.
    """
    scale, weights = _scaled(trace, weights)
    last = _fill(trace, last)
    of_head = _head_gradients(settings, view, trace, last, weights, plain=True)
    unweighted, *weighted = of_head.deltas
    found = Found(last, _back(view, unweighted))
    of_head = of_head._replace(deltas=weighted)
    norms = []
    for part in _weighted(settings, view, trace, found, weights, scale, of_head):
        around = squares((part.first, part.middle_biases, part.last))
        middle = kernels.squares(trace.first, part.delta) / part.scale**2 / trace.unit**2
        norms.append(around + middle)
    return jnp.stack(norms), found


def _scaled(trace: Trace, weights: Array) -> tuple[Array, Array]:
    """[K] scales, and weights [K, n] times them, filled up to [K, N]."""
    scale = unit(jnp.abs(weights).max(1))
    scaled = weights * scale[:, None]
    return scale, _fill(trace, scaled.T).T


def _head_gradients(
    settings: NetworkSettings, view: View, trace: Trace, last: Array, weights: Array, plain: bool
) -> HeadGradients:
    w, _ = view.last
    per = _per(trace, view)
    return stretches.head_gradients(
        settings.activation, trace.second, per, view.middle_biases, w, last, weights, plain
    )


class _Weighted(NamedTuple):
    """One of K weighted gradients, without that of the middle weights."""

    first: tuple[Array, Array]  # weights [in, H1], biases [H1]
    middle_biases: Array  # [H2]
    last: tuple[Array, Array]  # weights [H2, out], biases [out]
    delta: Array  # [N, H2], what the middle weights' gradient is made of, too large by the scale
    scale: Array  # []


def _weighted(
    settings: NetworkSettings,
    view: View,
    trace: Trace,
    found: Found,
    weights: Array,
    scale: Array,
    of_head: HeadGradients,
) -> list[_Weighted]:
    """The gradients under each row of weights [K, N], which are too large by scale [K]."""
    of_first = _first_layer_gradients(settings, view, trace, found.back, weights)
    rows = zip(
        of_first,
        of_head.sums,
        of_head.weights,
        weights @ found.last,
        of_head.deltas,
        scale,
        strict=True,
    )
    return [
        _Weighted(
            first=(first_w / s, first_b / s),
            middle_biases=middle_b / s,
            last=(last_w / s, last_b / s),
            delta=delta,
            scale=s,
        )
        for (first_w, first_b), middle_b, last_w, last_b, delta, s in rows
    ]


def _of_middle_weights(settings: NetworkSettings, trace: Trace, delta: Array) -> Array:
    """The gradient of the weights between the hidden layers, [H1, H2]."""
    product = dot_16(trace.first, delta, SUM, GRADIENT[settings.precision])
    return product.astype(jnp.float32) / trace.unit


def _first_layer_gradients(
    settings: NetworkSettings, view: View, trace: Trace, back: Array, weights: Array | None = None
) -> list[tuple[Array, Array]]:
    """The first layer's gradient under each row of weights [K, N], or one: weights [in, H1], biases
    [H1].
    """
    inputs = view.net[0][0].shape[0]
    activation = ACTIVATIONS[settings.activation]
    some = max(1, AT_ONCE // trace.x.shape[1])  # rows of weights that a kernel takes at a time
    parts: list[Array | None] = [None]
    if weights is not None:
        parts = [weights[k : k + some] for k in range(0, len(weights), some)]
    gradients: list[tuple[Array, Array]] = []
    for rows in parts:
        found = kernels.first_layer_gradients(
            activation, back, trace.first, inverse(trace.unit), trace.x, rows
        )
        for gradient in found / view.unit:
            gradients.append((gradient[:inputs], gradient[inputs]))
    return gradients


def _per(trace: Trace, view: View) -> Array:
    """[1], what makes `trace.second` what it stands for."""
    return inverse(trace.unit, view.unit)


def _unit_if_needed(settings: NetworkSettings, largest: Array) -> Array:
    """[], of an array whose largest number this is; bfloat16 needs none, since it holds what
    float32 holds.
    """
    if HALF[settings.precision] == jnp.bfloat16:
        return jnp.ones(())
    return unit(largest, DEEP)


def _fill(trace: Trace, x: Array) -> Array:
    """[n, ...] -> [N, ...], with zeros."""
    missing = trace.x.shape[0] - x.shape[0]
    return jnp.pad(x, ((0, missing), *[(0, 0)] * (x.ndim - 1)))
