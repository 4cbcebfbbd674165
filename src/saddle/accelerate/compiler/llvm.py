"""LLVM's assembly language: one world's code, written operation by operation; the CPU's counterpart
of ptx.py.

Numbers are float32 or float64 (one of them throughout), integers or bool. What loops and branches
change lies on the stack, where LLVM finds it and moves it into registers; everything else is
computed once and named.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from saddle.accelerate.compiler.code import Memory, Register, Slot

TYPES = {"float32": "float", "float64": "double", "int32": "i32", "bool": "i1", "int64": "i64"}
FLOAT_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
INT_COMPARE = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
FLOAT = {
    "add": "fadd contract",
    "sub": "fsub contract",
    "mul": "fmul contract",
    "div": "fdiv",
    "rem": "frem",
}
INT = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "sdiv",
    "rem": "srem",
    "and": "and",
    "or": "or",
    "xor": "xor",
}
LOGIC = ("and", "or", "xor", "eq", "ne")  # what there is of bools
CALLS = {
    "sqrt": "sqrt",
    "abs": "fabs",
    "round": "roundeven",
    "floor": "floor",
    "sin": "sin",
    "cos": "cos",
}


class Variable(Register):
    """A number that can be set more than once; its name is where it lies."""


class Program(Memory):
    """The code so far."""

    native: frozenset[str] = frozenset(CALLS)  # what needs no polynomial here
    team = 1

    def rank(self) -> Register:
        """There is only one."""
        raise NotImplementedError

    def add_up(self, x: Register) -> Register:
        """Of one, that is x."""
        return x

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.float = np.dtype(dtype)
        self.lines: list[str] = []
        self.stack: list[str] = []
        self.names = 0
        self.open = True  # whether the block so far has no end yet

    def name(self) -> str:
        """A new one."""
        self.names += 1
        return f"%v{self.names}"

    def line(self, text: str) -> None:
        """One instruction."""
        if not self.open:  # after a jump nothing arrives here, but a block must begin
            self.place(self.label())
        self.lines.append(f"  {text}")

    def set(self, dtype: Any, code: str) -> Register:
        """A new number, and what it is."""
        out = Register(self.name(), dtype)
        self.line(f"{out.name} = {code}")
        return out

    def label(self) -> str:
        """A new name for a place."""
        self.names += 1
        return f"L{self.names}"

    def place(self, label: str) -> None:
        """The label stands here."""
        if self.open:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self.open = True

    def branch(self, label: str, when: Any = None, unless: bool = False) -> None:
        """Go to the label: always, or where a bool holds (or does not)."""
        if when is None:
            self.line(f"br label %{label}")
            self.open = False
            return
        here = self._operand(when)
        on = self.label()
        yes, no = (on, label) if unless else (label, on)
        self.line(f"br i1 {here}, label %{yes}, label %{no}")
        self.open = False
        self.place(on)

    def register(self, dtype: Any) -> Variable:
        """A number to be set later."""
        out = Variable(self.name(), dtype)
        self.stack.append(f"  {out.name} = alloca {self._type(dtype)}")
        return out

    def variable(self, x: Any) -> Variable:
        """A number that starts as x."""
        out = self.register(x.dtype)
        self.copy(out, x)
        return out

    def copy(self, target: Register, x: Any) -> None:
        """Set a number that loops or branches share."""
        self.line(f"store {self.typed(x)}, ptr {target.name}")

    def emit(
        self, name: str, numbers: Sequence[Any], dtype: Any, params: dict[str, Any]
    ) -> Register:
        """An elementwise operation."""
        of = np.dtype(numbers[0].dtype)
        if name == "convert_element_type":
            return self._convert(numbers[0], np.dtype(dtype))
        if name == "select_n":
            return self.select(*numbers)
        if name in ("max", "min") and of.kind != "b":
            return self.select(
                self.emit("gt" if name == "max" else "lt", numbers, bool, {}),
                numbers[1],
                numbers[0],
            )
        if name == "not":
            return self.emit("xor", [numbers[0], of.type(-1 if of.kind == "i" else True)], of, {})
        if name == "neg" or (name == "abs" and of.kind == "i"):
            return self._negated(name, numbers[0], of)
        if of.kind == "f":
            return self._float(name, numbers, dtype)
        known = {op: f"icmp {code}" for op, code in INT_COMPARE.items()} | INT
        if of.kind == "b":
            known = {op: known[op] for op in LOGIC}
        return self._operation(name, known, numbers, dtype)

    def _float(self, name: str, numbers: Sequence[Any], dtype: Any) -> Register:
        if name == "rsqrt":
            return self.emit(
                "div", [self.float.type(1), self.emit("sqrt", numbers, dtype, {})], dtype, {}
            )
        if name in CALLS:
            kind = self._type(self.float)
            letter = self.float.itemsize * 8
            return self.set(
                dtype, f"call {kind} @llvm.{CALLS[name]}.f{letter}({self.typed(numbers[0])})"
            )
        known = {op: f"fcmp {code}" for op, code in FLOAT_COMPARE.items()} | FLOAT
        return self._operation(name, known, numbers, dtype)

    def _operation(
        self, name: str, known: dict[str, str], numbers: Sequence[Any], dtype: Any
    ) -> Register:
        if name not in known:
            raise NotImplementedError(f"a kernel has no {name} of {numbers[0].dtype}")
        a, b = numbers
        return self.set(dtype, f"{known[name]} {self.typed(a)}, {self._operand(b)}")

    def _negated(self, name: str, x: Any, of: np.dtype) -> Register:
        if of.kind == "f":
            return self.set(of, f"fneg {self.typed(x)}")
        minus = self.emit("sub", [of.type(0), x], of, {})
        return (
            minus
            if name == "neg"
            else self.select(self.emit("lt", [x, of.type(0)], bool, {}), x, minus)
        )

    def select(self, mask: Any, no: Any, yes: Any) -> Register:
        """yes where mask holds."""
        return self.set(
            yes.dtype, f"select {self.typed(mask)}, {self.typed(yes)}, {self.typed(no)}"
        )

    def _convert(self, x: Any, to: np.dtype) -> Register:
        of = np.dtype(x.dtype)
        if to.kind == "b":
            return self.emit("ne", [x, of.type(0)], bool, {})
        whole = "sext" if of.itemsize < to.itemsize else "trunc"
        how = {"bf": "uitofp", "bi": "zext", "if": "sitofp", "fi": "fptosi", "ii": whole}.get(
            of.kind + to.kind
        )
        if how is None:
            raise NotImplementedError(f"a kernel has no {to} of {of}")
        return self.set(to, f"{how} {self.typed(x)} to {self._type(to)}")

    def load(self, slot: Slot) -> Register:
        """A number from memory."""
        out = self.set(self.float, f"load {self._type(self.float)}, ptr {self._address(slot)}")
        return out if slot.dtype == self.float else self._convert(out, slot.dtype)

    def store(self, slot: Slot, x: Any) -> None:
        """A number to memory."""
        if np.dtype(x.dtype) != self.float:
            x = self.float.type(x) if isinstance(x, np.generic) else self._convert(x, self.float)
        value = self.typed(x)
        self.line(f"store {value}, ptr {self._address(slot)}")

    def row(self, index: Any, words: int, base: Register | None = None) -> Register:
        """Where index * words after base lies, or after the start: a count of words."""
        far = self.set(np.int64, f"sext {self.typed(index)} to i64")
        far = self.set(np.int64, f"mul i64 {far.name}, {words}")
        return far if base is None else self.set(np.int64, f"add i64 {far.name}, {base.name}")

    def element(self, pointer: str, kind: str, index: str) -> str:
        """Where number `index` of an array lies."""
        return self.set(np.int64, f"getelementptr {kind}, ptr {pointer}, i64 {index}").name

    def _address(self, slot: Slot) -> str:
        index = str(slot.at)
        if slot.base is not None:
            index = self.set(np.int64, f"add i64 {slot.base.name}, {slot.at}").name
        return self.element("%memory", self._type(self.float), index)

    def _type(self, dtype: Any) -> str:
        name = np.dtype(dtype).name
        if name not in TYPES or (np.dtype(dtype).kind == "f" and name != self.float.name):
            raise NotImplementedError(f"a kernel of {self.float} has no {name}")
        return TYPES[name]

    def typed(self, x: Any) -> str:
        """A number with its type, as an operand."""
        return f"{self._type(x.dtype)} {self._operand(x)}"

    def _operand(self, x: Any) -> str:
        if isinstance(x, Variable):
            return self.set(x.dtype, f"load {self._type(x.dtype)}, ptr {x.name}").name
        if isinstance(x, Register):
            return x.name
        if np.dtype(x.dtype).kind == "f":
            return f"0x{np.float64(x).view(np.uint64):016X}"
        return str(int(x))

    def text(self, name: str, head: Sequence[str]) -> str:
        """The whole function: from a pointer, which `head` takes apart, to a null pointer, which
        means: all is well.
        """
        kind = self._type(self.float)
        letter = self.float.itemsize * 8
        declared = [f"declare {kind} @llvm.{call}.f{letter}({kind})" for call in CALLS.values()]
        begin = [f"define ptr @{name}(ptr %frame) {{", "entry:", *self.stack]
        begin += [f"  %memory = alloca {kind}, i64 {max(self.most_words, 1)}, align 64", *head]
        return "\n".join([*declared, *begin, *self.lines, "  ret ptr null", "}", ""])
