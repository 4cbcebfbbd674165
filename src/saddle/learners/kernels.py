"""What a GPU does between a network's large products, a kernel for each stretch: few arrays are read or written twice.

For one member; `jax.vmap` adds the members as a grid's slowest axis. Arrays of samples are 16 bits wide, sums float32.
Written for Triton through Pallas. Without a GPU they are interpreted, which is for tests.

N samples, inputs of width P, layers of width H, outputs of width A, weights of K sums. What float16 would not hold is
kept times a number near it: `per` [1] is what to multiply an array with to have its values.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, ShapeDtypeStruct
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jax.typing import DTypeLike

from saddle.learners.activations import Activation

# Of each kernel: rows and columns at a time, rows that a program goes through, warps. The fastest of those tried on a
# Hopper GPU with layers of 512 and 1024 samples.
FIRST = (64, 64, 256, 4)
OUTPUTS = (8, 2)
JUDGE = (128, 256, 64, 8)
REGRESSION = (1, 32, 1)
TOPS_ONE, TOPS_MORE = (4, 256, 256, 2), (16, 128, 256, 8)
DELTA = (64, 64, 4)
BOTTOMS = (32, 128, 4)
SQUARES = (64, 128, 256, 8)
TOGETHER = 4  # rows of a regression that are under way at once
COLUMNS = 16  # a tensor core takes no fewer
HALF_MAX = 65504.0  # of float16

float32 = jnp.float32


def first(activation: Activation, x: Array, w: Array, b: Array, per: Array, unit: Array) -> Array:
    """The first layer, times `unit` [1]: activate(x @ w + b). x [N, P], w [P, H] and its per, b [H] -> [N, H]."""
    (n, p), h = x.shape, w.shape[1]
    rows, columns, span, warps = FIRST
    columns = min(columns, h)

    def kernel(x: Any, w: Any, b: Any, per: Any, unit: Any, out: Any) -> None:
        def some(i: Array, nothing: None) -> None:
            at = pl.ds(i * rows, rows)
            y = triton.dot(x[at, :], w[...]) * per[0] + b[...][None]
            out[at, :] = narrow(activation.value(y) * unit[0], out.dtype)

        jax.lax.fori_loop(0, span // rows, some, None)

    blocks = [_block((span, p), "i_"), _block((p, columns), "_j"), _block((columns,), "j"), ONE, ONE]
    call = _call(kernel, (h // columns, n // span), blocks, _block((span, columns), "ij"), _like((n, h), x), warps)
    return call(x, w, b, per, unit)


def outputs(activation: Activation, y: Array, per: Array, b: Array, w: Array) -> Array:
    """The last layer without its bias: activate(y + b) @ w. y [N, H] and its per, b [H], w [H, A] -> [N, A]."""
    (n, h), a = y.shape, w.shape[1]
    rows, warps = OUTPUTS

    def kernel(y: Any, per: Any, b: Any, w: Any, out: Any) -> None:
        act = activation.value(_widen(y[...]) * per[0] + b[...][None])
        for k in range(a):
            out[k, :] = jnp.sum(act * w[k, :][None], 1)

    blocks = [_block((rows, h), "i_"), ONE, _block((h,), "_"), _block((a, h), "__")]
    out = ShapeDtypeStruct((a, n), float32)
    return _call(kernel, (1, n // rows), blocks, _block((a, rows), "_i"), out, warps)(y, per, b, w.T).T


def judge(activation: Activation, x: Array, w: Array, per: Array, b: Array, last: Array) -> Array:
    """The last two layers without the last bias, nothing kept between them: activate(x @ w + b) @ last.

    x [N, G], w [G, H] and the per of their product, b [H], last [H, A] -> [N, A].
    """
    (n, g), (h, a) = x.shape, last.shape
    rows, columns, depth, warps = JUDGE
    columns = min(columns, h)

    def kernel(x: Any, w: Any, per: Any, b: Any, last: Any, out: Any) -> None:
        def some(i: Array, total: Array) -> Array:
            at = pl.ds(i * depth, depth)
            return total + triton.dot(x[:, at], w[at, :])

        y = jax.lax.fori_loop(0, g // depth, some, jnp.zeros((rows, columns), float32))
        act = activation.value(y * per[0] + b[...][None])
        for k in range(a):
            out[0, k, :] = jnp.sum(act * last[k, :][None], 1)

    wide = [_block((rows, g), "i_"), _block((g, columns), "_j")]
    blocks = [*wide, ONE, _block((columns,), "j"), _block((a, columns), "_j")]
    out = ShapeDtypeStruct((h // columns, a, n), float32)
    grid = (h // columns, n // rows)
    return _call(kernel, grid, blocks, _block((1, a, rows), "j_i"), out, warps)(x, w, per, b, last.T).sum(0).T


def regression(
    activation: Activation, y: Array, per: Array, b: Array, last: tuple[Array, Array], target: Array, weight: Array
) -> tuple[Array, Array, Array, Array]:
    """Forward through the last layer `last` to one output, and back from its error from target [N], weighted [N].

    y [N, H] and its per, b [H], last ([H, 1], [1]) -> the errors [N], weight * error's delta at the last hidden layer
    [N, H], its sums [H], and the gradient of the last layer's weights [H].
    """
    n, h = y.shape
    rows, span, warps = REGRESSION

    def kernel(
        y: Any, per: Any, b: Any, w: Any, c: Any, target: Any, weight: Any, error: Any, out: Any, sums: Any
    ) -> None:
        places = lambda i: [pl.ds((i * TOGETHER + k) * rows, rows) for k in range(TOGETHER)]

        def load(i: Array) -> list[tuple[Array, Array, Array]]:
            return [(y[at, :], target[at], weight[at]) for at in places(i)]

        def some(i: Array, loaded: list, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            sides = [activation.both(_widen(y) * per[0] + b[...][None]) for y, *_ in loaded]
            errors = [
                jnp.sum(act * w[...][None], 1) + c[0] - t for (act, _), (_, t, _) in zip(sides, loaded, strict=True)
            ]
            for at, (act, slope), off, (*_, k) in zip(places(i), sides, errors, loaded, strict=True):
                error[at] = off
                pull = (k * off)[:, None]
                delta = pull * w[...][None] * slope
                out[at, :] = narrow(delta, out.dtype)
                carry = carry[0] + delta, carry[1] + pull * act
            return carry

        zeros = jnp.zeros((rows, h), float32)
        for j, total in enumerate(_fold(span // rows // TOGETHER, load, some, (zeros, zeros), ahead=True)):
            sums[0, j, :] = jnp.sum(total, 0)

    each, whole, block = _block((span,), "i"), _block((h,), "_"), _block((span, h), "i_")
    call = _call(
        kernel,
        (1, n // span),
        [block, ONE, whole, whole, ONE, each, each],
        [each, block, _block((1, 2, h), "i__")],
        [ShapeDtypeStruct((n,), float32), _like((n, h), y), ShapeDtypeStruct((n // span, 2, h), float32)],
        warps,
    )
    error, delta, sums = call(y, per, b, last[0][:, 0], last[1], target, weight)
    return error, delta, *sums.sum(0)


def tops(
    activation: Activation, y: Array, per: Array, b: Array, w: Array, last: Array, weights: Array, plain: bool
) -> tuple[list[Array], Array, Array]:
    """From the output back to what enters the last hidden layer's activation, under each row of weights [K, N].

    y [N, H] and its per, b [H], w [H, A], last [N, A] -> K deltas [N, H], their sums [K, H], and the gradients of w
    [K, H, A].
    With `plain`, one more delta comes first, which is not weighted.
    """
    (n, h), a, k = y.shape, w.shape[1], weights.shape[0]
    rows, columns, span, warps = TOPS_ONE if k == 1 else TOPS_MORE
    columns = min(columns, h)

    def kernel(y: Any, per: Any, b: Any, w: Any, last: Any, weights: Any, *out: Any) -> None:
        *written, partial = out

        def load(i: Array) -> tuple[Array, list[Array], list[Array]]:
            at = pl.ds(i * rows, rows)
            return y[at, :], [last[j, at] for j in range(a)], [weights[j, at] for j in range(k)]

        def some(i: Array, loaded: tuple, sums: list[Array]) -> list[Array]:
            entering, ends, pulls = loaded
            at = pl.ds(i * rows, rows)
            act, slope = activation.both(_widen(entering) * per[0] + b[...][None])
            delta = sum(end[:, None] * w[j, :][None] for j, end in enumerate(ends)) * slope
            deltas, found = [delta] if plain else [], []
            for weight in pulls:
                weighted = delta * weight[:, None]
                deltas.append(weighted)
                found += [weighted, *(act * (weight * end)[:, None] for end in ends)]
            for target, x in zip(written, deltas, strict=True):
                target[at, :] = narrow(x, y.dtype)
            return [x + y for x, y in zip(sums, found, strict=True)]

        start = [jnp.zeros((rows, columns), float32)] * (k * (1 + a))
        for j, total in enumerate(_fold(span // rows, load, some, start, ahead=k > 1)):
            partial[0, j, :] = jnp.sum(total, 0)

    block, each = _block((span, columns), "ij"), lambda count: _block((count, span), "_i")
    partial = ShapeDtypeStruct((n // span, k * (1 + a), h), float32)
    call = _call(
        kernel,
        (h // columns, n // span),
        [block, ONE, _block((columns,), "j"), _block((a, columns), "_j"), each(a), each(k)],
        [block] * (k + plain) + [_block((1, k * (1 + a), columns), "i_j")],
        [_like((n, h), y)] * (k + plain) + [partial],
        warps,
    )
    *deltas, sums = call(y, per, b, w.T, last.T, weights)
    sums = sums.sum(0).reshape(k, 1 + a, h)
    return deltas, sums[:, 0], jnp.moveaxis(sums[:, 1:], 1, 2)


def delta(activation: Activation, y: Array, per: Array, b: Array, w: Array, last: Array) -> Array:
    """As the plain one of `tops`, without the others and the sums: [N, H]."""
    (n, h), a = y.shape, w.shape[1]
    rows, columns, warps = DELTA
    columns = min(columns, h)

    def kernel(y: Any, per: Any, b: Any, w: Any, last: Any, out: Any) -> None:
        _, slope = activation.both(_widen(y[...]) * per[0] + b[...][None])
        back = sum(last[j, :][:, None] * w[j, :][None] for j in range(a))
        out[...] = narrow(back * slope, out.dtype)

    block = _block((rows, columns), "ij")
    blocks = [block, ONE, _block((columns,), "j"), _block((a, columns), "_j"), _block((a, rows), "_i")]
    return _call(kernel, (h // columns, n // rows), blocks, block, _like((n, h), y), warps)(y, per, b, w.T, last.T)


def bottoms(activation: Activation, back: Array, act: Array, per: Array, x: Array) -> Array:
    """The first layer's gradients, x^T @ (back * slope(act)). back, act [N, H], act's per, x [N, P] -> [P, H]."""
    (n, h), p = back.shape, x.shape[1]
    rows, columns, warps = BOTTOMS
    columns = min(columns, h)

    def kernel(back: Any, act: Any, per: Any, x: Any, out: Any) -> None:
        def some(i: Array, total: Array) -> Array:
            at = pl.ds(i * rows, rows)
            delta = _widen(back[at, :]) * activation.slope(act[at, :].astype(float32) * per[0])
            return total + triton.dot(x[at, :], narrow(delta, back.dtype), trans_a=True)

        out[...] = jax.lax.fori_loop(0, n // rows, some, jnp.zeros((p, columns), float32))

    block, out = _block((n, columns), "_j"), ShapeDtypeStruct((p, h), float32)
    blocks = [block, block, ONE, _block((n, p), "__")]
    return _call(kernel, (h // columns, 1), blocks, _block((p, columns), "_j"), out, warps)(back, act, per, x)


def squares(x: Array, delta: Array) -> Array:
    """Sum of the squares of x^T @ delta, which is not written anywhere. x [N, H1], delta [N, H2] -> []."""
    (n, h), wide = x.shape, delta.shape[1]
    rows, height, width, warps = SQUARES
    height, width = min(height, h), min(width, wide)

    def kernel(x: Any, delta: Any, out: Any) -> None:
        def some(i: Array, total: Array) -> Array:
            at = pl.ds(i * rows, rows)
            return total + triton.dot(x[at, :], delta[at, :], trans_a=True)

        total = jax.lax.fori_loop(0, n // rows, some, jnp.zeros((height, width), float32))
        out[...] = jnp.sum(total * total)[None, None]

    blocks = [_block((n, height), "_i"), _block((n, width), "_j")]
    grid = (wide // width, h // height)
    out = ShapeDtypeStruct(grid[::-1], float32)
    return _call(kernel, grid, blocks, _block((1, 1), "ij"), out, warps)(x, delta).sum()


def narrow(x: Array, dtype: DTypeLike) -> Array:
    """Rounded to 16 bits; what float16 cannot hold becomes its largest number, not infinity."""
    return (jnp.clip(x, -HALF_MAX, HALF_MAX) if dtype == jnp.float16 else x).astype(dtype)


def _widen(x: Array) -> Array:
    """A product's result as float32; where float16 could not hold it, its largest number."""
    wide = x.astype(float32)
    return jnp.clip(wide, -HALF_MAX, HALF_MAX) if x.dtype == jnp.float16 else wide


def columns(x: Array) -> Array:
    """x [N, P] with columns of zeros up to a power of two that a tensor core takes."""
    wanted = max(COLUMNS, 1 << (x.shape[1] - 1).bit_length())
    return jnp.pad(x, ((0, 0), (0, wanted - x.shape[1])))


def _fold(count: int, load: Callable, some: Callable, start: Any, ahead: bool) -> Any:
    """some(i, load(i), carry) over i. With `ahead`, which takes registers, the next load is on its way meanwhile.

    The compiler would not move a load ahead of the stores that come before it.
    """

    def step(i: Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        so_far, loaded = carry
        following = load(jnp.minimum(i + 1, count - 1))
        return some(i, loaded, so_far), following

    if ahead:
        return jax.lax.fori_loop(0, count, step, (start, load(0)))[0]
    return jax.lax.fori_loop(0, count, lambda i, carry: some(i, load(i), carry), start)


def _call(
    kernel: Callable[..., None], grid: tuple[int, int], blocks: Sequence, results: Any, shapes: Any, warps: int
) -> Callable:
    params = triton.CompilerParams(num_warps=warps, num_stages=4)
    interpret = jax.default_backend() == "cpu"
    return pl.pallas_call(
        kernel, shapes, grid=grid, in_specs=blocks, out_specs=results, compiler_params=params, interpret=interpret
    )


def _block(shape: tuple[int, ...], axes: str) -> pl.BlockSpec:
    """Which block program (j, i) sees: along each axis the i-th, the j-th, or _ the only one."""
    return pl.BlockSpec(shape, lambda j, i: tuple({"i": i, "j": j, "_": 0}[axis] for axis in axes))


ONE = _block((1,), "_")  # a number


def _like(shape: tuple[int, ...], x: Array) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(shape, x.dtype)
