"""What a GPU does between a network's large products, a kernel for each stretch: few arrays are
read or written twice.

For one member; `jax.vmap` adds the members as a grid's slowest axis. Arrays of samples are 16 bits
wide, sums float32. Written for Triton through Pallas. Without a GPU they are interpreted, which is
for tests.

N samples, inputs of width P, layers of width H, outputs of width A, weights of K sums. What float16
would not hold is kept times a number near it: `per` [1] is what to multiply an array with to have
its values.

What happens at the last layer is in `heads`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, ShapeDtypeStruct
from jax.experimental import pallas as pl
from jax.typing import DTypeLike

from saddle.accelerate import triton
from saddle.learners.networks.activations import Activation

# Of each kernel: rows and columns at a time, rows that a program goes through, warps. The fastest
# of those tried on a Hopper GPU with layers of 512 and 1024 samples, for inputs no wider than
# NARROW (NARROW_BACK) and for wider ones.
FIRST = (64, 128, 256, 4)
FIRST_WIDE = (128, 64, 128, 4)
BOTTOMS = (32, 128, 4)
BOTTOMS_WIDE = (32, 64, 4)
SQUARES = (64, 128, 256, 8)
NARROW, NARROW_BACK = 32, 160
COLUMNS = 16  # a tensor core takes no fewer
HALF_MAX = 65504.0  # of float16

float32 = jnp.float32


def first(activation: Activation, x: Array, w: Array, b: Array, per: Array, unit: Array) -> Array:
    """The first layer, times `unit` [1]: activate(x @ w + b). x [N, P], w [P, H] and its per, b [H]
    -> [N, H].
    """
    (n, p), h = x.shape, w.shape[1]
    rows, columns, span, warps = FIRST if p <= NARROW else FIRST_WIDE
    columns = min(columns, h)
    cuts = pieces(p)

    def kernel(*refs: Any) -> None:
        xs, ws, (b, per, unit, out) = refs[: len(cuts)], refs[len(cuts) : -4], refs[-4:]

        def some(i: Array, nothing: None) -> None:
            at = pl.ds(i * rows, rows)
            y = (
                sum(triton.dot(x[at, :], w[...]) for x, w in zip(xs, ws, strict=True)) * per[0]
                + b[...][None]
            )
            out[at, :] = narrow(activation.value(y) * unit[0], out.dtype)

        jax.lax.fori_loop(0, span // rows, some, None)

    blocks = [block((span, width), ("i", place)) for width, place in cuts]
    blocks += [block((width, columns), (place, "j")) for width, place in cuts]
    blocks += [block((columns,), "j"), ONE, ONE]
    run = call(
        kernel,
        (h // columns, n // span),
        blocks,
        block((span, columns), "ij"),
        like((n, h), x),
        warps,
    )
    return run(*[x] * len(cuts), *[w] * len(cuts), b, per, unit)


def first_layer_gradients(
    activation: Activation,
    back: Array,
    act: Array,
    per: Array,
    x: Array,
    weights: Array | None = None,
) -> Array:
    """The first layer's gradients, x^T @ (weights * back * slope(act)), under each row of weights
    [K, N], or one.

    back, act [N, H], act's per, x [N, P] -> [K, P, H].
    """
    (n, h), p, k = back.shape, x.shape[1], 1 if weights is None else weights.shape[0]
    rows, columns, warps = BOTTOMS if k * p <= NARROW_BACK else BOTTOMS_WIDE
    columns = min(columns, h)
    cuts = pieces(p)

    def kernel(back: Any, act: Any, per: Any, *rest: Any) -> None:
        xs = rest[: len(cuts)]
        given = rest[len(cuts) : -k * len(cuts)]
        out = rest[-k * len(cuts) :]

        def some(i: Array, totals: list[Array]) -> list[Array]:
            at = pl.ds(i * rows, rows)
            delta = widen(back[at, :]) * activation.slope(act[at, :].astype(float32) * per[0])
            deltas = [delta * weights[j, at][:, None] for weights in given for j in range(k)] or [
                delta
            ]
            products = [
                triton.dot(x[at, :], narrow(d, back.dtype), trans_a=True)
                for d in deltas
                for x in xs
            ]
            return [total + product for total, product in zip(totals, products, strict=True)]

        start = [jnp.zeros((width, columns), float32) for width, _ in cuts] * k
        for target, total in zip(out, jax.lax.fori_loop(0, n // rows, some, start), strict=True):
            target[...] = total

    tile = block((n, columns), "_j")
    blocks = [tile, tile, ONE, *(block((n, width), ("_", place)) for width, place in cuts)]
    given = [] if weights is None else [weights]
    results = [block((width, columns), "_j") for width, _ in cuts] * k
    shapes = [ShapeDtypeStruct((width, h), float32) for width, _ in cuts] * k
    run = call(
        kernel,
        (h // columns, 1),
        blocks + [block((k, n), "__") for _ in given],
        results,
        shapes,
        warps,
    )
    return jnp.concatenate(run(back, act, per, *[x] * len(cuts), *given)).reshape(k, p, h)


def squares(x: Array, delta: Array) -> Array:
    """Sum of the squares of x^T @ delta, which is not written anywhere. x [N, H1], delta [N, H2] ->
    [].
    """
    (n, h), wide = x.shape, delta.shape[1]
    rows, height, width, warps = SQUARES
    height = min(height, h)
    width = min(width, wide)

    def kernel(x: Any, delta: Any, out: Any) -> None:
        def some(i: Array, total: Array) -> Array:
            at = pl.ds(i * rows, rows)
            return total + triton.dot(x[at, :], delta[at, :], trans_a=True)

        total = jax.lax.fori_loop(0, n // rows, some, jnp.zeros((height, width), float32))
        out[...] = jnp.sum(total * total)[None, None]

    blocks = [block((n, height), "_i"), block((n, width), "_j")]
    grid = (wide // width, h // height)
    out = ShapeDtypeStruct(grid[::-1], float32)
    return call(kernel, grid, blocks, block((1, 1), "ij"), out, warps)(x, delta).sum()


def narrow(x: Array, dtype: DTypeLike) -> Array:
    """Rounded to 16 bits; what float16 cannot hold becomes its largest number, not infinity."""
    return (jnp.clip(x, -HALF_MAX, HALF_MAX) if dtype == jnp.float16 else x).astype(dtype)


def widen(x: Array) -> Array:
    """A product's result as float32; where float16 could not hold it, its largest number."""
    wide = x.astype(float32)
    return jnp.clip(wide, -HALF_MAX, HALF_MAX) if x.dtype == jnp.float16 else wide


def columns(x: Array) -> Array:
    """x [N, P] with columns of zeros up to a power of two that a tensor core takes."""
    wanted = max(COLUMNS, 1 << (x.shape[1] - 1).bit_length())
    return jnp.pad(x, ((0, 0), (0, wanted - x.shape[1])))


def room(inputs: int) -> int:
    """The least width for so many inputs that is one or two powers of two, none less than a tensor
    core takes.
    """
    units = -(-inputs // COLUMNS)
    while units.bit_count() > 2:
        units += units & -units
    return units * COLUMNS


def roomy(x: Array) -> Array:
    """x [N, P] with columns of zeros up to such a width."""
    return jnp.pad(x, ((0, 0), (0, room(x.shape[1]) - x.shape[1])))


def pieces(width: int) -> list[tuple[int, int]]:
    """The powers of two that make up a width, and how many of its own widths come before each."""
    sizes = [1 << k for k in range(width.bit_length() - 1, -1, -1) if width >> k & 1]
    return [(size, sum(sizes[:k]) // size) for k, size in enumerate(sizes)]


def call(
    kernel: Callable[..., None],
    grid: tuple[int, int],
    blocks: Sequence,
    results: Any,
    shapes: Any,
    warps: int,
) -> Callable:
    """The kernel as a function of arrays: which block of each a program sees, and of its results,
    and their shapes.
    """
    params = triton.CompilerParams(num_warps=warps, num_stages=4)
    interpret = jax.default_backend() == "cpu"
    return pl.pallas_call(
        kernel,
        shapes,
        grid=grid,
        in_specs=blocks,
        out_specs=results,
        compiler_params=params,
        interpret=interpret,
    )


def block(shape: tuple[int, ...], axes: Sequence[str | int]) -> pl.BlockSpec:
    """Which block program (j, i) sees: along each axis the i-th, the j-th, _ the first, or the one
    of that number.
    """

    def place(j: Array, i: Array) -> tuple[Any, ...]:
        names: dict[str | int, Any] = {"i": i, "j": j, "_": 0}
        return tuple(names.get(axis, axis) for axis in axes)

    return pl.BlockSpec(shape, place)


ONE = block((1,), "_")  # a number


def like(shape: tuple[int, ...], x: Array) -> ShapeDtypeStruct:
    """A result of this shape, as wide as x."""
    return ShapeDtypeStruct(shape, x.dtype)
