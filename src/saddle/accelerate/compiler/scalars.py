"""A jaxpr, taken apart into operations on single numbers.

A step of the contact solver is some ten thousand operations on arrays of a few numbers: as an XLA
program on a GPU, as many kernel launches. Here the function is traced for one world and walked
number by number. What only moves numbers about (slices, stacks, ...) happens now, what is known is
computed now, what was computed before is not computed again, and the rest is code for one thread.
Loops stay loops; a scan's rows lie in memory, so that the loop can index them.
"""

from collections import ChainMap
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from jax import lax

from saddle.accelerate.compiler.code import COMPARE, Code, Register, Slot
from saddle.accelerate.compiler.parameters import check
from saddle.accelerate.compiler.rules import (
    ELEMENT,
    MOVE,
    REDUCE,
    constant,
    is_known,
    objects,
    rows,
    simplify,
)
from saddle.accelerate.compiler.team import SHARED


class Scope:
    """One block of the program: what has been computed in it and in the blocks around it."""

    def __init__(self, program: Code, known: ChainMap | None = None, shared: bool = False) -> None:
        self.program, self.known = program, ChainMap() if known is None else known
        self.shared = shared  # whether a team of threads shares its loops' rows

    def inner(self) -> "Scope":
        """A block inside this one."""
        return Scope(self.program, self.known.new_child())

    def value(self, x: Any) -> Any:
        """A number, out of memory if it lies there."""
        return self._once(id(x), lambda: self.program.load(x), x) if isinstance(x, Slot) else x

    def _once(self, key: Any, compute: Callable[[], Any], *alive: Any) -> Any:
        if key not in self.known:
            self.known[key] = (
                compute(),
                alive,
            )  # operands stay alive, so that their ids stay theirs
        return self.known[key][0]

    def apply(
        self, primitive: Any, numbers: Sequence[Any], params: dict[str, Any] | None = None
    ) -> Any:
        """An elementwise primitive of numbers."""
        name = primitive if isinstance(primitive, str) else primitive.name
        params = params or {}
        known = simplify(name, numbers, params)
        if known is not None:
            return known
        if name in ELEMENT and name not in self.program.native:
            return ELEMENT[name](self, params, *numbers)
        dtype = numbers[-1].dtype
        if name in COMPARE:
            dtype = bool
        if "new_dtype" in params:
            dtype = params["new_dtype"]

        def compute() -> Any:
            return self.program.emit(name, [self.value(x) for x in numbers], dtype, params)

        key = (name, np.dtype(dtype), *map(_key, numbers))
        return self._once(key, compute, *numbers)

    def select(self, mask: Any, yes: Any, no: Any) -> Any:
        """yes where mask holds."""
        return self.apply(lax.select_n_p, [mask, no, yes])

    def run(self, jaxpr: Any, args: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Arrays of numbers (object arrays) in and out."""
        consts = getattr(jaxpr, "consts", [])
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        values = dict(zip(jaxpr.constvars, map(constant, consts), strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))
        read = lambda v: (
            constant(np.asarray(v.val, v.aval.dtype)) if hasattr(v, "val") else values[v]
        )
        for eqn in jaxpr.eqns:
            values.update(
                zip(eqn.outvars, self._step(eqn, [read(v) for v in eqn.invars]), strict=True)
            )
        return [read(v) for v in jaxpr.outvars]

    def _step(self, eqn: Any, args: list[np.ndarray]) -> list[np.ndarray]:
        name, params = eqn.primitive.name, eqn.params
        check(name, params)
        if name in _BLOCKS:
            return _BLOCKS[name](self, params, args)
        if len(eqn.outvars) > 1:
            raise NotImplementedError(f"a kernel has no {name}")
        aval = eqn.outvars[0].aval
        if name in MOVE:
            result = np.asarray(MOVE[name](params, aval, *args), object)
        elif name in REDUCE:
            result = REDUCE[name](self, params, *args)
        else:
            result = self._elementwise(name, params, aval.shape, args)
        _check_result(name, result, aval)
        return [result]

    def _elementwise(
        self, name: str, params: dict[str, Any], shape: tuple[int, ...], args: list[np.ndarray]
    ) -> np.ndarray:
        if any(a.ndim > len(shape) for a in args):
            raise NotImplementedError(f"a kernel has no {name}")
        numbers = zip(*(np.broadcast_to(a, shape).ravel() for a in args), strict=True)
        return objects([self.apply(name, group, params) for group in numbers], shape)


def _check_result(name: str, result: np.ndarray, aval: Any) -> None:
    """Refuse a rule's result that is not of the shape and type that JAX says it has: then the rule
    missed something.
    """
    if result.shape != aval.shape:
        raise NotImplementedError(f"a kernel has no {name} of shape {aval.shape}")
    if any(x.dtype != aval.dtype for x in result.flat):
        raise NotImplementedError(f"a kernel has no {name} that gives {aval.dtype}")


def _key(x: Any) -> Any:
    return (x.dtype, x.tobytes()) if is_known(x) else id(x)


def _numbers(arrays: Sequence[np.ndarray]) -> list[Any]:
    return [x for a in arrays for x in a.ravel()]


def _arrays(numbers: Sequence[Any], like: Sequence[Any]) -> list[np.ndarray]:
    """Numbers in the shapes of arrays or avals."""
    out, at = [], 0
    for shape in (a.shape for a in like):
        count = int(np.prod(shape))
        out.append(objects(numbers[at : at + count], shape))
        at += count
    return out


def _call(scope: Scope, params: dict[str, Any], args: list[np.ndarray]) -> list[np.ndarray]:
    here = Scope(scope.program, scope.known, shared=params.get("name") == SHARED)
    return here.run(params.get("jaxpr", params.get("call_jaxpr")), args)


def _store(scope: Scope, params: dict[str, Any], args: list[np.ndarray]) -> list[np.ndarray]:
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
    values = [scope.value(x) for x in numbers]
    held = {id(v) for v in variables}
    values = [
        scope.program.variable(x) if id(x) in held and x is not v else x
        for v, x in zip(variables, values, strict=True)
    ]
    for v, x in zip(variables, values, strict=True):
        if x is not v:
            scope.program.copy(v, x)


def _while(scope: Scope, params: dict[str, Any], args: list[np.ndarray]) -> list[np.ndarray]:
    a = params["cond_nconsts"]
    b = params["body_nconsts"]
    carry = args[a + b :]
    program = scope.program
    variables = [program.variable(scope.value(x)) for x in _numbers(carry)]
    now = _arrays(variables, carry)
    again = program.label()
    end = program.label()
    program.place(again)
    with program.block():
        inner = scope.inner()
        going = inner.run(params["cond_jaxpr"], [*args[:a], *now])[0].item()
        program.branch(end, inner.value(going), unless=True)
        _set(inner, variables, _numbers(inner.run(params["body_jaxpr"], [*args[a : a + b], *now])))
    program.branch(again)
    program.place(end)
    return now


def _scan(scope: Scope, params: dict[str, Any], args: list[np.ndarray]) -> list[np.ndarray]:
    """A loop over rows: inputs come from memory, outputs go there."""
    a, b = _scan_counts(params)
    jaxpr = params["jaxpr"]
    length = params["length"]
    program = scope.program
    carry = args[a : a + b]
    rows = [_Rows(scope, xs) for xs in args[a + b :]]
    outs = [v.aval for v in getattr(jaxpr, "jaxpr", jaxpr).outvars[b:]]
    starts = [program.reserve(length * int(np.prod(v.shape))) for v in outs]
    variables = [program.variable(scope.value(x)) for x in _numbers(carry)]
    now = _arrays(variables, carry)
    count = _Count(program, length, program.team if scope.shared else 1)
    with program.block():
        inner = scope.inner()
        at = count.i
        if params["reverse"]:
            at = inner.apply(lax.sub_p, [np.int32(length - 1), count.i])
        results = inner.run(jaxpr, [*args[:a], *now, *(r.row(inner, at) for r in rows)])
        for start, values in zip(starts, results[b:], strict=True):
            base = program.row(at, values.size)
            for k, x in enumerate(values.flat):
                program.store(Slot(start + k, x.dtype, base), inner.value(x))
        _set(inner, variables, _numbers(results[:b]))
    count.end(variables)
    table = []
    for start, v in zip(starts, outs, strict=True):
        size = length * int(np.prod(v.shape))
        slots = [Slot(start + k, v.dtype) for k in range(size)]
        table.append(objects(slots, (length, *v.shape)))
    return [*now, *table]


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
        for x in sums if self.team > 1 else []:
            program.copy(x, program.add_up(x))


def _scan_counts(params: dict[str, Any]) -> tuple[int, int]:
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
    if all(_key(x) == _key(first) for x in numbers):
        return lambda inner, i: first
    if all(is_known(x) for x in numbers):
        return lambda inner, i: _known_row(inner, numbers, i)
    steps = _steps(numbers)
    if len(steps) != 1:
        return _column(scope, _copied(scope, numbers))
    step = steps.pop()
    key = lambda i: ("row", id(i), step, id(first.base))
    base = lambda inner, i: inner._once(
        key(i), lambda: inner.program.row(i, step, first.base), i, first.base
    )
    return lambda inner, i: Slot(first.at, first.dtype, base(inner, i))


def _steps(numbers: np.ndarray) -> set[int]:
    """How far apart numbers lie in memory; none if some lie elsewhere."""
    together = all(isinstance(x, Slot) and x.base is numbers[0].base for x in numbers)
    return {y.at - x.at for x, y in pairwise(numbers)} if together else set()


def _known_row(inner: Scope, numbers: np.ndarray, i: Register) -> Any:
    value = numbers[0]
    for k, (x, y) in enumerate(pairwise(numbers), 1):
        if _key(x) != _key(y):
            value = inner.select(inner.apply(lax.ge_p, [i, np.int32(k)]), y, value)
    return value


def _cond(scope: Scope, params: dict[str, Any], args: list[np.ndarray]) -> list[np.ndarray]:
    """Each thread runs its own branch."""
    index = args[0].item()
    args = args[1:]
    branches = params["branches"]
    program = scope.program
    if is_known(index):
        return scope.run(branches[int(index)], args)
    avals = [v.aval for v in getattr(branches[0], "jaxpr", branches[0]).outvars]
    variables = [program.register(v.dtype) for v in avals for _ in range(v.size)]
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


_BLOCKS = {
    "jit": _call,
    "pjit": _call,
    "closed_call": _call,
    "eval_jaxpr": _call,
    "custom_jvp_call": _call,
    "optimization_barrier": _store,
    "unstack": lambda scope, params, args: rows(args[0], params["axis"]),
    "while": _while,
    "scan": _scan,
    "cond": _cond,
}
