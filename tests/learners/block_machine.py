"""A small machine that runs a kernel's PTX on the CPU, all threads of a block in step: a register
is an array of them.

It knows what `first_layer`, `last_layer` and others write, tensor cores included, whose tiles lie
in a warp's registers as PTX documents.
"""

import re
from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np

SPACE = 1 << 40  # bytes between the arrays that pointers point to
HALF = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
WHOLE: dict[str, Callable] = {
    "shr": lambda a, b: a >> b,
    "shl": lambda a, b: a << b & 0xFFFFFFFF,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "div": lambda a, b: a // b,
    "rem": lambda a, b: a % b,
    "mad": lambda a, b, c: a * b + c,
}
REAL: dict[str, Callable] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: (a.astype(float) * b + c).astype(np.float32),
    "min": np.minimum,
    "max": np.maximum,
    "ex2": np.exp2,
}


def run(text: str, grid: tuple[int, int, int], threads: int, *arrays: np.ndarray) -> None:
    """Run all blocks; arrays, in the order of the kernel's pointers, are read and written in
    place.
    """
    memory = [a.reshape(-1).view(np.uint8) for a in arrays]
    shared = sum(map(int, re.findall(r"tile\[(\d+)\]", text)))
    for place in np.ndindex(*grid):
        _Block(text, place, threads, memory, np.full(shared, 0xFF, np.uint8)).run()


def lowered(f: Callable, *args: Any) -> str:
    """What JAX hands to XLA for a GPU when members are stacked along the arguments' first axis."""
    return jax.jit(jax.vmap(f)).trace(*args).lower(lowering_platforms=("cuda",)).as_text()


class _Block:
    def __init__(
        self, text: str, place: tuple, threads: int, memory: list[np.ndarray], shared: np.ndarray
    ) -> None:
        self.lines = [line.rstrip(";") for line in text.splitlines() if line[0] not in ".{}"]
        self.labels = {line[:-1]: k for k, line in enumerate(self.lines) if line.endswith(":")}
        self.memory, self.shared, self.threads = memory, shared, threads
        full = lambda number: np.full(threads, number, np.int64)
        self.registers: dict[str, Any] = {
            f"%ctaid.{axis}": full(at) for axis, at in zip("xyz", place, strict=True)
        }
        self.registers |= {"%tid.x": np.arange(threads), "tile": full(0)}

    def run(self) -> None:
        """Line by line, until it returns."""
        at = 0
        while self.lines[at] != "ret":
            line, at = self.lines[at], at + 1
            predicate, _, rest = line.removeprefix("@").partition(" ")
            if line.startswith("@") and rest.startswith("bra"):
                going = self.registers[predicate]
                assert going.all() == going.any(), "threads of a block part ways"
                at = self.labels[rest.split()[1]] if going.all() else at
            elif line.startswith("@"):
                opcode, _, operands = rest.partition(" ")
                self._step(opcode, operands, who=self.registers[predicate])
            elif not line.endswith(":") and not line.startswith("bar"):
                self._step(*line.split(" ", 1))

    def _step(self, opcode: str, rest: str, who: Any = ...) -> None:
        groups = [g.strip("{}").split(", ") for g in re.findall(r"\{[^}]*\}|[^,{} ]+", rest)]
        kind = opcode.split(".")[0]
        if kind in ("ld", "st"):
            registers, address = groups if kind == "ld" else groups[::-1]
            self._move(opcode, registers, address, who)
        elif kind == "mma":
            self._tiles(opcode.split(".")[-2], *groups)
        elif len(groups[0]) == 2:  # a word's two halves
            word = self.registers[groups[1][0]]
            self.registers |= {groups[0][0]: word & 0xFFFF, groups[0][1]: word >> 16}
        else:
            target, *numbers = (g[0] for g in groups)
            self.real = re.match(r"%[hbwpst]\d", target)
            self.registers[target] = self._compute(opcode, [self._number(x) for x in numbers])

    def _compute(self, opcode: str, x: list[np.ndarray]) -> np.ndarray:
        kind = opcode.split(".")[0]
        if kind == "mov":
            return (
                x[0].astype(np.uint32).view(np.float32)
                if opcode == "mov.b32" and self.real
                else x[0].copy()
            )
        if kind == "setp":
            return {"lt": np.less, "gt": np.greater, "eq": np.equal}[opcode.split(".")[1]](*x)
        if kind == "selp":
            return np.where(x[2], x[0], x[1])
        if kind == "shfl":
            return x[0][np.arange(self.threads) ^ x[1]]
        if opcode == "cvt.f32.f16":
            return x[0].astype(np.uint16).view(np.float16).astype(np.float32)
        if kind == "cvt":
            half = HALF[opcode.split(".")[2].removesuffix("x2")]
            high, low = (part.astype(half).view(np.uint16).astype(np.int64) for part in x)
            return high << 16 | low
        return (REAL if opcode.endswith("f32") else WHOLE)[kind](*x)

    def _number(self, name: str) -> np.ndarray:
        if name.startswith("0f"):
            return np.full(self.threads, np.uint32(int(name[2:], 16)).view(np.float32))
        return (
            self.registers[name]
            if not name.lstrip("-").isdigit()
            else np.full(self.threads, int(name))
        )

    def _move(self, opcode: str, registers: list[str], address: list[str], who: Any) -> None:
        base, _, offset = address[0].strip("[]").partition("+")
        if ".param" in opcode:
            self.registers[registers[0]] = np.full(
                self.threads, SPACE * int(base.removeprefix("at")), np.int64
            )
            return
        for k, name in enumerate(registers):
            at = self.registers[base] + int(offset or 0) + 4 * k
            array = self.shared if ".shared" in opcode else self.memory[at[0] // SPACE]
            assert (at % (4 * len(registers)) == 4 * k).all(), "not aligned"
            bytes_ = at[:, None] % SPACE + np.arange(4)
            if opcode.startswith("st"):
                number = self.registers[name]
                words = (
                    number.view(np.uint32)
                    if number.dtype == np.float32
                    else number.astype(np.uint32)
                )
                array[bytes_[who]] = words[:, None].view(np.uint8)[who]
            else:
                words = np.ascontiguousarray(array[bytes_]).view(np.uint32)[:, 0]
                self.registers[name] = (
                    words.view(np.float32) if "f32" in opcode else words.astype(np.int64)
                )

    def _tiles(self, half: str, out: list[str], a: list[str], b: list[str], c: list[str]) -> None:
        """m16n8k16 in every warp. Lane 4 g + q has rows g and g + 8, inputs 2 q and 2 q + 8 and the
        next, column g.
        """
        split = lambda name: (
            self.registers[name].astype(np.uint32)[:, None].view(HALF[half]).astype(np.float32)
        )
        parts = {name: split(name) for name in (*a, *b)}
        before: list[Any] = [self.registers[name].copy() for name in c]
        for warp in range(0, self.threads, 32):
            lane = np.arange(32)
            g, q, at = lane // 4, lane % 4, warp + lane
            left, right = np.zeros((16, 16), np.float32), np.zeros((16, 8), np.float32)
            for e in range(2):
                for k, name in enumerate(a):
                    left[g + 8 * (k % 2), 2 * q + e + 8 * (k // 2)] = parts[name][at, e]
                for k, name in enumerate(b):
                    right[2 * q + e + 8 * k, g] = parts[name][at, e]
            product = left @ right
            for k, name in enumerate(out):
                self.registers[name] = self.registers[name].copy()
                self.registers[name][at] = before[k][at] + product[g + 8 * (k // 2), 2 * q + k % 2]
