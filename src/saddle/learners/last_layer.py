"""The last layer of few outputs as kernels in PTX: a warp has some samples at a time, and loads the next meanwhile.

A thread has 8 neighbouring columns of every 256, with their biases and weights in registers; sums over a sample's
columns go through the warp by shuffles, sums over samples stay with the thread.
"""

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
from jax import Array

from saddle.launch import at, finished, half_name, launch, of_members, pointers
from saddle.learners.first_layer import VALUES, activate, clip, enter

THREADS = 128  # of a block: four warps
SPAN = 32  # samples of a warp
TOGETHER = 2  # of them at once
OUTPUTS = (1, 2)


def fits(activation: str, samples: int, width: int, outputs: int) -> bool:
    """Whether there is a kernel for so many samples, columns and outputs."""
    return activation in VALUES and samples % (SPAN * THREADS // 32) == 0 and width in (256, 512) and outputs in OUTPUTS


def outputs(activation: str, y: Array, per: Array, b: Array, w: Array) -> Array:
    """As `heads.outputs`. y [N, H] and its per [1], b [H], w [H, A] -> [N, A]."""
    return _outputs(activation)(y, per, b, w.T)


@cache
def _outputs(activation: str) -> Callable[..., Array]:
    def every(y: Array, per: Array, b: Array, w: Array) -> Array:
        (members, n, h), a = y.shape, w.shape[1]
        name, text = outputs_text(activation, half_name(y), n, h, a)
        out = jax.ShapeDtypeStruct((members, n, a), jnp.float32)
        return launch(name, text, (n // (SPAN * THREADS // 32), 1, members), THREADS, out)(y, per, b, w)

    return of_members(every)


def regression(
    activation: str, y: Array, per: Array, b: Array, last: tuple[Array, Array], target: Array, weight: Array
) -> tuple[Array, Array, Array, Array]:
    """As `heads.regression`. y [N, H] and its per [1], b [H], last ([H, 1], [1]), target and weight [N]."""
    error, delta, sums = _regression(activation)(y, per, b, last[0][:, 0], last[1], target, weight)
    return error, delta, *sums.sum(0)


@cache
def _regression(activation: str) -> Callable[..., tuple[Array, Array, Array]]:
    def every(y: Array, *rest: Array) -> tuple[Array, Array, Array]:
        members, n, h = y.shape
        name, text = regression_text(activation, half_name(y), n, h)
        shape = lambda *sizes: jax.ShapeDtypeStruct((members, *sizes), jnp.float32)
        results = (shape(n), jax.ShapeDtypeStruct(y.shape, y.dtype), shape(n // SPAN, 2, h))
        return launch(name, text, (n // (SPAN * THREADS // 32), 1, members), THREADS, results)(y, *rest)

    return of_members(every)


@cache
def outputs_text(activation: str, half: str, n: int, h: int, a: int) -> tuple[str, str]:
    """Name and text of the kernel. Its arrays: y, per, b, w, out."""
    own = h // 32
    lines = [*_places(n, h, weights=3, outputs=a), *at("%out", 4, "%sample", 4 * a)]
    work = []
    for row in range(TOGETHER):
        work += [*_forward(activation, half, row, own, a), f"@%first st.global.f32 [%out+{4 * a * row}], %p{a * row}"]
        work += [f"@%first st.global.f32 [%out+{4 * a * row + 4}], %p{a * row + 1}"] if a > 1 else []
    work += [f"add.s64 %out, %out, {4 * a * TOGETHER}"]
    name = f"outputs_{activation}_{half}_{n}_{h}_{a}"
    return name, finished(_head(name, 5, own, a), [*lines, *_loop(h, work), "ret"])


@cache
def regression_text(activation: str, half: str, n: int, h: int) -> tuple[str, str]:
    """Name and text of the kernel. Its arrays: y, per, b, w, c, target, weight, error, delta, sums."""
    own, row_bytes = h // 32, 2 * h
    lines = [*_places(n, h, weights=3, outputs=1), *at("%at", 4, "%member", 4), "ld.global.f32 %c, [%at]"]
    for register, pointer in (("%target", 5), ("%weight", 6), ("%out", 7)):
        lines += at(register, pointer, "%sample", 4)
    lines += [*at("%delta", 8, "%sample", row_bytes), "mul.wide.u32 %far, %lane, 16", "add.u64 %delta, %delta, %far"]
    lines += [f"mov.f32 %{name}{k}, 0f00000000" for name in "st" for k in range(own)]
    work = []
    for row in range(TOGETHER):
        work += [f"ld.global.f32 %goal, [%target+{4 * row}]", f"ld.global.f32 %pull, [%weight+{4 * row}]"]
        work += [*_forward(activation, half, row, own, 1), f"add.f32 %p{row}, %p{row}, %c"]
        work += [f"sub.f32 %p{row}, %p{row}, %goal", f"@%first st.global.f32 [%out+{4 * row}], %p{row}"]
        work += [f"mul.f32 %pull, %pull, %p{row}", *_backward(activation, half, row, own)]
        for k in range(0, own, 8):
            work += [f"cvt.rn.{half}x2.f32 %o{i}, %h{k + 2 * i + 1}, %h{k + 2 * i}" for i in range(4)]
            work += [f"st.global.v4.b32 [%delta+{row_bytes * row + 64 * k}], {{%o0, %o1, %o2, %o3}}"]
    work += [f"add.s64 {place}, {place}, {4 * TOGETHER}" for place in ("%target", "%weight", "%out")]
    work += [f"add.s64 %delta, %delta, {row_bytes * TOGETHER}"]
    lines += [*_loop(h, work), f"div.u32 %i, %sample, {SPAN}", *at("%at", 9, "%i", 8 * h)]
    lines += ["mul.wide.u32 %far, %lane, 32", "add.u64 %at, %at, %far"]
    for which, name in enumerate("st"):
        for k in range(0, own, 4):
            four = ", ".join(f"%{name}{k + i}" for i in range(4))
            lines += [f"st.global.v4.f32 [%at+{4 * h * which + 1024 * (k // 8) + 4 * (k % 8)}], {{{four}}}"]
    name = f"regression_{activation}_{half}_{n}_{h}"
    return name, finished(_head(name, 10, own, 1), [*lines, "ret"])


def _head(name: str, arrays: int, own: int, a: int) -> list[str]:
    """Registers: `own` columns of a thread."""
    head = [".version 7.0", ".target sm_80", ".address_size 64", f".visible .entry {name}({pointers(arrays)})", "{"]
    head += [".reg .u32 %thread, %lane, %member, %sample, %i, %left;", ".reg .pred %more, %first, %above;"]
    head += [".reg .u64 %y, %next, %out, %target, %weight, %delta, %far, %at;", ".reg .b16 %low, %high;"]
    head += [f".reg .b32 %x, %r<{TOGETHER * own // 2}>, %n<{TOGETHER * own // 2}>, %o<4>;"]
    head += [f".reg .f32 %per, %e, %c, %goal, %pull, %slope, %other, %p<{TOGETHER * a}>;"]
    return [*head, f".reg .f32 %b<{own}>, %w<{a * own}>, %h<{own}>, %s<{own}>, %t<{own}>;"]


def _places(n: int, h: int, weights: int, outputs: int) -> list[str]:
    """Which samples a warp has, over all members; y's address there, and a thread's biases and weights."""
    own, block = h // 32, SPAN * THREADS // 32
    lines = ["mov.u32 %thread, %tid.x", "and.b32 %lane, %thread, 31", "setp.eq.u32 %first, %lane, 0"]
    lines += ["mov.u32 %member, %ctaid.z", "mov.u32 %i, %ctaid.x", f"mul.lo.u32 %i, %i, {block}"]
    lines += [
        f"mad.lo.u32 %sample, %member, {n}, %i",
        "shr.u32 %i, %thread, 5",
        f"mad.lo.u32 %sample, %i, {SPAN}, %sample",
    ]
    lines += [*at("%at", 1, "%member", 4), "ld.global.f32 %per, [%at]"]
    lines += [*at("%y", 0, "%sample", 2 * h), "mul.wide.u32 %far, %lane, 16", "add.u64 %y, %y, %far"]
    for register, pointer, rows in (("%b", 2, 1), ("%w", weights, outputs)):
        lines += [
            *at("%at", pointer, "%member", 4 * h * rows),
            "mul.wide.u32 %far, %lane, 32",
            "add.u64 %at, %at, %far",
        ]
        for row in range(rows):
            for k in range(0, own, 4):
                four = ", ".join(f"{register}{own * row + k + i}" for i in range(4))
                lines += [f"ld.global.v4.f32 {{{four}}}, [%at+{4 * h * row + 1024 * (k // 8) + 4 * (k % 8)}]"]
    return lines


def _loop(h: int, work: list[str]) -> list[str]:
    """`work` for all of a warp's samples, some at a time; the last ones are loaded twice, since none come after."""
    words = TOGETHER * h // 64
    lines = [*_load("%n", "%y", h), f"mov.u32 %left, {SPAN // TOGETHER}", "AGAIN:"]
    lines += [f"mov.b32 %r{k}, %n{k}" for k in range(words)]
    lines += ["sub.u32 %left, %left, 1", "setp.gt.u32 %more, %left, 0", f"add.s64 %next, %y, {2 * h * TOGETHER}"]
    lines += ["selp.b64 %y, %next, %y, %more", *_load("%n", "%y", h), *work]
    return [*lines, "@%more bra AGAIN"]


def _load(registers: str, place: str, h: int) -> list[str]:
    """Some samples' columns, two in a word."""
    words, lines = h // 64, []
    for row in range(TOGETHER):
        for k in range(0, words, 4):
            four = ", ".join(f"{registers}{words * row + k + i}" for i in range(4))
            lines.append(f"ld.global.v4.b32 {{{four}}}, [{place}+{2 * h * row + 128 * k}]")
    return lines


def _forward(activation: str, half: str, row: int, own: int, a: int) -> list[str]:
    """A sample's activations h, and its outputs p without their biases, the same in all threads."""
    lines = []
    for k in range(own):
        lines += [
            *_widen(half, f"%h{k}", f"%r{own // 2 * row + k // 2}", k % 2),
            *enter(half, f"%h{k}", f"%h{k}", f"%b{k}"),
        ]
        lines += activate(activation, f"%h{k}")
        for j in range(a):
            p, w = f"%p{a * row + j}", f"%w{own * j + k}"
            lines.append(f"fma.rn.f32 {p}, %h{k}, {w}, {p}" if k else f"mul.f32 {p}, %h{k}, {w}")
    for apart in (1, 2, 4, 8, 16):
        for j in range(a):
            p = f"%p{a * row + j}"
            lines += [f"shfl.sync.bfly.b32 %other, {p}, {apart}, 31, -1", f"add.f32 {p}, {p}, %other"]
    return lines


def _widen(half: str, target: str, word: str, which: int) -> list[str]:
    """One of a word's two numbers as float32."""
    if half == "bf16":
        part = f"and.b32 %x, {word}, -65536" if which else f"shl.b32 %x, {word}, 16"
        return [part, f"mov.b32 {target}, %x"]
    return [f"mov.b32 {{%low, %high}}, {word}", f"cvt.f32.f16 {target}, {'%high' if which else '%low'}", *clip(target)]


def _backward(activation: str, half: str, row: int, own: int) -> list[str]:
    """From a sample's pull to its deltas, in h, and to the sums over samples: s of deltas, t of pull * h."""
    lines = []
    for k in range(own):
        lines += [f"fma.rn.f32 %t{k}, %pull, %h{k}, %t{k}", *_slope(activation, f"%h{k}")]
        lines += [f"mul.f32 %e, %pull, %w{k}", f"mul.f32 %h{k}, %e, %slope", f"add.f32 %s{k}, %s{k}, %h{k}"]
        lines += clip(f"%h{k}") if half == "f16" else []
    return lines


def _slope(activation: str, h: str) -> list[str]:
    """Of an activation, from what leaves it."""
    if activation == "relu":
        return [f"setp.gt.f32 %above, {h}, 0f00000000", "selp.f32 %slope, 0f3F800000, 0f00000000, %above"]
    return [f"min.NaN.f32 %slope, {h}, 0f00000000", "add.f32 %slope, %slope, 0f3F800000"]
