"""What a GPU does between a network's large products, a kernel for each stretch: few arrays are read or written twice.

For one member; `jax.vmap` adds the members as a grid's slowest axis. Arrays of samples are 16 bits wide, sums float32.
Written for Triton through Pallas. Without a GPU they are interpreted, which is for tests.

N samples, inputs of width P, layers of width H, outputs of width A, weights of K sums. What float16 would not hold is
kept times a number near it: `per` [1] is what to multiply an array with to have its values.

What happens at the last layer is in `heads`.
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
# Hopper GPU with layers of 512 and 1024 samples, for inputs no wider than NARROW and for wider ones.
FIRST, FIRST_WIDE = (64, 128, 256, 4), (128, 64, 128, 4)
BOTTOMS, BOTTOMS_WIDE = (32, 128, 4), (32, 64, 4)
SQUARES = (64, 128, 256, 8)
NARROW, NARROW_BACK = 32, 128
COLUMNS = 16  # a tensor core takes no fewer
HALF_MAX = 65504.0  # of float16

float32 = jnp.float32


def first(activation: Activation, x: Array, w: Array, b: Array, per: Array, unit: Array) -> Array:
    """The first layer, times `unit` [1]: activate(x @ w + b). x [N, P], w [P, H] and its per, b [H] -> [N, H]."""
    (n, p), h = x.shape, w.shape[1]
    rows, columns, span, warps = FIRST if p <= NARROW else FIRST_WIDE
    columns = min(columns, h)

    def kernel(x: Any, w: Any, b: Any, per: Any, unit: Any, out: Any) -> None:
        def some(i: Array, nothing: None) -> None:
            at = pl.ds(i * rows, rows)
            y = triton.dot(x[at, :], w[...]) * per[0] + b[...][None]
            out[at, :] = narrow(activation.value(y) * unit[0], out.dtype)

        jax.lax.fori_loop(0, span // rows, some, None)

    blocks = [block((span, p), "i_"), block((p, columns), "_j"), block((columns,), "j"), ONE, ONE]
    run = call(kernel, (h // columns, n // span), blocks, block((span, columns), "ij"), like((n, h), x), warps)
    return run(x, w, b, per, unit)


def bottoms(activation: Activation, back: Array, act: Array, per: Array, x: Array) -> Array:
    """The first layer's gradients, x^T @ (back * slope(act)). back, act [N, H], act's per, x [N, P] -> [P, H]."""
    (n, h), p = back.shape, x.shape[1]
    rows, columns, warps = BOTTOMS if p <= NARROW_BACK else BOTTOMS_WIDE
    columns = min(columns, h)

    def kernel(back: Any, act: Any, per: Any, x: Any, out: Any) -> None:
        def some(i: Array, total: Array) -> Array:
            at = pl.ds(i * rows, rows)
            delta = widen(back[at, :]) * activation.slope(act[at, :].astype(float32) * per[0])
            return total + triton.dot(x[at, :], narrow(delta, back.dtype), trans_a=True)

        out[...] = jax.lax.fori_loop(0, n // rows, some, jnp.zeros((p, columns), float32))

    tile, out = block((n, columns), "_j"), ShapeDtypeStruct((p, h), float32)
    blocks = [tile, tile, ONE, block((n, p), "__")]
    return call(kernel, (h // columns, 1), blocks, block((p, columns), "_j"), out, warps)(back, act, per, x)


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


def call(
    kernel: Callable[..., None], grid: tuple[int, int], blocks: Sequence, results: Any, shapes: Any, warps: int
) -> Callable:
    """The kernel as a function of arrays: which block of each a program sees, and of its results, and their shapes."""
    params = triton.CompilerParams(num_warps=warps, num_stages=4)
    interpret = jax.default_backend() == "cpu"
    return pl.pallas_call(
        kernel, shapes, grid=grid, in_specs=blocks, out_specs=results, compiler_params=params, interpret=interpret
    )


def block(shape: tuple[int, ...], axes: str) -> pl.BlockSpec:
    """Which block program (j, i) sees: along each axis the i-th, the j-th, or _ the only one."""
    return pl.BlockSpec(shape, lambda j, i: tuple({"i": i, "j": j, "_": 0}[axis] for axis in axes))


ONE = block((1,), "_")  # a number


def like(shape: tuple[int, ...], x: Array) -> ShapeDtypeStruct:
    """A result of this shape, as wide as x."""
    return ShapeDtypeStruct(shape, x.dtype)
