"""A small machine that runs our kernels' PTX on the CPU, one thread after the other, from shuffle
to shuffle.

Each basic block becomes a stretch of Python inside one loop that jumps between them; numbers are
numpy float32 scalars, so that every operation rounds as the GPU's does (which may also fuse a
product and a sum). A thread is a generator: at a shuffle it hands out its number and waits for that
of its partner.
"""

import re
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
LOGIC = {"and": "&", "or": "|", "xor": "^", "shl": "<<"}
UNARY = {
    "sqrt.rn.f32": "sqrt({0})",
    "rsqrt.approx.f32": "one / sqrt({0})",
    "cvt.rni.f32.f32": "rint({0})",
    "cvt.rmi.f32.f32": "floor({0})",
    "cvt.rn.f32.s32": "float32({0})",
    "cvt.rzi.s32.f32": "int({0})",
    "not.pred": "(not {0})",
}
SPACE = 1 << 40  # bytes between the arrays that pointers point to


def run(text: str, threads: int, *arrays: np.ndarray) -> None:
    """Run so many threads of a kernel; arrays, in the order of its pointers, are read and written
    in place.
    """
    step = _compile(text)
    words = int(re.search(r"memory\[(\d+)\]", text)[1]) // 4  # type: ignore[index]
    flat = [a.reshape(-1) for a in arrays]
    with np.errstate(all="ignore"):
        for warp in range(-(-threads // 32)):
            lanes = range(min(32, threads - 32 * warp))
            _run_warp(
                {lane: step(lane, warp, flat, [np.float32(np.nan)] * words) for lane in lanes}
            )


def _run_warp(lanes: dict[int, Generator]) -> None:
    """Let all run to their next shuffle, exchange numbers, and go on."""
    waiting: dict[int, Any] = dict.fromkeys(lanes)
    while waiting:
        given = {lane: request and waiting[lane ^ request[1]] for lane, request in waiting.items()}
        for lane, request in list(waiting.items()):
            partner = given[lane]
            assert not request or (partner and partner[1:] == request[1:]), (
                "a shuffle without a partner"
            )
            try:
                waiting[lane] = lanes[lane].send(partner and partner[0])
            except StopIteration:
                del waiting[lane]


def _compile(text: str) -> Callable[..., Generator]:
    lines = [
        line.strip().rstrip(";")
        for line in text.partition("mov.u64 %memory, memory;")[2].splitlines()
    ]
    blocks: list[tuple[str, list[str]]] = [("start", [])]
    for line in lines:
        if line.endswith(":"):
            blocks.append((line[:-1], []))
        elif line and line != "}":
            blocks[-1][1].append(line)
            if "bra" in line:
                blocks.append((f"after{len(blocks)}", []))
    number = {name: k for k, (name, _) in enumerate(blocks)}
    code = ["def step(tid, ctaid, arrays, memory):", " if False: yield", " pc = 0", " while True:"]
    for k, (_, body) in enumerate(blocks):
        code.append(f"  {'el' if k else ''}if pc == {k}:")
        code += [f"   {_statement(line, number)}" for line in body] + [f"   pc = {k + 1}"]
    constants = {
        f"c{h}": np.uint32(int(h, 16)).view(np.float32)
        for h in re.findall(r"0f([0-9A-F]{8})", text)
    }
    tools = {
        "sqrt": np.sqrt,
        "rint": np.rint,
        "floor": np.floor,
        "float32": np.float32,
        "one": np.float32(1),
    }
    space = {**constants, **tools}
    exec("\n".join(code), space)
    return space["step"]


def _statement(line: str, number: dict[str, int]) -> str:
    """One instruction as Python."""
    if line == "ret":
        return "return"
    if "bra" in line:
        guard, _, label = line.rpartition("bra ")
        jump = f"pc = {number[label]}; continue"
        test = guard.strip().removeprefix("@")
        return (
            f"if {'not ' if test.startswith('!') else ''}{_name(test.lstrip('!'))}: {jump}"
            if test
            else jump
        )
    opcode, _, rest = line.partition(" ")
    target, *operands = (part.strip() for part in rest.split(","))
    if opcode.startswith("shfl"):
        value, apart, _, mates = map(_name, operands)
        return f"{_name(target)} = yield {value}, {apart}, {mates}"
    if opcode.startswith("st."):
        return f"{_cell(opcode, target)} = {_name(operands[0])}"
    if opcode.startswith("ld.param"):
        return f"{_name(target)} = {operands[0].strip('[]').removeprefix('at')} * {SPACE}"
    if opcode.startswith("ld."):
        cell = _cell(opcode, operands[0])
        return f"{_name(target)} = {f'int({cell})' if opcode.endswith('s32') else cell}"
    return f"{_name(target)} = {_expression(opcode, [_name(x) for x in operands])}"


def _cell(opcode: str, address: str) -> str:
    base, _, offset = address.strip("[]").partition("+")
    at = f"({_name(base)} + {offset or 0})"
    return (
        f"memory[{at} // 4]"
        if ".local" in opcode
        else f"arrays[{at} // {SPACE}][{at} % {SPACE} // 4]"
    )


def _expression(opcode: str, x: list[str]) -> str:
    kind = opcode.split(".")[0]
    if opcode in UNARY:
        return UNARY[opcode].format(*x)
    if kind == "setp":
        return f"bool({x[0]} {COMPARE[opcode.split('.')[1]]} {x[1]})"
    if kind in LOGIC:
        return f"{x[0]} {LOGIC[kind]} {x[1]}"
    if kind == "selp":
        return f"{x[0]} if {x[2]} else {x[1]}"
    if kind in ("max", "min"):
        return f"{x[0]} if {x[0]} {'>' if kind == 'max' else '<'} {x[1]} else {x[1]}"
    if kind == "mad":
        return f"{x[0]} * {x[1]} + {x[2]}"
    if opcode == "div.s32":  # towards 0
        return f"int({x[0]} / {x[1]})"
    if opcode == "rem.s32":
        return f"{x[0]} - int({x[0]} / {x[1]}) * {x[1]}"
    if kind in BINARY:
        return f"{x[0]} {BINARY[kind]} {x[1]}"
    return {"mov": "{0}", "neg": "-{0}", "abs": "abs({0})"}[kind].format(*x)


def _name(operand: str) -> str:
    """A register or number as Python."""
    if operand in ("memory", "%memory"):
        return "0"
    return re.sub(r"^0f", "c", operand.removeprefix("%").removesuffix(".x"))
