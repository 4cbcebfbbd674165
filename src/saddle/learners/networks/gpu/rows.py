"""What kernels in PTX share in which a warp goes through samples: some at a time, while the next
are being loaded.

A thread has 8 neighbouring columns of every 256, with their biases and weights in registers.
"""

from saddle.accelerate.ptx_launch import at
from saddle.learners.networks.gpu.first_layer import activate, clip, enter

TOGETHER = 2  # samples at once


def registers(own: int, outputs: int) -> list[str]:
    """Those that the functions here use, for so many columns of a thread and so many rows of
    weights.
    """
    lines = [
        ".reg .u32 %thread, %lane, %member, %sample, %i, %left;",
        ".reg .pred %more, %first, %above;",
    ]
    lines += [".reg .u64 %y, %next, %far, %at;", ".reg .b16 %low, %high;"]
    lines += [f".reg .b32 %x, %r<{TOGETHER * own // 2}>, %n<{TOGETHER * own // 2}>, %o<4>;"]
    return [*lines, f".reg .f32 %per, %e, %slope, %b<{own}>, %w<{outputs * own}>, %h<{own}>;"]


def places(n: int, h: int, own: int, span: int, threads: int, outputs: int) -> list[str]:
    """Which samples a warp has, over all members, so many each; y's address there, a thread's
    biases and weights.

    The kernel's first arrays: y [M, n, h], per [M, 1], b [M, h], w [M, outputs, h]; %ctaid.y is a
    block's 256 columns.
    """
    lines = [
        "mov.u32 %thread, %tid.x",
        "and.b32 %lane, %thread, 31",
        "setp.eq.u32 %first, %lane, 0",
    ]
    lines += [
        "mov.u32 %member, %ctaid.z",
        "mov.u32 %i, %ctaid.x",
        f"mul.lo.u32 %i, %i, {span * threads // 32}",
    ]
    lines += [f"mad.lo.u32 %sample, %member, {n}, %i", "shr.u32 %i, %thread, 5"]
    lines += [
        f"mad.lo.u32 %sample, %i, {span}, %sample",
        *at("%at", 1, "%member", 4),
        "ld.global.f32 %per, [%at]",
    ]
    lines += [*at("%y", 0, "%sample", 2 * h), *column("%y", 2)]
    for register, pointer, rows in (("%b", 2, 1), ("%w", 3, outputs)):
        lines += [*at("%at", pointer, "%member", 4 * h * rows), *column("%at", 4)]
        for row in range(rows):
            for k in range(0, own, 4):
                lines.append(
                    f"ld.global.v4.f32 {{{four(register, own * row + k)}}}, "
                    f"[%at+{4 * h * row + real(k)}]"
                )
    return lines


def column(place: str, size: int) -> list[str]:
    """Add a thread's first column to an address, of so many bytes each."""
    lines = [
        "mov.u32 %i, %ctaid.y",
        "mad.lo.u32 %i, %i, 32, %lane",
        f"mul.wide.u32 %far, %i, {8 * size}",
    ]
    return [*lines, f"add.u64 {place}, {place}, %far"]


def real(k: int) -> int:
    """Bytes from a thread's first column to its column k, in float32."""
    return 1024 * (k // 8) + 4 * (k % 8)


def four(register: str, first: int) -> str:
    """Four registers in a row."""
    return ", ".join(f"{register}{first + k}" for k in range(4))


def loop(h: int, own: int, span: int, work: list[str]) -> list[str]:
    """`work` for all of a warp's samples, some at a time; the last ones are loaded twice, since
    none come after.
    """
    lines = [*_load("%n", "%y", h, own), f"mov.u32 %left, {span // TOGETHER}", "AGAIN:"]
    lines += [f"mov.b32 %r{k}, %n{k}" for k in range(TOGETHER * own // 2)]
    lines += [
        "sub.u32 %left, %left, 1",
        "setp.gt.u32 %more, %left, 0",
        f"add.s64 %next, %y, {2 * h * TOGETHER}",
    ]
    lines += ["selp.b64 %y, %next, %y, %more", *_load("%n", "%y", h, own), *work]
    return [*lines, "@%more bra AGAIN"]


def _load(registers: str, place: str, h: int, own: int) -> list[str]:
    """Some samples' columns, two in a word."""
    words, lines = own // 2, []
    for row in range(TOGETHER):
        for k in range(0, words, 4):
            lines.append(
                f"ld.global.v4.b32 {{{four(registers, words * row + k)}}}, "
                f"[{place}+{2 * h * row + 128 * k}]"
            )
    return lines


def activated(activation: str, half: str, row: int, own: int, k: int) -> list[str]:
    """Column k of a sample, in h."""
    h = f"%h{k}"
    word = f"%r{own // 2 * row + k // 2}"
    return [*_widen(half, h, word, k % 2), *enter(half, h, h, f"%b{k}"), *activate(activation, h)]


def _widen(half: str, target: str, word: str, which: int) -> list[str]:
    """One of a word's two numbers as float32."""
    if half == "bf16":
        part = f"and.b32 %x, {word}, -65536" if which else f"shl.b32 %x, {word}, 16"
        return [part, f"mov.b32 {target}, %x"]
    return [
        f"mov.b32 {{%low, %high}}, {word}",
        f"cvt.f32.f16 {target}, {'%high' if which else '%low'}",
        *clip(target),
    ]


def write(half: str, registers: str, first: int, place: str) -> list[str]:
    """Eight neighbouring columns, 16 bits each; what these cannot hold is clipped."""
    lines = []
    if half == "f16":
        for k in range(first, first + 8):
            lines += clip(f"{registers}{k}")
    for i in range(4):
        low = first + 2 * i
        lines.append(f"cvt.rn.{half}x2.f32 %o{i}, {registers}{low + 1}, {registers}{low}")
    lines.append(f"st.global.v4.b32 [{place}], {{%o0, %o1, %o2, %o3}}")
    return lines


def write_sums(pointer: int, h: int, own: int, span: int, rows: int) -> list[str]:
    """Sums s over a warp's samples, so many rows, into an array [M * n // span, rows, h]."""
    lines = [
        f"div.u32 %i, %sample, {span}",
        *at("%at", pointer, "%i", 4 * h * rows),
        *column("%at", 4),
    ]
    for row in range(rows):
        for k in range(0, own, 4):
            lines.append(
                f"st.global.v4.f32 [%at+{4 * h * row + real(k)}], {{{four('%s', own * row + k)}}}"
            )
    return lines


def slope(activation: str, h: str) -> list[str]:
    """Of an activation, from what leaves it."""
    if activation == "relu":
        return [
            f"setp.gt.f32 %above, {h}, 0f00000000",
            "selp.f32 %slope, 0f3F800000, 0f00000000, %above",
        ]
    return [f"min.NaN.f32 %slope, {h}, 0f00000000", "add.f32 %slope, %slope, 0f3F800000"]
