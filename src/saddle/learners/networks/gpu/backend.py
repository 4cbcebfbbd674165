"""Networks of two hidden layers on a GPU: the large products by its library, all between them by
`kernels`.

The same functions as `networks/plain.py` has, to the rounding of 16 bits. Both precisions that it
serves hold arrays of samples and the factors of products in 16 bits: bf16 as bfloat16, tf32 as
float16, which has TF32's ten bits of mantissa.

float16 holds numbers between 6e-5 and 65504 with all its bits, and nothing below 6e-8. A critic of
a cost that stays away for long has weights far below: its L2 penalty draws them to 0. So arrays are
kept times a power of two, their unit, which brings them there; multiplying with it and dividing by
it is exact.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.accelerate import gate
from saddle.learners.networks.activations import ACTIVATIONS
from saddle.learners.networks.gpu import backward, first_layer, halves, heads, kernels, last_layer
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
MARGIN = 32.0  # by which weights are kept smaller, for sums of products with them
SMALL_TARGET = 1e-2  # an error beside smaller ones is not taken to be as small
# The least power of two that a network's weights are brought back from; L2 alone takes them to
# 2^-106
DEEP = 110
WIDTHS = (64, 128, 256, 512)  # of a hidden layer: what a block of a kernel can be
ROOMY = (
    "9.0",
    "10.0",
    "10.3",
)  # compute capabilities of Hopper and of Blackwell in data centres: 227 KiB
HALF = {"bf16": jnp.bfloat16, "tf32": jnp.float16}
GRADIENT = {
    "bf16": jnp.bfloat16,
    "tf32": jnp.float32,
}  # what sums over samples are rounded to, as mixed precision does


class View(NamedTuple):
    """A network as its products take it."""

    net: Net  # its middle weights 16 bits wide, times unit
    unit: Array  # []


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
    x = jnp.ones((ROWS, 8))
    ones = jnp.ones((2, ROWS))
    critic = rounded(settings, init_net(jax.random.key(0), (8, *settings.hidden, 1)))
    actor = rounded(settings, init_net(jax.random.key(1), (8, *settings.hidden, 2)))
    fitted = regression(settings, critic, x, ones[0], ones[0])
    mean, trace = forward(settings, actor, x)
    norms, found = weighted_squares(settings, actor, trace, mean, ones)
    return fitted, norms, weighted_gradients(settings, actor, trace, found, ones[:1])


def rounded(settings: NetworkSettings, net: Net) -> View:
    """The network with the weights of its large products as these take them."""
    return join(settings, *split(settings, net))[1]


def split(settings: NetworkSettings, net: Net) -> tuple[Net, tuple[Array, Array]]:
    """The middle weights as products take them, with their unit; and the network without what these
    hold of it.
    """
    first, (w, b), last = net
    if settings.precision == "bf16":
        high, low = halves.split(w)
        return (first, (low, b), last), (high, jnp.ones(()))
    unit = _unit(jnp.abs(w).max(), DEEP) / MARGIN
    return net, ((w * unit).astype(HALF[settings.precision]), unit)


def join(settings: NetworkSettings, rest: Net, held: tuple[Array, Array]) -> tuple[Net, View]:
    """The network that `split` took apart, and its view."""
    (first, (low, b), last), (w, unit) = rest, held
    net = (first, (halves.join(w, low), b), last) if settings.precision == "bf16" else rest
    return net, View((first, (w, b), last), unit)


def weights(view: View) -> Net:
    """The network, to the rounding of its view."""
    first, (w, b), last = view.net
    return first, (w.astype(jnp.float32) / view.unit, b), last


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
    _, (_, b2), (w3, b3) = view.net
    trace = _hidden(settings, view, x)
    out = _outputs(settings.activation, trace.second, _per(trace, view), b2, w3)
    return out[: x.shape[0]] + b3, trace


def output(settings: NetworkSettings, view: View, x: Array) -> Array:
    """x [N, in] -> output [N, out], for those who need no backward pass."""
    return forward(settings, view, x)[0]


def _hidden(settings: NetworkSettings, view: View, x: Array) -> Trace:
    (w1, b1), half = view.net[0], HALF[settings.precision]
    wide = x if x.dtype == half else fed(settings, x)
    wide = jnp.pad(wide, ((0, -x.shape[0] % ROWS), (0, 0)))
    of_weights = _unit_if_needed(settings, jnp.abs(w1).max())
    # No activation is farther from 0 than what enters it.
    unit = _unit_if_needed(settings, (jnp.abs(wide).max() * jnp.abs(w1).sum(0) + jnp.abs(b1)).max())
    w1 = (jnp.pad(w1, ((0, wide.shape[1] - w1.shape[0]), (0, 0))) * of_weights).astype(half)
    first = _first(settings.activation, wide, w1, b1, _inverse(of_weights), unit[None])
    return Trace(wide, first, dot_16(first, view.net[1][0], FORWARD, first.dtype), unit)


def regression(
    settings: NetworkSettings, view: View, x: Array, target: Array, weight: Array
) -> tuple[Net, Array]:
    """Gradient of sum(weight * error**2), and the errors [N] of the output from target [N]. x [N,
    in], weight [N].
    """
    _, (_, b2), last = view.net
    trace = _hidden(settings, view, x)
    n = x.shape[0]
    target = _fill(trace, target)
    weight = _fill(trace, weight)
    size = jnp.maximum(jnp.abs(target).max(), SMALL_TARGET) * jnp.abs(last[0]).max()
    scale = _unit(weight.max() * size) * HEADROOM
    error, delta, sums, top = _errors(
        settings.activation, trace.second, _per(trace, view), b2, last, target, 2 * scale * weight
    )
    back = _back(view, delta)
    end = 2 * scale * (weight @ error)[None]
    grads = (
        _first_layer_gradients(settings, view, trace, back)[0],
        (_middle(settings, trace, delta), sums),
        (top[:, None], end),
    )
    return jax.tree.map(lambda g: g / scale, grads), error[:n]


def deltas(settings: NetworkSettings, view: View, trace: Trace, last: Array) -> Found:
    """Back-propagation, sample by sample. last [N, out]."""
    last = _fill(trace, last)
    _, (_, b2), (w3, _) = view.net
    delta = heads.delta(
        ACTIVATIONS[settings.activation], trace.second, _per(trace, view), b2, w3, last
    )
    return Found(last, _back(view, delta))


def _back(view: View, delta: Array) -> Array:
    """Through the middle weights: delta [N, H2] -> [N, H1], times the view's unit."""
    return dot_16(delta, view.net[1][0], BACK, delta.dtype)


def weighted_gradients(
    settings: NetworkSettings, view: View, trace: Trace, found: Found, weights: Array
) -> list[Net]:
    """Weighted sums of the samples' gradients, one per row of weights [K, N]. One back-propagation
    serves all.
    """
    scale, weights = _scaled(trace, weights)
    tops = _head_gradients(settings, view, trace, found.last, weights, plain=False)
    return [
        (bottom, (_middle(settings, trace, delta) / s, sums), last)
        for bottom, sums, last, delta, s in _weighted(
            settings, view, trace, found, weights, scale, tops
        )
    ]


def weighted_squares(
    settings: NetworkSettings, view: View, trace: Trace, last: Array, weights: Array
) -> tuple[Array, Found]:
    """[K], the squared norms of `weighted_gradients`; and what `deltas` gives, whose kernel is part
    of this one's.
    """
    (scale, weights), last = _scaled(trace, weights), _fill(trace, last)
    (plain, *deltas), *sums = _head_gradients(settings, view, trace, last, weights, plain=True)
    found = Found(last, _back(view, plain))
    parts = _weighted(settings, view, trace, found, weights, scale, (deltas, *sums))
    middle = lambda delta, s: kernels.squares(trace.first, delta) / s**2 / trace.unit**2
    return jnp.stack([squares(around) + middle(delta, s) for *around, delta, s in parts]), found


def _scaled(trace: Trace, weights: Array) -> tuple[Array, Array]:
    """[K] scales, and weights [K, n] times them, filled up to [K, N]."""
    scale = _unit(jnp.abs(weights).max(1))
    return scale, _fill(trace, (weights * scale[:, None]).T).T


def _head_gradients(
    settings: NetworkSettings, view: View, trace: Trace, last: Array, weights: Array, plain: bool
) -> tuple:
    _, (_, b2), (w3, _) = view.net
    arrays = (trace.second, _per(trace, view), b2, w3, last, weights)
    (samples, width), outputs, sums = trace.second.shape, w3.shape[1], weights.shape[0]
    if gate.allows("ptx") and backward.fits(settings.activation, samples, width, outputs, sums):
        return backward.gradients(settings.activation, *arrays, plain)
    return heads.gradients(ACTIVATIONS[settings.activation], *arrays, plain)


def _weighted(
    settings: NetworkSettings,
    view: View,
    trace: Trace,
    found: Found,
    weights: Array,
    scale: Array,
    tops: tuple,
) -> list[tuple]:
    """Each of K gradients in parts: first layer, middle biases, last layer; its delta [N, H2] for
    the middle weights.

    The delta is too large by a scale, which comes last.
    """
    deltas, sums, last = tops
    bottoms = _first_layer_gradients(settings, view, trace, found.back, weights)
    found_parts = zip(bottoms, sums, last, weights @ found.last, deltas, scale, strict=True)
    return [
        ((w / s, b / s), total / s, (top / s, end / s), delta, s)
        for (w, b), total, top, end, delta, s in found_parts
    ]


def _middle(settings: NetworkSettings, trace: Trace, delta: Array) -> Array:
    """The gradient of the weights between the hidden layers, [H1, H2]."""
    return (
        dot_16(trace.first, delta, SUM, GRADIENT[settings.precision]).astype(jnp.float32)
        / trace.unit
    )


def _first_layer_gradients(
    settings: NetworkSettings, view: View, trace: Trace, back: Array, weights: Array | None = None
) -> list[tuple[Array, Array]]:
    """The first layer's gradient under each row of weights [K, N], or one: weights [in, H1], biases
    [H1].
    """
    inputs = view.net[0][0].shape[0]
    some = max(1, AT_ONCE // trace.x.shape[1])  # rows of weights that a kernel takes at a time
    parts = (
        [None] if weights is None else [weights[k : k + some] for k in range(0, len(weights), some)]
    )
    gradients: list[tuple[Array, Array]] = []
    for rows in parts:
        found = kernels.first_layer_gradients(
            ACTIVATIONS[settings.activation], back, trace.first, _inverse(trace.unit), trace.x, rows
        )
        for gradient in found / view.unit:
            gradients.append((gradient[:inputs], gradient[inputs]))
    return gradients


def _first(activation: str, x: Array, w: Array, *rest: Array) -> Array:
    """By the kernel in PTX where there is one, like the next two."""
    (samples, inputs), width = x.shape, w.shape[1]
    if gate.allows("ptx") and first_layer.fits(activation, samples, inputs, width):
        return first_layer.first(activation, x, w, *rest)
    return kernels.first(ACTIVATIONS[activation], x, w, *rest)


def _outputs(activation: str, y: Array, per: Array, b: Array, w: Array) -> Array:
    (samples, width), outputs = y.shape, w.shape[1]
    if gate.allows("ptx") and last_layer.fits(activation, samples, width, outputs):
        return last_layer.outputs(activation, y, per, b, w)
    return heads.outputs(ACTIVATIONS[activation], y, per, b, w)


def _errors(activation: str, y: Array, *rest: Any) -> tuple[Array, Array, Array, Array]:
    samples, width = y.shape
    if gate.allows("ptx") and last_layer.fits(activation, samples, width, outputs=1):
        return last_layer.regression(activation, y, *rest)
    return heads.regression(ACTIVATIONS[activation], y, *rest)


def _per(trace: Trace, view: View) -> Array:
    """[1], what makes `trace.second` what it stands for."""
    return _inverse(trace.unit, view.unit)


def _inverse(*units: Array) -> Array:
    """[1], one over their product, which itself may be too large a number."""
    return math.prod((1 / unit for unit in units), start=jnp.ones(1))


def _unit_if_needed(settings: NetworkSettings, largest: Array) -> Array:
    """[], of an array whose largest number this is; bfloat16 needs none, since it holds what
    float32 holds.
    """
    return jnp.ones(()) if HALF[settings.precision] == jnp.bfloat16 else _unit(largest, DEEP)


def _unit(largest: Array, most: int = 60) -> Array:
    """A power of two, hence exact, that brings `largest` to between 1 and 2, where float16 holds it
    and less best.

    Samples' weights differ by many powers of ten: about 1 / N, but where no sample has a cost, beta
    and they are huge. No power above `most` is taken, so that what is multiplied with it stays
    finite.
    """
    _, exponent = jnp.frexp(jnp.where((largest > 0) & jnp.isfinite(largest), largest, 1.0))
    return jnp.ldexp(jnp.ones_like(largest), jnp.clip(1 - exponent, -most, most))


def _fill(trace: Trace, x: Array) -> Array:
    """[n, ...] -> [N, ...], with zeros."""
    return jnp.pad(x, ((0, trace.x.shape[0] - x.shape[0]), *[(0, 0)] * (x.ndim - 1)))
