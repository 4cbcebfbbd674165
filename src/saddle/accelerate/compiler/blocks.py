"""Primitives that contain programs of their own: calls, loops and branches; and memory, which the
rows of loops lie in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from saddle.accelerate.compiler.code import Code, Register, Slot
from saddle.accelerate.compiler.known import Params, is_known, key, objects
from saddle.accelerate.compiler.rules import rows
from saddle.accelerate.compiler.team import SHARED

if TYPE_CHECKING:
    from saddle.accelerate.compiler.scalars import Scope

Arrays = list[np.ndarray]
"""Arrays of numbers (object arrays)."""


def _numbers(arrays: Sequence[np.ndarray]) -> list[Any]:
    numbers: list[Any] = []
    for array in arrays:
        numbers += list(array.ravel())
    return numbers


def _arrays(numbers: Sequence[Any], like: Sequence[Any]) -> list[np.ndarray]:
    """Numbers in the shapes of arrays or avals."""
    arrays = []
    start = 0
    for wanted in like:
        end = start + int(np.prod(wanted.shape))
        arrays.append(objects(numbers[start:end], wanted.shape))
        start = end
    return arrays


def _call(scope: Scope, params: Params, args: Arrays) -> Arrays:
    here = scope.called(shared=params.get("name") == SHARED)
    return here.run(params.get("jaxpr", params.get("call_jaxpr")), args)


def _store(scope: Scope, params: Params, args: Arrays) -> Arrays:
    """An optimisation barrier: from here on these numbers lie in memory."""
    return [_stored(scope, a) for a in args]


def _stored(scope: Scope, numbers: np.ndarray) -> np.ndarray:
    """The same numbers, in memory or known in advance."""
    if all(is_known(x) for x in numbers.flat):
        return numbers
    if all(isinstance(x, Slot) for x in numbers.flat):
        return numbers
    return _copied(scope, numbers)


def _copied(scope: Scope, numbers: np.ndarray) -> np.ndarray:
    """The numbers, each copied into a place of its own."""
    start = scope.program.reserve(numbers.size)
    slots = [Slot(start + i, x.dtype) for i, x in enumerate(numbers.flat)]
    for slot, x in zip(slots, numbers.flat, strict=True):
        scope.program.store(slot, scope.value(x))
    return objects(slots, numbers.shape)


def _set(scope: Scope, variables: list[Register], numbers: Sequence[Any]) -> None:
    """Set all variables at once: a new value may be another variable's old one."""
    program = scope.program
    held = {id(variable) for variable in variables}
    values = [scope.value(x) for x in numbers]
    for k, variable in enumerate(variables):
        if id(values[k]) in held and values[k] is not variable:
            values[k] = program.variable(values[k])
    for variable, value in zip(variables, values, strict=True):
        if value is not variable:
            program.copy(variable, value)


def _while(scope: Scope, params: Params, args: Arrays) -> Arrays:
    of_cond = params["cond_nconsts"]
    of_both = of_cond + params["body_nconsts"]
    cond_consts = args[:of_cond]
    body_consts = args[of_cond:of_both]
    carry = args[of_both:]
    program = scope.program
    variables = [program.variable(scope.value(x)) for x in _numbers(carry)]
    now = _arrays(variables, carry)
    again = program.label()
    end = program.label()
    program.place(again)
    with program.block():
        inner = scope.inner()
        (going,) = inner.run(params["cond_jaxpr"], [*cond_consts, *now])
        program.branch(end, inner.value(going.item()), unless=True)
        after = inner.run(params["body_jaxpr"], [*body_consts, *now])
        _set(inner, variables, _numbers(after))
    program.branch(again)
    program.place(end)
    return now


def _scan(scope: Scope, params: Params, args: Arrays) -> Arrays:
    """A loop over rows: inputs come from memory, outputs go there."""
    const_count, carry_count = _scan_counts(params)
    of_both = const_count + carry_count
    consts = args[:const_count]
    carry = args[const_count:of_both]
    jaxpr = params["jaxpr"]
    length = params["length"]
    program = scope.program
    inputs = [_Rows(scope, xs) for xs in args[of_both:]]
    results = getattr(jaxpr, "jaxpr", jaxpr).outvars[carry_count:]
    tables = [_Table(program, length, result.aval) for result in results]
    variables = [program.variable(scope.value(x)) for x in _numbers(carry)]
    now = _arrays(variables, carry)
    count = _Count(program, length, program.team if scope.shared else 1)
    with program.block():
        inner = scope.inner()
        at = count.i
        if params["reverse"]:
            at = inner.apply(lax.sub_p, [np.int32(length - 1), count.i])
        own_rows = [row.row(inner, at) for row in inputs]
        found = inner.run(jaxpr, [*consts, *now, *own_rows])
        for table, values in zip(tables, found[carry_count:], strict=True):
            table.store(inner, at, values)
        _set(inner, variables, _numbers(found[:carry_count]))
    count.end(variables)
    return [*now, *(table.numbers() for table in tables)]


class _Table:
    """An output [length, ...] of a scan, in memory."""

    def __init__(self, program: Code, length: int, aval: Any) -> None:
        self.shape = (length, *aval.shape)
        self.dtype = aval.dtype
        self.start = program.reserve(int(np.prod(self.shape)))

    def store(self, inner: Scope, i: Register, values: np.ndarray) -> None:
        """Set row i."""
        base = inner.program.row(i, values.size)
        for k, x in enumerate(values.flat):
            inner.program.store(Slot(self.start + k, x.dtype, base), inner.value(x))

    def numbers(self) -> np.ndarray:
        """All rows."""
        count = int(np.prod(self.shape))
        return objects([Slot(self.start + k, self.dtype) for k in range(count)], self.shape)


class _Count:
    """The rows of a loop, or those of them that this thread of a team has."""

    def __init__(self, program: Code, length: int, team: int) -> None:
        self.program = program
        self.length = np.int32(length)
        self.team = team
        self.i = program.variable(np.int32(0))
        self.again = program.label()
        self.past = program.label()
        if team > 1:
            program.copy(self.i, program.rank())
        program.place(self.again)
        if team > 1:  # there may be fewer rows than threads
            program.branch(self.past, program.emit("ge", [self.i, self.length], bool, {}))

    def end(self, sums: list[Register]) -> None:
        """Go on to the next row; after the last one a team adds up what its loop carried."""
        program = self.program
        program.copy(self.i, program.emit("add", [self.i, np.int32(self.team)], np.int32, {}))
        program.branch(self.again, program.emit("lt", [self.i, self.length], bool, {}))
        program.place(self.past)
        if self.team > 1:
            for x in sums:
                program.copy(x, program.add_up(x))


def _scan_counts(params: Params) -> tuple[int, int]:
    """How many constants and carried values a scan has; JAX 0.11 groups its arguments instead of
    counting them.
    """
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = (len(group) for group in params["ft_in"].unpack())
    return consts, carry


class _Rows:
    """An input [length, ...] of a scan."""

    def __init__(self, scope: Scope, xs: np.ndarray) -> None:
        self.shape = xs.shape[1:]
        self.columns = [_column(scope, column) for column in xs.reshape(len(xs), -1).T]

    def row(self, inner: Scope, i: Register) -> np.ndarray:
        """Row i."""
        return objects([column(inner, i) for column in self.columns], self.shape)


def _column(scope: Scope, numbers: np.ndarray) -> Callable[[Scope, Register], Any]:
    """How to get the number of row i, given a number for each row."""
    first = numbers[0]
    if all(key(x) == key(first) for x in numbers):
        return lambda inner, i: first
    if all(is_known(x) for x in numbers):
        return lambda inner, i: _known_row(inner, numbers, i)
    steps = _steps(numbers)
    if len(steps) != 1:
        return _column(scope, _copied(scope, numbers))
    (step,) = steps

    def from_memory(inner: Scope, i: Register) -> Slot:
        def base() -> Register:
            return inner.program.row(i, step, first.base)

        place = ("row", id(i), step, id(first.base))
        return Slot(first.at, first.dtype, inner.once(place, base, i, first.base))

    return from_memory


def _steps(numbers: np.ndarray) -> set[int]:
    """How far apart numbers lie in memory; none if some lie elsewhere."""
    together = all(isinstance(x, Slot) and x.base is numbers[0].base for x in numbers)
    if not together:
        return set()
    return {after.at - before.at for before, after in pairwise(numbers)}


def _known_row(inner: Scope, numbers: np.ndarray, i: Register) -> Any:
    value = numbers[0]
    for k, (before, after) in enumerate(pairwise(numbers), 1):
        if key(before) != key(after):
            from_here = inner.apply(lax.ge_p, [i, np.int32(k)])
            value = inner.select(from_here, after, value)
    return value


def _cond(scope: Scope, params: Params, args: Arrays) -> Arrays:
    """Each thread runs its own branch."""
    index = args[0].item()
    args = args[1:]
    branches = params["branches"]
    program = scope.program
    if is_known(index):
        return scope.run(branches[int(index)], args)
    first = branches[0]
    avals = [variable.aval for variable in getattr(first, "jaxpr", first).outvars]
    variables = []
    for aval in avals:
        variables += [program.register(aval.dtype) for _ in range(aval.size)]
    end = program.label()
    for k, branch in enumerate(branches):
        past = program.label()
        if k + 1 < len(branches):
            here = scope.apply(lax.eq_p, [index, np.dtype(index.dtype).type(k)])
            program.branch(past, scope.value(here), unless=True)
        with program.block():
            inner = scope.inner()
            _set(inner, variables, _numbers(inner.run(branch, args)))
        program.branch(end)
        program.place(past)
    program.place(end)
    return _arrays(variables, avals)


def _unstack(scope: Scope, params: Params, args: Arrays) -> Arrays:
    (x,) = args
    return rows(x, params["axis"])


BLOCKS: dict[str, Callable[..., Arrays]] = {
    "jit": _call,
    "pjit": _call,
    "closed_call": _call,
    "eval_jaxpr": _call,
    "custom_jvp_call": _call,
    "optimization_barrier": _store,
    "unstack": _unstack,
    "while": _while,
    "scan": _scan,
    "cond": _cond,
}
