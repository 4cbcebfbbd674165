"""Kernels, as `kernels` has them, for a network's last layer: forward to what it puts out, and back
from there.

Those of few outputs go through them term by term, which is quicker than a tensor core: it takes no
fewer than 16. Those of many are in `heads_many`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, ShapeDtypeStruct
from jax.experimental import pallas as pl

from saddle.learners.networks.activations import Activation
from saddle.learners.networks.gpu import heads_many
from saddle.learners.networks.gpu.head_rows import HeadGradients, back, write
from saddle.learners.networks.gpu.kernels import ONE, block, call, float32, like, narrow, widen

# Rows and columns at a time, rows that a program goes through, warps; chosen as those of `kernels`.
OUTPUTS = (8, 2)
REGRESSION = (1, 32, 1)
GRADIENTS_ONE = (4, 256, 256, 2)
GRADIENTS_MORE = (16, 128, 256, 8)
DELTA = (64, 64, 4)
TOGETHER = 4  # rows of a regression that are under way at once
FEW = 2  # outputs


def outputs(activation: Activation, y: Array, per: Array, b: Array, w: Array) -> Array:
    """The last layer without its bias: activate(y + b) @ w. y [N, H] and its per, b [H], w [H, A]
    -> [N, A].
    """
    samples, width = y.shape
    count = w.shape[1]
    if count > FEW:
        return heads_many.outputs(activation, y, per, b, w)
    rows, warps = OUTPUTS

    def kernel(y: Any, per: Any, b: Any, w: Any, out: Any) -> None:
        act = activation.value(widen(y[...]) * per[0] + b[...][None])
        for k in range(count):
            out[k, :] = jnp.sum(act * w[k, :][None], 1)

    run = call(
        kernel,
        grid=(1, samples // rows),
        blocks=[block((rows, width), "i_"), ONE, block((width,), "_"), block((count, width), "__")],
        results=block((count, rows), "_i"),
        shapes=ShapeDtypeStruct((count, samples), float32),
        warps=warps,
    )
    return run(y, per, b, w.T).T


class _Loaded(NamedTuple):
    """Some rows of a regression."""

    y: Array  # [rows, H]
    target: Array  # [rows]
    weight: Array  # [rows]


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
    samples, width = y.shape
    rows, span, warps = REGRESSION

    def places(i: Array) -> list[Any]:
        return [pl.ds((i * TOGETHER + k) * rows, rows) for k in range(TOGETHER)]

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
        def load(i: Array) -> list[_Loaded]:
            return [_Loaded(y[at, :], target[at], weight[at]) for at in places(i)]

        def some(
            i: Array, loaded: list[_Loaded], totals: tuple[Array, Array]
        ) -> tuple[Array, Array]:
            sides = [activation.both(widen(x.y) * per[0] + b[...][None]) for x in loaded]
            errors = []
            for (act, _), x in zip(sides, loaded, strict=True):
                errors.append(jnp.sum(act * w[...][None], 1) + c[0] - x.target)
            of_deltas, of_w = totals
            for at, (act, slope), off, x in zip(places(i), sides, errors, loaded, strict=True):
                error[at] = off
                pull = (x.weight * off)[:, None]
                delta = pull * w[...][None] * slope
                out[at, :] = narrow(delta, out.dtype)
                of_deltas = of_deltas + delta
                of_w = of_w + pull * act
            return of_deltas, of_w

        zeros = jnp.zeros((rows, width), float32)
        totals = _fold(span // rows // TOGETHER, load, some, (zeros, zeros), ahead=True)
        for j, total in enumerate(totals):
            sums[0, j, :] = jnp.sum(total, 0)

    each = block((span,), "i")
    whole = block((width,), "_")
    tile = block((span, width), "i_")
    run = call(
        kernel,
        grid=(1, samples // span),
        blocks=[tile, ONE, whole, whole, ONE, each, each],
        results=[each, tile, block((1, 2, width), "i__")],
        shapes=[
            ShapeDtypeStruct((samples,), float32),
            like((samples, width), y),
            ShapeDtypeStruct((samples // span, 2, width), float32),
        ],
        warps=warps,
    )
    w, c = last
    error, delta, sums = run(y, per, b, w[:, 0], c, target, weight)
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
) -> HeadGradients:
    """From the output back to what enters the last hidden layer's activation, under each row of
    weights [K, N].

    y [N, H] and its per, b [H], w [H, A], last [N, A]. With `plain`, one more delta comes first,
    which is not weighted.
    """
    samples, width = y.shape
    outputs = w.shape[1]
    sums = weights.shape[0]
    if outputs > FEW:
        return heads_many.gradients(activation, y, per, b, w, last, weights, plain)
    rows, columns, span, warps = GRADIENTS_ONE if sums == 1 else GRADIENTS_MORE
    columns = min(columns, width)

    def kernel(y: Any, per: Any, b: Any, w: Any, last: Any, weights: Any, *out: Any) -> None:
        *written, partial = out

        def load(i: Array) -> tuple[Array, list[Array], list[Array]]:
            at = pl.ds(i * rows, rows)
            entering = y[at, :]
            ends = [last[j, at] for j in range(outputs)]
            shares = [weights[k, at] for k in range(sums)]
            return entering, ends, shares

        def some(i: Array, loaded: tuple, totals: list[Array]) -> list[Array]:
            entering, ends, shares = loaded
            at = pl.ds(i * rows, rows)
            act, delta = back(activation, entering, per, b, w, ends)
            weighted = [delta * share[:, None] for share in shares]
            write(written, at, [delta, *weighted] if plain else weighted)
            more = []
            for own_delta, share in zip(weighted, shares, strict=True):
                more.append(own_delta)
                more += [act * (share * end)[:, None] for end in ends]
            return [found + total for found, total in zip(totals, more, strict=True)]

        start = [jnp.zeros((rows, columns), float32)] * (sums * (1 + outputs))
        totals = _fold(span // rows, load, some, start, ahead=sums > 1)
        for j, total in enumerate(totals):
            partial[0, j, :] = jnp.sum(total, 0)

    tile = block((span, columns), "ij")
    totals = sums * (1 + outputs)
    run = call(
        kernel,
        grid=(width // columns, samples // span),
        blocks=[
            tile,
            ONE,
            block((columns,), "j"),
            block((outputs, columns), "_j"),
            block((outputs, span), "_i"),
            block((sums, span), "_i"),
        ],
        results=[tile] * (sums + plain) + [block((1, totals, columns), "i_j")],
        shapes=[like((samples, width), y)] * (sums + plain)
        + [ShapeDtypeStruct((samples // span, totals, width), float32)],
        warps=warps,
    )
    *deltas, partial = run(y, per, b, w.T, last.T, weights)
    found = partial.sum(0).reshape(sums, 1 + outputs, width)
    return HeadGradients(deltas, found[:, 0], jnp.moveaxis(found[:, 1:], 1, 2))


def delta(activation: Activation, y: Array, per: Array, b: Array, w: Array, last: Array) -> Array:
    """As the delta of `gradients` that is not weighted, without the others and the sums: [N, H]."""
    samples, width = y.shape
    outputs = w.shape[1]
    rows, columns, warps = DELTA
    columns = min(columns, width)

    def kernel(y: Any, per: Any, b: Any, w: Any, last: Any, out: Any) -> None:
        entering = y[...]
        ends = [last[j, :] for j in range(outputs)]
        _, found = back(activation, entering, per, b, w, ends)
        out[...] = narrow(found, out.dtype)

    tile = block((rows, columns), "ij")
    run = call(
        kernel,
        grid=(width // columns, samples // rows),
        blocks=[
            tile,
            ONE,
            block((columns,), "j"),
            block((outputs, columns), "_j"),
            block((outputs, rows), "_i"),
        ],
        results=tile,
        shapes=like((samples, width), y),
        warps=warps,
    )
    return run(y, per, b, w.T, last.T)


def _fold(count: int, load: Callable, some: Callable, start: Any, ahead: bool) -> Any:
    """some(i, load(i), carry) over i. With `ahead`, which takes registers, the next load is on its
    way meanwhile.

    The compiler would not move a load ahead of the stores that come before it.
    """

    def step(i: Array, carry: Any) -> Any:
        return some(i, load(i), carry)

    def step_ahead(i: Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        so_far, loaded = carry
        following = load(jnp.minimum(i + 1, count - 1))
        return some(i, loaded, so_far), following

    if ahead:
        found, _ = jax.lax.fori_loop(0, count, step_ahead, (start, load(0)))
        return found
    return jax.lax.fori_loop(0, count, step, start)
