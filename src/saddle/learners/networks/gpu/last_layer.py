"""The last layer of few outputs as kernels in PTX: a warp has all columns of its samples (rows.py).

Sums over a sample's columns go through the warp by shuffles, sums over samples stay with the
thread.
"""

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
from jax import Array

from saddle.accelerate.ptx_launch import at, entry, finished, half_name, launch
from saddle.batch import one_batch
from saddle.learners.networks.gpu.first_layer import VALUES
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
SPAN = 32  # samples of a warp
BLOCK = SPAN * THREADS // 32  # samples of a block
OUTPUTS = (1, 2)
REGISTERS = 128  # that a thread may have for a processor to hold four blocks, not three


def fits(activation: str, samples: int, width: int, outputs: int) -> bool:
    """Whether there is a kernel for so many samples, columns and outputs."""
    return (
        activation in VALUES and samples % BLOCK == 0 and width in (256, 512) and outputs in OUTPUTS
    )


def outputs(activation: str, y: Array, per: Array, b: Array, w: Array) -> Array:
    """As `heads.outputs`. y [N, H] and its per [1], b [H], w [H, A] -> [N, A]."""
    return _outputs(activation)((y, per, b, w.T))


@cache
def _outputs(activation: str) -> Callable[[tuple[Array, ...]], Array]:
    def every(arrays: tuple[Array, ...]) -> Array:
        y, *_, w = arrays
        (members, n, h), a = y.shape, w.shape[1]
        name, text = outputs_text(activation, half_name(y), n, h, a)
        out = jax.ShapeDtypeStruct((members, n, a), jnp.float32)
        return launch(name, text, (n // BLOCK, 1, members), THREADS, out)(*arrays)

    return one_batch(every)


def regression(
    activation: str,
    y: Array,
    per: Array,
    b: Array,
    last: tuple[Array, Array],
    target: Array,
    weight: Array,
) -> tuple[Array, Array, Array, Array]:
    """As `heads.regression`. y [N, H] and its per [1], b [H], last ([H, 1], [1]), target and weight
    [N].
    """
    error, delta, sums = _regression(activation)(
        (y, per, b, last[0][:, 0], last[1], target, weight)
    )
    return error, delta, *sums.sum(0)


@cache
def _regression(activation: str) -> Callable[[tuple[Array, ...]], tuple[Array, Array, Array]]:
    def every(arrays: tuple[Array, ...]) -> tuple[Array, Array, Array]:
        y, *_ = arrays
        members, n, h = y.shape
        name, text = regression_text(activation, half_name(y), n, h)
        results = (
            jax.ShapeDtypeStruct((members, n), jnp.float32),
            jax.ShapeDtypeStruct(y.shape, y.dtype),
            jax.ShapeDtypeStruct((members, n // SPAN, 2, h), jnp.float32),
        )
        return launch(name, text, (n // BLOCK, 1, members), THREADS, results)(*arrays)

    return one_batch(every)


@cache
def outputs_text(activation: str, half: str, n: int, h: int, a: int) -> tuple[str, str]:
    """Name and text of the kernel. Its arrays: y, per, b, w, out."""
    own = h // 32
    lines = [*places(n, h, own, SPAN, THREADS, a), *at("%out", 4, "%sample", 4 * a)]
    work = []
    for row in range(TOGETHER):
        work += _forward(activation, half, row, own, a)
        work += [
            f"@%first st.global.f32 [%out+{4 * k}], %p{k}" for k in range(a * row, a * row + a)
        ]
    work += [f"add.s64 %out, %out, {4 * a * TOGETHER}"]
    name = f"outputs_{activation}_{half}_{n}_{h}_{a}"
    more = [".reg .u64 %out;", f".reg .f32 %other, %p<{TOGETHER * a}>;"]
    return name, finished(
        [*entry(name, 5), *registers(own, a), *more], [*lines, *loop(h, own, SPAN, work), "ret"]
    )


@cache
def regression_text(activation: str, half: str, n: int, h: int) -> tuple[str, str]:
    """Name and text of the kernel. Its arrays: y, per, b, w, c, target, weight, error, delta,
    sums.
    """
    own, row_bytes = h // 32, 2 * h
    lines = [
        *places(n, h, own, SPAN, THREADS, 1),
        *at("%at", 4, "%member", 4),
        "ld.global.f32 %c, [%at]",
    ]
    for register, pointer in (("%target", 5), ("%weight", 6), ("%out", 7)):
        lines += at(register, pointer, "%sample", 4)
    lines += [*at("%delta", 8, "%sample", row_bytes), *column("%delta", 2)]
    lines += [f"mov.f32 %s{k}, 0f00000000" for k in range(2 * own)]
    work = []
    for row in range(TOGETHER):
        work += [
            f"ld.global.f32 %goal, [%target+{4 * row}]",
            f"ld.global.f32 %pull, [%weight+{4 * row}]",
        ]
        work += [*_forward(activation, half, row, own, 1), f"add.f32 %p{row}, %p{row}, %c"]
        work += [
            f"sub.f32 %p{row}, %p{row}, %goal",
            f"@%first st.global.f32 [%out+{4 * row}], %p{row}",
        ]
        work += [f"mul.f32 %pull, %pull, %p{row}", *_backward(activation, own)]
        for k in range(0, own, 8):
            work += write(half, "%h", k, f"%delta+{row_bytes * row + 64 * k}")
    work += [
        f"add.s64 {place}, {place}, {4 * TOGETHER}" for place in ("%target", "%weight", "%out")
    ]
    work += [f"add.s64 %delta, %delta, {row_bytes * TOGETHER}"]
    lines += [*loop(h, own, SPAN, work), *write_sums(9, h, own, SPAN, 2)]
    name = f"regression_{activation}_{half}_{n}_{h}"
    more = [
        ".reg .u64 %out, %target, %weight, %delta;",
        f".reg .f32 %c, %goal, %pull, %other, %p<{TOGETHER}>;",
    ]
    more += [f".reg .f32 %s<{2 * own}>;"]
    return name, finished([*entry(name, 10, REGISTERS), *registers(own, 1), *more], [*lines, "ret"])


def _forward(activation: str, half: str, row: int, own: int, a: int) -> list[str]:
    """A sample's activations h, and its outputs p without their biases, the same in all threads."""
    lines = []
    for k in range(own):
        lines += activated(activation, half, row, own, k)
        for j in range(a):
            p, w = f"%p{a * row + j}", f"%w{own * j + k}"
            lines.append(f"fma.rn.f32 {p}, %h{k}, {w}, {p}" if k else f"mul.f32 {p}, %h{k}, {w}")
    for apart in (1, 2, 4, 8, 16):
        for j in range(a):
            p = f"%p{a * row + j}"
            lines += [
                f"shfl.sync.bfly.b32 %other, {p}, {apart}, 31, -1",
                f"add.f32 {p}, {p}, %other",
            ]
    return lines


def _backward(activation: str, own: int) -> list[str]:
    """From a sample's pull to its deltas, in h, and to the sums over samples: of deltas, then of
    pull * h.
    """
    lines = []
    for k in range(own):
        lines += [
            f"fma.rn.f32 %s{own + k}, %pull, %h{k}, %s{own + k}",
            *slope(activation, f"%h{k}"),
        ]
        lines += [
            f"mul.f32 %e, %pull, %w{k}",
            f"mul.f32 %h{k}, %e, %slope",
            f"add.f32 %s{k}, %s{k}, %h{k}",
        ]
    return lines
