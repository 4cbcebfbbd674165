"""Kernels, as `kernels` has them, for a network's last layer: forward to what it puts out, and back
from there.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, ShapeDtypeStruct
from jax.experimental import pallas as pl

from saddle.accelerate import triton
from saddle.learners.networks.activations import Activation
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
OUTPUTS = (8, 2)
OUTPUTS_MANY = (64, 32, 2)
REGRESSION = (1, 32, 1)
TOPS_ONE = (4, 256, 256, 2)
TOPS_MORE = (16, 128, 256, 8)
TOPS_MANY = (64, 64, 256, 4)
DELTA = (64, 64, 4)
TOGETHER = 4  # rows of a regression that are under way at once
FEW = (
    2  # outputs with which term by term is quicker than a tensor core, which takes no fewer than 16
)


def outputs(activation: Activation, y: Array, per: Array, b: Array, w: Array) -> Array:
    """The last layer without its bias: activate(y + b) @ w. y [N, H] and its per, b [H], w [H, A]
    -> [N, A].
    """
    if w.shape[1] > FEW:
        return _many_outputs(activation, y, per, b, w)
    (n, h), a = y.shape, w.shape[1]
    rows, warps = OUTPUTS

    def kernel(y: Any, per: Any, b: Any, w: Any, out: Any) -> None:
        act = activation.value(widen(y[...]) * per[0] + b[...][None])
        for k in range(a):
            out[k, :] = jnp.sum(act * w[k, :][None], 1)

    blocks = [block((rows, h), "i_"), ONE, block((h,), "_"), block((a, h), "__")]
    out = ShapeDtypeStruct((a, n), float32)
    return call(kernel, (1, n // rows), blocks, block((a, rows), "_i"), out, warps)(
        y, per, b, w.T
    ).T


def _many_outputs(activation: Activation, y: Array, per: Array, b: Array, w: Array) -> Array:
    """As `outputs`, with activations and w rounded to 16 bits: what an actor puts out, whose
    numbers float16 holds.
    """
    (n, h), a = y.shape, w.shape[1]
    rows, depth, warps = OUTPUTS_MANY
    w = columns(narrow(w, y.dtype))

    def kernel(y: Any, per: Any, b: Any, w: Any, out: Any) -> None:
        def some(i: Array, total: Array) -> Array:
            at = pl.ds(i * depth, depth)
            act = activation.value(widen(y[:, at]) * per[0] + b[at][None])
            return total + triton.dot(narrow(act, y.dtype), w[at, :])

        out[...] = jax.lax.fori_loop(0, h // depth, some, jnp.zeros(out.shape, float32))

    blocks = [block((rows, h), "i_"), ONE, block((h,), "_"), block(w.shape, "__")]
    out = ShapeDtypeStruct((n, w.shape[1]), float32)
    return call(kernel, (1, n // rows), blocks, block((rows, w.shape[1]), "i_"), out, warps)(
        y, per, b, w
    )[:, :a]


def regression(
    activation: Activation,
    y: Array,
    per: Array,
    b: Array,
    last: tuple[Array, Array],
    target: Array,
    weight: Array,
) -> tuple[Array, Array, Array, Array]:
    """Forward through the last layer `last` to one output, and back from its error from target [N],
    weighted [N].

    y [N, H] and its per, b [H], last ([H, 1], [1]) -> the errors [N], weight * error's delta at the
    last hidden layer [N, H], its sums [H], and the gradient of the last layer's weights [H].
    """
    n, h = y.shape
    rows, span, warps = REGRESSION

    def kernel(
        y: Any,
        per: Any,
        b: Any,
        w: Any,
        c: Any,
        target: Any,
        weight: Any,
        error: Any,
        out: Any,
        sums: Any,
    ) -> None:
        places = lambda i: [pl.ds((i * TOGETHER + k) * rows, rows) for k in range(TOGETHER)]

        def load(i: Array) -> list[tuple[Array, Array, Array]]:
            return [(y[at, :], target[at], weight[at]) for at in places(i)]

        def some(i: Array, loaded: list, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            sides = [activation.both(widen(y) * per[0] + b[...][None]) for y, *_ in loaded]
            errors = [
                jnp.sum(act * w[...][None], 1) + c[0] - t
                for (act, _), (_, t, _) in zip(sides, loaded, strict=True)
            ]
            for at, (act, slope), off, (*_, k) in zip(
                places(i), sides, errors, loaded, strict=True
            ):
                error[at] = off
                pull = (k * off)[:, None]
                delta = pull * w[...][None] * slope
                out[at, :] = narrow(delta, out.dtype)
                carry = carry[0] + delta, carry[1] + pull * act
            return carry

        zeros = jnp.zeros((rows, h), float32)
        for j, total in enumerate(
            _fold(span // rows // TOGETHER, load, some, (zeros, zeros), ahead=True)
        ):
            sums[0, j, :] = jnp.sum(total, 0)

    each = block((span,), "i")
    whole = block((h,), "_")
    tile = block((span, h), "i_")
    run = call(
        kernel,
        (1, n // span),
        [tile, ONE, whole, whole, ONE, each, each],
        [each, tile, block((1, 2, h), "i__")],
        [
            ShapeDtypeStruct((n,), float32),
            like((n, h), y),
            ShapeDtypeStruct((n // span, 2, h), float32),
        ],
        warps,
    )
    error, delta, sums = run(y, per, b, last[0][:, 0], last[1], target, weight)
    return error, delta, *sums.sum(0)


def gradients(
    activation: Activation,
    y: Array,
    per: Array,
    b: Array,
    w: Array,
    last: Array,
    weights: Array,
    plain: bool,
) -> tuple[list[Array], Array, Array]:
    """From the output back to what enters the last hidden layer's activation, under each row of
    weights [K, N].

    y [N, H] and its per, b [H], w [H, A], last [N, A] -> K deltas [N, H], their sums [K, H], and
    the gradients of w [K, H, A]. With `plain`, one more delta comes first, which is not weighted.
    """
    if w.shape[1] > FEW:
        return _many_head_gradients(activation, y, per, b, w, last, weights, plain)
    (n, h), a, k = y.shape, w.shape[1], weights.shape[0]
    rows, width, span, warps = TOPS_ONE if k == 1 else TOPS_MORE
    width = min(width, h)

    def kernel(y: Any, per: Any, b: Any, w: Any, last: Any, weights: Any, *out: Any) -> None:
        *written, partial = out

        def load(i: Array) -> tuple[Array, list[Array], list[Array]]:
            at = pl.ds(i * rows, rows)
            return y[at, :], [last[j, at] for j in range(a)], [weights[j, at] for j in range(k)]

        def some(i: Array, loaded: tuple, sums: list[Array]) -> list[Array]:
            entering, ends, pulls = loaded
            at = pl.ds(i * rows, rows)
            act, delta = _delta(activation, entering, per, b, w, ends)
            weighted = [delta * weight[:, None] for weight in pulls]
            _write(written, at, [delta, *weighted] if plain else weighted)
            found = []
            for x, weight in zip(weighted, pulls, strict=True):
                found += [x, *(act * (weight * end)[:, None] for end in ends)]
            return [x + y for x, y in zip(sums, found, strict=True)]

        start = [jnp.zeros((rows, width), float32)] * (k * (1 + a))
        for j, total in enumerate(_fold(span // rows, load, some, start, ahead=k > 1)):
            partial[0, j, :] = jnp.sum(total, 0)

    tile = block((span, width), "ij")
    each = lambda count: block((count, span), "_i")
    partial = ShapeDtypeStruct((n // span, k * (1 + a), h), float32)
    run = call(
        kernel,
        (h // width, n // span),
        [tile, ONE, block((width,), "j"), block((a, width), "_j"), each(a), each(k)],
        [tile] * (k + plain) + [block((1, k * (1 + a), width), "i_j")],
        [like((n, h), y)] * (k + plain) + [partial],
        warps,
    )
    *deltas, sums = run(y, per, b, w.T, last.T, weights)
    sums = sums.sum(0).reshape(k, 1 + a, h)
    return deltas, sums[:, 0], jnp.moveaxis(sums[:, 1:], 1, 2)


def _many_head_gradients(
    activation: Activation,
    y: Array,
    per: Array,
    b: Array,
    w: Array,
    last: Array,
    weights: Array,
    plain: bool,
) -> tuple[list[Array], Array, Array]:
    """As `tops`, with sums over samples as products of factors 16 bits wide."""
    (n, h), a, k = y.shape, w.shape[1], weights.shape[0]
    rows, width, span, warps = TOPS_MANY
    width = min(width, h)
    pulls = columns(narrow((weights[:, None] * last.T).reshape(k * a, n).T, y.dtype)).T
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

        def some(i: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
            at = pl.ds(i * rows, rows)
            act, delta = _delta(activation, y[at, :], per, b, w, [last[j, at] for j in range(a)])
            weighted = [delta * weights[j, at][:, None] for j in range(k)]
            _write(written, at, [delta, *weighted] if plain else weighted)
            more = (
                triton.dot(shares[:, at], narrow(delta, y.dtype)),
                triton.dot(pulls[:, at], narrow(act, y.dtype)),
            )
            return sums[0] + more[0], sums[1] + more[1]

        start = tuple(jnp.zeros(x.shape[1:], float32) for x in (of_deltas, of_w))
        of_deltas[0], of_w[0] = jax.lax.fori_loop(0, span // rows, some, start)

    tile = block((span, width), "ij")
    each = lambda count: block((count, span), "_i")
    totals = [x.shape[0] for x in (shares, pulls)]
    run = call(
        kernel,
        (h // width, n // span),
        [
            tile,
            ONE,
            block((width,), "j"),
            block((a, width), "_j"),
            each(a),
            each(k),
            *map(each, totals),
        ],
        [tile] * (k + plain) + [block((1, count, width), "i_j") for count in totals],
        [like((n, h), y)] * (k + plain)
        + [ShapeDtypeStruct((n // span, count, h), float32) for count in totals],
        warps,
    )
    *deltas, of_deltas, of_w = run(y, per, b, w.T, last.T, weights, shares, pulls)
    grads = of_w.sum(0)[: k * a].reshape(k, a, h)
    return deltas, of_deltas.sum(0)[:k], jnp.moveaxis(grads, 1, 2)


def delta(activation: Activation, y: Array, per: Array, b: Array, w: Array, last: Array) -> Array:
    """As the plain one of `tops`, without the others and the sums: [N, H]."""
    (n, h), a = y.shape, w.shape[1]
    rows, width, warps = DELTA
    width = min(width, h)

    def kernel(y: Any, per: Any, b: Any, w: Any, last: Any, out: Any) -> None:
        _, found = _delta(activation, y[...], per, b, w, [last[j, :] for j in range(a)])
        out[...] = narrow(found, out.dtype)

    tile = block((rows, width), "ij")
    blocks = [tile, ONE, block((width,), "j"), block((a, width), "_j"), block((a, rows), "_i")]
    return call(kernel, (h // width, n // rows), blocks, tile, like((n, h), y), warps)(
        y, per, b, w.T, last.T
    )


def _delta(
    activation: Activation, y: Array, per: Any, b: Any, w: Any, ends: list[Array]
) -> tuple[Array, Array]:
    """Inside a kernel: some rows' activations and, from what comes back to each output, what enters
    them [rows, H].
    """
    act, slope = activation.both(widen(y) * per[0] + b[...][None])
    return act, sum(end[:, None] * w[j, :][None] for j, end in enumerate(ends)) * slope


def _write(targets: Sequence[Any], at: Any, arrays: list[Array]) -> None:
    for target, x in zip(targets, arrays, strict=True):
        target[at, :] = narrow(x, target.dtype)


def _fold(count: int, load: Callable, some: Callable, start: Any, ahead: bool) -> Any:
    """some(i, load(i), carry) over i. With `ahead`, which takes registers, the next load is on its
    way meanwhile.

    The compiler would not move a load ahead of the stores that come before it.
    """

    def step(i: Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        so_far, loaded = carry
        following = load(jnp.minimum(i + 1, count - 1))
        return some(i, loaded, so_far), following

    if ahead:
        return jax.lax.fori_loop(0, count, step, (start, load(0)))[0]
    return jax.lax.fori_loop(0, count, lambda i, carry: some(i, load(i), carry), start)
