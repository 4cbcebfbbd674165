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
GRADIENTS = (32, 128, 4)
GRADIENTS_WIDE = (32, 64, 4)
SQUARES = (64, 128, 256, 8)
NARROW, NARROW_BACK = 32, 160
COLUMNS = 16  # a tensor core takes no fewer
HALF_MAX = 65504.0  # of float16

float32 = jnp.float32


def first(activation: Activation, x: Array, w: Array, b: Array, per: Array, unit: Array) -> Array:
    """The first layer, times `unit` [1]: activate(x @ w + b). x [N, P], w [P, H] and its per, b [H]
    -> [N, H].
    """
    samples, inputs = x.shape
    width = w.shape[1]
    rows, columns, span, warps = FIRST if inputs <= NARROW else FIRST_WIDE
    columns = min(columns, width)
    cuts = pieces(inputs)

    def kernel(*refs: Any) -> None:
        xs = refs[: len(cuts)]
        ws = refs[len(cuts) : -4]
        b, per, unit, out = refs[-4:]

        def some(i: Array, nothing: None) -> None:
            at = pl.ds(i * rows, rows)
            products = (triton.dot(x[at, :], w[...]) for x, w in zip(xs, ws, strict=True))
            entering = sum(products) * per[0] + b[...][None]
            out[at, :] = narrow(activation.value(entering) * unit[0], out.dtype)

        jax.lax.fori_loop(0, span // rows, some, None)

    blocks = [block((span, size), ("i", place)) for size, place in cuts]
    blocks += [block((size, columns), (place, "j")) for size, place in cuts]
    blocks += [block((columns,), "j"), ONE, ONE]
    run = call(
        kernel,
        grid=(width // columns, samples // span),
        blocks=blocks,
        results=block((span, columns), "ij"),
        shapes=like((samples, width), x),
        warps=warps,
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
    samples, width = back.shape
    inputs = x.shape[1]
    sums = 1 if weights is None else weights.shape[0]
    rows, columns, warps = GRADIENTS if sums * inputs <= NARROW_BACK else GRADIENTS_WIDE
    columns = min(columns, width)
    cuts = pieces(inputs)
    given = [] if weights is None else [weights]

    def kernel(back: Any, act: Any, per: Any, *rest: Any) -> None:
        xs = rest[: len(cuts)]
        out = rest[len(cuts) + len(given) :]

        def some(i: Array, totals: list[Array]) -> list[Array]:
            at = pl.ds(i * rows, rows)
            delta = widen(back[at, :]) * activation.slope(act[at, :].astype(float32) * per[0])
            deltas = [delta]
            if given:
                shares = rest[len(cuts)]
                deltas = [delta * shares[k, at][:, None] for k in range(sums)]
            products = []
            for own_delta in deltas:
                for x in xs:
                    products.append(
                        triton.dot(x[at, :], narrow(own_delta, back.dtype), trans_a=True)
                    )
            return [total + product for total, product in zip(totals, products, strict=True)]

        nothing = [jnp.zeros((size, columns), float32) for size, _ in cuts] * sums
        totals = jax.lax.fori_loop(0, samples // rows, some, nothing)
        for target, total in zip(out, totals, strict=True):
            target[...] = total

    tile = block((samples, columns), "_j")
    blocks = [tile, tile, ONE]
    blocks += [block((samples, size), ("_", place)) for size, place in cuts]
    blocks += [block((sums, samples), "__") for _ in given]
    run = call(
        kernel,
        grid=(width // columns, 1),
        blocks=blocks,
        results=[block((size, columns), "_j") for size, _ in cuts] * sums,
        shapes=[ShapeDtypeStruct((size, width), float32) for size, _ in cuts] * sums,
        warps=warps,
    )
    found = run(back, act, per, *[x] * len(cuts), *given)
    return jnp.concatenate(found).reshape(sums, inputs, width)


def squares(x: Array, delta: Array) -> Array:
    """Sum of the squares of x^T @ delta, which is not written anywhere. x [N, H1], delta [N, H2] ->
    [].
    """
    samples, before = x.shape
    after = delta.shape[1]
    rows, height, width, warps = SQUARES
    height = min(height, before)
    width = min(width, after)

    def kernel(x: Any, delta: Any, out: Any) -> None:
        def some(i: Array, total: Array) -> Array:
            at = pl.ds(i * rows, rows)
            return total + triton.dot(x[at, :], delta[at, :], trans_a=True)

        nothing = jnp.zeros((height, width), float32)
        total = jax.lax.fori_loop(0, samples // rows, some, nothing)
        out[...] = jnp.sum(total * total)[None, None]

    across = after // width
    down = before // height
    run = call(
        kernel,
        grid=(across, down),
        blocks=[block((samples, height), "_i"), block((samples, width), "_j")],
        results=block((1, 1), "ij"),
        shapes=ShapeDtypeStruct((down, across), float32),
        warps=warps,
    )
    return run(x, delta).sum()


def narrow(x: Array, dtype: DTypeLike) -> Array:
    """Rounded to 16 bits; what float16 cannot hold becomes its largest number, not infinity."""
    if dtype == jnp.float16:
        x = jnp.clip(x, -HALF_MAX, HALF_MAX)
    return x.astype(dtype)


def widen(x: Array) -> Array:
    """A product's result as float32; where float16 could not hold it, its largest number."""
    wide = x.astype(float32)
    if x.dtype == jnp.float16:
        wide = jnp.clip(wide, -HALF_MAX, HALF_MAX)
    return wide


def columns(x: Array) -> Array:
    """x [N, P] with columns of zeros up to a power of two that a tensor core takes."""
    width = x.shape[1]
    next_power = 1 << (width - 1).bit_length()
    missing = max(COLUMNS, next_power) - width
    return jnp.pad(x, ((0, 0), (0, missing)))


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
    width = x.shape[1]
    return jnp.pad(x, ((0, 0), (0, room(width) - width)))


def pieces(width: int) -> list[tuple[int, int]]:
    """The powers of two that make up a width, and how many of its own widths come before each."""
    cuts = []
    start = 0
    for bit in reversed(range(width.bit_length())):
        size = 1 << bit
        if width & size:
            cuts.append((size, start // size))
            start += size
    return cuts


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
