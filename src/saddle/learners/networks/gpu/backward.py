"""From the last layer back to the last hidden one, under several weights of the samples, as a
kernel in PTX (rows.py).

A warp has 256 columns of its samples; sums over them stay with the thread that has the column.
"""

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
from jax import Array

from saddle.accelerate.ptx_launch import at, entry, finished, half_name, launch
from saddle.batch import one_batch
from saddle.learners.networks.gpu.first_layer import VALUES
from saddle.learners.networks.gpu.head_rows import HeadGradients
from saddle.learners.networks.gpu.last_layer import REGISTERS
from saddle.learners.networks.gpu.rows import (
    TOGETHER,
    activated,
    column,
    loop,
    places,
    registers,
    slope,
    write,
    write_sums,
)

THREADS = 128  # of a block: four warps
COLUMNS = 256  # of a block
OWN = COLUMNS // 32  # columns of a thread
SUMS = 14  # per column, at most, which a thread holds in registers
FEW_SUMS = 6  # with which it needs no more registers than let a processor hold four blocks


def fits(activation: str, samples: int, width: int, outputs: int, weights: int) -> bool:
    """Whether there is a kernel for so many samples, columns, outputs and rows of weights."""
    sums = weights * (1 + outputs)
    shaped = samples % (span(sums) * THREADS // 32) == 0 and width % COLUMNS == 0
    return activation in VALUES and shaped and sums <= SUMS


def span(sums: int) -> int:
    """Samples of a warp: the more sums it writes at their end, the more."""
    return 64 if sums < FEW_SUMS else 128


def gradients(
    activation: str,
    y: Array,
    per: Array,
    b: Array,
    w: Array,
    last: Array,
    weights: Array,
    plain: bool,
) -> HeadGradients:
    """As `heads.gradients`. y [N, H] and its per [1], b [H], w [H, A], last [N, A], weights [K,
    N].
    """
    sums = weights.shape[0]
    outputs = w.shape[1]
    *deltas, partial = _head_gradients(activation, plain)((y, per, b, w.T, last, weights))
    found = partial.sum(0).reshape(sums, 1 + outputs, -1)
    return HeadGradients(deltas, found[:, 0], jnp.moveaxis(found[:, 1:], 1, 2))


@cache
def _head_gradients(
    activation: str, plain: bool
) -> Callable[[tuple[Array, ...]], tuple[Array, ...]]:
    def every(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        y, *_, w, _, weights = arrays
        (members, n, h), a, k = y.shape, w.shape[1], weights.shape[1]
        each = span(k * (1 + a))
        name, text = gradients_text(activation, half_name(y), n, h, a, k, plain)
        delta = jax.ShapeDtypeStruct(y.shape, y.dtype)
        sums = jax.ShapeDtypeStruct((members, n // each, k * (1 + a), h), jnp.float32)
        grid = n * 32 // (each * THREADS), h // COLUMNS, members
        return tuple(launch(name, text, grid, THREADS, [delta] * (k + plain) + [sums])(*arrays))

    return one_batch(every)


@cache
def gradients_text(
    activation: str, half: str, n: int, h: int, a: int, k: int, plain: bool
) -> tuple[str, str]:
    """Name and text of the kernel. Its arrays: y, per, b, w, last, weights, then the deltas and the
    sums.
    """
    name = f"tops_{activation}_{half}_{n}_{h}_{a}_{k}_{plain:d}"
    deltas = k + plain
    row_bytes = 2 * h
    each = span(k * (1 + a))
    lines = [*places(n, h, OWN, each, THREADS, a), *at("%end", 4, "%sample", 4 * a)]
    # weights are [K, N], member by member
    lines += [
        f"mul.lo.u32 %i, %member, {(k - 1) * n}",
        "add.u32 %i, %i, %sample",
        *at("%weight", 5, "%i", 4),
    ]
    for j in range(deltas):
        lines += [*at(f"%delta{j}", 6 + j, "%sample", row_bytes), *column(f"%delta{j}", 2)]
    lines += [f"mov.f32 %s{i}, 0f00000000" for i in range(OWN * k * (1 + a))]
    work = [
        f"ld.global.f32 %g{a * row + j}, [%end+{4 * (a * row + j)}]"
        for row in range(TOGETHER)
        for j in range(a)
    ]
    work += [
        f"ld.global.f32 %v{k * row + j}, [%weight+{4 * (n * j + row)}]"
        for row in range(TOGETHER)
        for j in range(k)
    ]
    for row in range(TOGETHER):
        work += [*_back(activation, half, row, a, k), *_deltas(half, row, a, k, row_bytes, plain)]
    work += [f"add.s64 %end, %end, {4 * a * TOGETHER}", f"add.s64 %weight, %weight, {4 * TOGETHER}"]
    work += [f"add.s64 %delta{j}, %delta{j}, {row_bytes * TOGETHER}" for j in range(deltas)]
    lines += [*loop(h, OWN, each, work), *write_sums(6 + deltas, h, OWN, each, k * (1 + a))]
    more = [
        f".reg .u64 %end, %weight, %delta<{deltas}>;",
        f".reg .f32 %g<{TOGETHER * a}>, %v<{TOGETHER * k}>;",
    ]
    more += [f".reg .f32 %c<{a * k}>, %d<{OWN}>, %s<{OWN * k * (1 + a)}>;"]
    head = entry(name, 7 + deltas, REGISTERS if k * (1 + a) <= FEW_SUMS else None)
    return name, finished([*head, *registers(OWN, a), *more], [*lines, "ret"])


def _back(activation: str, half: str, row: int, a: int, k: int) -> list[str]:
    """A sample's deltas d, not weighted; and to the sums over samples, for w, what it adds to
    them.
    """
    lines = [
        f"mul.f32 %c{a * m + j}, %v{k * row + m}, %g{a * row + j}"
        for m in range(k)
        for j in range(a)
    ]
    for i in range(OWN):
        lines += [*activated(activation, half, row, OWN, i), *slope(activation, f"%h{i}")]
        lines += [f"mul.f32 %d{i}, %g{a * row}, %w{i}"]
        lines += [f"fma.rn.f32 %d{i}, %g{a * row + j}, %w{OWN * j + i}, %d{i}" for j in range(1, a)]
        lines += [f"mul.f32 %d{i}, %d{i}, %slope"]
        for m in range(k):
            for j in range(a):
                total = f"%s{OWN * (m * (1 + a) + 1 + j) + i}"
                lines.append(f"fma.rn.f32 {total}, %c{a * m + j}, %h{i}, {total}")
    return lines


def _deltas(half: str, row: int, a: int, k: int, row_bytes: int, plain: bool) -> list[str]:
    """Write a sample's deltas, and add the weighted ones to their sums."""
    lines = []
    for m in range(k):
        for i in range(OWN):
            total = f"%s{OWN * m * (1 + a) + i}"
            lines += [f"mul.f32 %h{i}, %d{i}, %v{k * row + m}", f"add.f32 {total}, {total}, %h{i}"]
        lines += write(half, "%h", 0, f"%delta{m + plain}+{row_bytes * row}")
    return [*lines, *write(half, "%d", 0, f"%delta0+{row_bytes * row}")] if plain else lines
