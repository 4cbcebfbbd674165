"""PTX, the assembly language of NVIDIA's virtual machine: one thread's code, written operation by
operation.

Numbers are float32, int32 or bool. A number is known (a numpy scalar), in a register, or in the
thread's own memory, which holds float32 and can be indexed while the program runs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from saddle.accelerate.compiler.code import COMPARE, Memory, Register, Slot

TYPES = {
    "float32": ("f32", "f"),
    "int32": ("s32", "r"),
    "bool": ("pred", "p"),
    "int64": ("u64", "a"),
}
LOGIC = {"and": "and", "or": "or", "not": "not", "xor": "xor"}
PLAIN = {"add": "add", "sub": "sub", "neg": "neg", "abs": "abs", "max": "max", "min": "min"}
FLOAT = {
    "mul": "mul.f32",
    "div": "div.rn.f32",
    "sqrt": "sqrt.rn.f32",
    "rsqrt": "rsqrt.approx.f32",
    "round": "cvt.rni.f32.f32",
    "floor": "cvt.rmi.f32.f32",
}
INT = {"mul": "mul.lo.s32", "div": "div.s32", "rem": "rem.s32"}
NUMBERS = ("float32", "int32", "bool")  # what a program computes with; int64 is for addresses
TEAM = 2  # neighbouring threads of a warp that compute one world, a power of two


class Program(Memory):
    """The code so far."""

    native: frozenset[str] = (
        frozenset()
    )  # elementwise operations that rules.py need not make of others
    team = TEAM

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.count = {kind: 0 for _, kind in TYPES.values()}
        self.labels = 0

    def line(self, text: str) -> None:
        """One instruction."""
        self.lines.append(f"{text};")

    def register(self, dtype: Any) -> Register:
        """A new one."""
        kind = TYPES[np.dtype(dtype).name][1]
        self.count[kind] += 1
        return Register(f"%{kind}{self.count[kind] - 1}", dtype)

    def label(self) -> str:
        """A new name for a place."""
        self.labels += 1
        return f"L{self.labels}"

    def place(self, label: str) -> None:
        """The label stands here."""
        self.lines.append(f"{label}:")

    def branch(self, label: str, when: Register | None = None, unless: bool = False) -> None:
        """Go to the label: always, or where a bool holds (or does not)."""
        self.line(
            f"bra {label}" if when is None else f"@{'!' if unless else ''}{when.name} bra {label}"
        )

    def emit(
        self, name: str, numbers: Sequence[Any], dtype: Any, params: dict[str, Any]
    ) -> Register:
        """An elementwise operation; numbers are known or in registers."""
        for kind in (dtype, *(x.dtype for x in numbers)):
            if np.dtype(kind).name not in NUMBERS:
                raise NotImplementedError(f"a kernel has no {name} with {np.dtype(kind)}")
        if name == "convert_element_type":
            return self._convert(numbers[0], dtype)
        if name == "select_n":
            return self.select(*numbers)
        if name in ("eq", "ne") and numbers[0].dtype == bool:
            differ = self.emit("xor", numbers, bool, params)
            return differ if name == "ne" else self.emit("not", [differ], bool, params)
        out = self.register(dtype)
        self.line(f"{self._opcode(name, np.dtype(numbers[0].dtype))} {self._list(out, *numbers)}")
        return out

    def rank(self) -> Register:
        """Which of its team this thread is."""
        return Register("%rank", np.int32)

    def add_up(self, x: Register) -> Register:
        """The team's sum: each adds its neighbour's number, then that of the pair beside, and so
        on.
        """
        for apart in range(self.team.bit_length() - 1):
            other = self.register(x.dtype)
            self.line(f"shfl.sync.bfly.b32 {other.name}, {x.name}, {1 << apart}, 31, %mates")
            x = self.emit("add", [x, other], x.dtype, {})
        return x

    def _opcode(self, name: str, dtype: np.dtype) -> str:
        kind = TYPES[dtype.name][0]
        if name in LOGIC and dtype.kind != "f":
            return f"{LOGIC[name]}.{'pred' if dtype.kind == 'b' else 'b32'}"
        if name in COMPARE and dtype.kind != "b":
            return f"setp.{name}.{kind}"
        if name in PLAIN and dtype.kind != "b":
            return f"{PLAIN[name]}.{kind}"
        known = {"f": FLOAT, "i": INT, "b": {}}[dtype.kind]
        if name not in known:
            raise NotImplementedError(f"a kernel has no {name} of {dtype}")
        return known[name]

    def select(self, mask: Any, no: Any, yes: Any) -> Register:
        """yes where mask holds."""
        out = self.register(yes.dtype)
        if out.dtype != bool:
            self.line(
                f"selp.{TYPES[out.dtype.name][0].replace('s32', 'b32')} "
                f"{self._list(out, yes, no, mask)}"
            )
            return out
        parts = [self.emit("and", [mask, yes], bool, {})]
        parts.append(self.emit("and", [self.emit("not", [mask], bool, {}), no], bool, {}))
        return self.emit("or", parts, bool, {})

    def _convert(self, x: Any, dtype: Any) -> Register:
        to = np.dtype(dtype)
        of = np.dtype(x.dtype)
        if of.kind == "b":
            return self.select(x, to.type(0), to.type(1))
        if to.kind == "b":
            return self.emit("ne", [x, of.type(0)], bool, {})
        out = self.register(to)
        self.line(
            f"{'cvt.rn.f32.s32' if to == np.float32 else 'cvt.rzi.s32.f32'} {self._list(out, x)}"
        )
        return out

    def copy(self, target: Register, x: Any) -> None:
        """Set a register that loops or branches share."""
        if isinstance(x, np.bool_):
            self.line(f"setp.eq.s32 {target.name}, {int(x)}, 1")
        else:
            self.line(f"mov.{TYPES[target.dtype.name][0]} {self._list(target, x)}")

    def variable(self, x: Any) -> Register:
        """A new register that starts as x."""
        out = self.register(x.dtype)
        self.copy(out, x)
        return out

    def load(self, slot: Slot) -> Register:
        """A number from memory."""
        out = self.register(np.float32)
        self.line(f"ld.local.f32 {out.name}, [{self._address(slot)}]")
        return out if slot.dtype == np.float32 else self._convert(out, slot.dtype)

    def store(self, slot: Slot, x: Any) -> None:
        """A number to memory."""
        if np.dtype(x.dtype) != np.float32:
            x = np.float32(x) if isinstance(x, np.generic) else self._convert(x, np.float32)
        self.line(f"st.local.f32 [{self._address(slot)}], {self._list(x)}")

    def row(self, index: Register, words: int, base: Register | None = None) -> Register:
        """The address index * words after base, or after the start."""
        far = self.register(np.int64)
        out = self.register(np.int64)
        self.line(f"mul.wide.s32 {far.name}, {index.name}, {4 * words}")
        self.line(f"add.u64 {out.name}, {far.name}, {'%memory' if base is None else base.name}")
        return out

    def _address(self, slot: Slot) -> str:
        return f"{'%memory' if slot.base is None else slot.base.name}+{4 * slot.at}"

    def _list(self, *numbers: Any) -> str:
        return ", ".join(self._operand(x) for x in numbers)

    def _operand(self, x: Any) -> str:
        if isinstance(x, Register):
            return x.name
        if isinstance(x, np.bool_):
            return self.variable(x).name
        return f"0f{x.view(np.uint32):08X}" if x.dtype == np.float32 else str(int(x))

    def text(self, name: str, params: Sequence[str]) -> str:
        """The whole kernel; params are names of pointers."""
        head = [".version 7.0", ".target sm_70", ".address_size 64"]
        head += [f".visible .entry {name}({', '.join(f'.param .u64 {p}' for p in params)})", "{"]
        head += [
            f".reg .{kind} %{letter}<{self.count[letter] + 1}>;" for kind, letter in TYPES.values()
        ]
        head += [
            ".reg .u64 %memory;",
            f".local .align 16 .b8 memory[{4 * max(self.most_words, 1)}];",
        ]
        head += [
            ".reg .s32 %lane, %rank, %mates;",
            "mov.u64 %memory, memory;",
            "mov.u32 %lane, %tid.x;",
        ]
        head += [f"and.b32 %rank, %lane, {self.team - 1};", "sub.s32 %mates, %lane, %rank;"]
        head += [f"shl.b32 %mates, {(1 << self.team) - 1}, %mates;"]  # the team's lanes, as bits
        return "\n".join([*head, *self.lines, "ret;", "}", ""])
