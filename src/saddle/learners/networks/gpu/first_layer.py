"""The first layer as a kernel in PTX: a product so thin that what a compiler makes of it takes
twice its time.

A warp has 32 samples, whose inputs stay in its registers, and goes through columns of weights that
its block holds in shared memory, 32 at a time. Each thread ends up with 8 neighbouring columns of 4
samples, so that it writes 16 bytes at once and nothing has to change hands. For that the columns of
a tensor core's tile are dealt out anew, and so are the inputs, in the same way on both sides of the
product.
"""

from collections.abc import Callable
from functools import cache

import jax
from jax import Array

from saddle.accelerate.ptx_launch import at, entry, finished, half_name, launch
from saddle.batch import one_batch

THREADS = 128  # of a block: four warps
ROWS = 256  # samples of a block
COLUMNS = 128  # of a block, at most
SHARED = 48 << 10  # bytes of shared memory that every kernel may have
VALUES = ("elu", "relu")  # activations that it knows


def fits(activation: str, samples: int, inputs: int, width: int) -> bool:
    """Whether there is a kernel for so many samples, inputs and outputs."""
    columns = min(COLUMNS, width)
    shaped = samples % ROWS == 0 and inputs % 16 == 0 and width % columns == 0 and columns % 32 == 0
    return activation in VALUES and shaped and columns * _stride(inputs) <= SHARED


def first(activation: str, x: Array, w: Array, b: Array, per: Array, unit: Array) -> Array:
    """As `kernels.first`. x [N, P], w [P, H] and its per [1], b [H], unit [1] -> [N, H]."""
    return _layer(activation)((x, w.T, b, per, unit))


@cache
def _layer(activation: str) -> Callable[[tuple[Array, ...]], Array]:
    def layers(arrays: tuple[Array, ...]) -> Array:
        x, w, *_ = arrays
        (members, n, p), h = x.shape, w.shape[1]
        name, text = program_text(activation, half_name(x), n, p, h)
        grid = h // min(COLUMNS, h), n // ROWS, members
        return launch(name, text, grid, THREADS, jax.ShapeDtypeStruct((members, n, h), x.dtype))(
            *arrays
        )

    return one_batch(layers)


def _stride(inputs: int) -> int:
    """Bytes from one column of weights to the next in shared memory, so that neighbours lie in
    different banks.
    """
    return 2 * inputs + (64 - 2 * inputs) % 128


@cache
def program_text(activation: str, half: str, n: int, p: int, h: int) -> tuple[str, str]:
    """Name and text of the kernel for networks of one shape."""
    name = f"first_{activation}_{half}_{n}_{p}_{h}"
    columns = min(COLUMNS, h)
    stride = _stride(p)
    lines = [
        *_places(n, p, h, columns),
        *_copy_weights(p, columns),
        "bar.sync 0",
        "mov.u32 %round, 0",
        "NEXT_ROWS:",
    ]
    lines += [*_load_samples(p), "mov.u32 %group, 0", "NEXT_GROUP:"]
    lines += [*_multiply(half, p), *_finish(activation, half, h), "add.u32 %group, %group, 1"]
    lines += _move({"%weights": 32 * stride, "%rest": 32 * stride}, {"%to": 64, "%bias": 128})
    lines += [
        f"setp.lt.u32 %more, %group, {columns // 32}",
        "@%more bra NEXT_GROUP",
        "add.u32 %round, %round, 1",
    ]
    back = {"%weights": -columns * stride, "%rest": -columns * stride}
    down = {"%to": THREADS * h * 2 - columns * 2, "%bias": -columns * 4}
    lines += _move(back, {**down, "%sample": THREADS * p * 2, "%tail": THREADS * p * 2})
    lines += [f"setp.lt.u32 %more, %round, {ROWS // THREADS}", "@%more bra NEXT_ROWS", "ret"]
    head = [
        *entry(name, 6),
        ".reg .u32 %thread, %g, %q, %i, %j, %k, %weights, %rest, %round, %group;",
    ]
    head += [
        ".reg .pred %more;",
        ".reg .u64 %w, %sample, %tail, %to, %bias, %far, %at;",
        ".reg .f32 %per, %unit, %e;",
    ]
    head += [f".reg .b32 %a<{8 * (p // 16)}>, %v<4>, %o<4>;", ".reg .f32 %c<32>, %b<8>, %y<8>;"]
    head += [f".shared .align 16 .b8 tile[{columns * stride}];"]
    return name, finished(head, lines)


def _move(shared: dict[str, int], far: dict[str, int]) -> list[str]:
    """Addresses, so many bytes on."""
    both = (("s32", shared), ("s64", far))
    return [f"add.{kind} {place}, {place}, {by}" for kind, of in both for place, by in of.items()]


def _places(n: int, p: int, h: int, columns: int) -> list[str]:
    """Where this thread's block of weights, its first sample, its biases and its results lie."""
    lines = [
        "mov.u32 %thread, %tid.x",
        "shr.u32 %g, %thread, 2",
        "and.b32 %g, %g, 7",
        "and.b32 %q, %thread, 3",
    ]
    for pointer, target in ((3, "%per"), (4, "%unit")):
        lines += [
            "mov.u32 %k, %ctaid.z",
            *at("%at", pointer, "%k", 4),
            f"ld.global.f32 {target}, [%at]",
        ]
    # the block's first column, over all members
    lines += [
        "mov.u32 %i, %ctaid.x",
        f"mul.lo.u32 %i, %i, {columns}",
        f"mad.lo.u32 %j, %k, {h}, %i",
    ]
    lines += [*at("%w", 1, "%j", 2 * p), *at("%bias", 2, "%j", 4)]
    # the thread's first sample, over all members: of its block, of its warp's 32, of its 4
    lines += ["mov.u32 %j, %ctaid.y", f"mul.lo.u32 %j, %j, {ROWS}", f"mad.lo.u32 %j, %k, {n}, %j"]
    lines += ["shr.u32 %k, %thread, 5", "mad.lo.u32 %j, %k, 32, %j", "add.u32 %j, %j, %g"]
    lines += [*at("%sample", 0, "%j", 2 * p), "mov.u64 %tail, %sample", *at("%to", 5, "%j", 2 * h)]
    lines += ["mul.wide.u32 %far, %i, 2", "add.u64 %to, %to, %far"]
    for place, each in (("%sample", 16), ("%tail", 8), ("%to", 16), ("%bias", 32)):
        lines += [f"mul.wide.u32 %far, %q, {each}", f"add.u64 {place}, {place}, %far"]
    # the columns of a tile: 2 neighbours of every 8
    lines += [
        "shr.u32 %i, %g, 1",
        "and.b32 %j, %g, 1",
        "mad.lo.u32 %i, %i, 8, %j",
        "mov.u32 %weights, tile",
    ]
    lines += [
        f"mad.lo.u32 %weights, %i, {_stride(p)}, %weights",
        "mad.lo.u32 %rest, %q, 8, %weights",
    ]
    return [*lines, "mad.lo.u32 %weights, %q, 16, %weights"]


def _copy_weights(p: int, columns: int) -> list[str]:
    """A block's columns of weights into shared memory, 16 bytes at a time."""
    parts = p // 8
    lines = []
    four = "{%v0, %v1, %v2, %v3}"
    for k in range(columns * parts // THREADS):
        lines += [
            f"add.u32 %i, %thread, {k * THREADS}",
            "mul.wide.u32 %far, %i, 16",
            "add.u64 %at, %w, %far",
        ]
        lines += [
            f"ld.global.v4.b32 {four}, [%at]",
            f"div.u32 %j, %i, {parts}",
            f"rem.u32 %k, %i, {parts}",
        ]
        lines += [
            "mov.u32 %i, tile",
            f"mad.lo.u32 %i, %j, {_stride(p)}, %i",
            "mad.lo.u32 %i, %k, 16, %i",
        ]
        lines += [f"st.shared.v4.b32 [%i], {four}"]
    return lines


def _load_samples(p: int) -> list[str]:
    """Four samples, 8 apart. Of every 32 inputs a thread has 8 neighbours, of the last 16 it may
    have 4.
    """
    steps, lines = p // 16, []
    for row in range(4):
        a = [f"%a{2 * steps * row + k}" for k in range(2 * steps)]
        for k in range(p // 32):
            lines.append(
                f"ld.global.v4.b32 {{{', '.join(a[4 * k : 4 * k + 4])}}}, "
                f"[%sample+{16 * p * row + 64 * k}]"
            )
        if p % 32:
            lines.append(
                f"ld.global.v2.b32 {{{', '.join(a[-2:])}}}, [%tail+{16 * p * row + 2 * (p - 16)}]"
            )
    return lines


def _multiply(half: str, p: int) -> list[str]:
    """32 columns of 32 samples: 2 by 4 tiles, c[tile of samples][tile of columns][4]."""
    steps = p // 16
    stride = _stride(p)
    lines = [f"mov.f32 %c{k}, 0f00000000" for k in range(32)]
    for k in range(-(-p // 32)):
        whole = 32 * (k + 1) <= p
        base, load = (
            ("%weights", "v4.b32 {%v0, %v1, %v2, %v3}") if whole else ("%rest", "v2.b32 {%v0, %v1}")
        )
        for tile in range(4):
            lines.append(f"ld.shared.{load}, [{base}+{2 * tile * stride + 64 * k}]")
            for step in range(1 + whole):
                lines += [_tile(half, steps, 2 * k + step, rows, tile, step) for rows in range(2)]
    return lines


def _tile(half: str, steps: int, step: int, rows: int, tile: int, of_two: int) -> str:
    """One instruction of the tensor core: 16 samples, 16 inputs, 8 columns."""
    c = ", ".join(f"%c{16 * rows + 4 * tile + k}" for k in range(4))
    a = ", ".join(
        f"%a{2 * steps * (2 * rows + row) + 2 * step + part}"
        for part in range(2)
        for row in range(2)
    )
    b = f"%v{2 * of_two}, %v{2 * of_two + 1}"
    return (
        f"mma.sync.aligned.m16n8k16.row.col.f32.{half}.{half}.f32 {{{c}}}, {{{a}}}, {{{b}}}, "
        f"{{{c}}}"
    )


def _finish(activation: str, half: str, h: int) -> list[str]:
    """Biases, activation, and 8 columns of each of the four samples written."""
    lines = [
        "ld.global.v4.f32 {%b0, %b1, %b2, %b3}, [%bias+0]",
        "ld.global.v4.f32 {%b4, %b5, %b6, %b7}, [%bias+16]",
    ]
    for row in range(4):
        for k in range(8):
            c = f"%c{16 * (row // 2) + 4 * (k // 2) + 2 * (row % 2) + k % 2}"
            lines += _value(activation, half, f"%y{k}", c, f"%b{k}")
        lines += [f"cvt.rn.{half}x2.f32 %o{k}, %y{2 * k + 1}, %y{2 * k}" for k in range(4)]
        lines.append(f"st.global.v4.b32 [%to+{16 * h * row}], {{%o0, %o1, %o2, %o3}}")
    return lines


def _value(activation: str, half: str, y: str, c: str, b: str) -> list[str]:
    """What leaves the layer, times its unit; bfloat16 needs none."""
    lines = [*enter(half, y, c, b), *activate(activation, y)]
    return [*lines, f"mul.f32 {y}, {y}, %unit", *clip(y)] if half == "f16" else lines


def enter(half: str, y: str, c: str, b: str) -> list[str]:
    """y, what enters an activation: c, times its per where it has one, and the bias."""
    return [f"fma.rn.f32 {y}, {c}, %per, {b}" if half == "f16" else f"add.f32 {y}, {c}, {b}"]


def activate(activation: str, y: str) -> list[str]:
    """y, activated. A NaN stays one."""
    if activation == "relu":
        return [f"max.NaN.f32 {y}, {y}, 0f00000000"]
    lines = [
        f"min.NaN.f32 %e, {y}, 0f00000000",
        "mul.f32 %e, %e, 0f3FB8AA3B",
        "ex2.approx.f32 %e, %e",
    ]
    return [*lines, "add.f32 %e, %e, 0fBF800000", f"max.NaN.f32 {y}, {y}, %e"]


def clip(y: str) -> list[str]:
    """What float16 cannot hold becomes its largest number."""
    return [f"min.NaN.f32 {y}, {y}, 0f477FE000", f"max.NaN.f32 {y}, {y}, 0fC77FE000"]
