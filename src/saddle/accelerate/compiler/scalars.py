"""A jaxpr, taken apart into operations on single numbers.

A step of the contact solver is some ten thousand operations on arrays of a few numbers: as an XLA
program on a GPU, as many kernel launches. Here the function is traced for one world and walked
number by number. What only moves numbers about (slices, stacks, ...) happens now, what is known is
computed now, what was computed before is not computed again, and the rest is code for one thread.
Loops stay loops; a scan's rows lie in memory, so that the loop can index them.
"""

from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import lax

from saddle.accelerate.compiler.blocks import BLOCKS
from saddle.accelerate.compiler.code import COMPARE, Code, Slot
from saddle.accelerate.compiler.known import Params, constant, key, objects, simplify
from saddle.accelerate.compiler.parameters import check
from saddle.accelerate.compiler.rules import ELEMENT, MOVE, REDUCE


class Scope:
    """One block of the program: what has been computed in it and in the blocks around it."""

    def __init__(self, program: Code, known: ChainMap | None = None, shared: bool = False) -> None:
        self.program = program
        self.known = ChainMap() if known is None else known
        self.shared = shared  # whether a team of threads shares its loops' rows

    def inner(self) -> "Scope":
        """A block inside this one."""
        return Scope(self.program, self.known.new_child())

    def called(self, shared: bool) -> "Scope":
        """The same block, for a function that is called in it."""
        return Scope(self.program, self.known, shared)

    def value(self, x: Any) -> Any:
        """A number, out of memory if it lies there."""
        if not isinstance(x, Slot):
            return x
        return self.once(id(x), lambda: self.program.load(x), x)

    def once(self, key: Any, compute: Callable[[], Any], *operands: Any) -> Any:
        """What was computed under this key, in this block or around it, or else now."""
        if key not in self.known:
            # Operands are kept alive, so that their ids stay theirs
            self.known[key] = (compute(), operands)
        result, _ = self.known[key]
        return result

    def apply(self, primitive: Any, numbers: Sequence[Any], params: Params | None = None) -> Any:
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

        expression = (name, np.dtype(dtype), *map(key, numbers))
        return self.once(expression, compute, *numbers)

    def select(self, mask: Any, yes: Any, no: Any) -> Any:
        """yes where mask holds."""
        return self.apply(lax.select_n_p, [mask, no, yes])

    def run(self, jaxpr: Any, args: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Arrays of numbers (object arrays) in and out."""
        consts = getattr(jaxpr, "consts", [])
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        values = dict(zip(jaxpr.constvars, map(constant, consts), strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))

        def read(variables: Sequence[Any]) -> list[np.ndarray]:
            return [_literal(v) if hasattr(v, "val") else values[v] for v in variables]

        for equation in jaxpr.eqns:
            results = self._step(equation, read(equation.invars))
            values.update(zip(equation.outvars, results, strict=True))
        return read(jaxpr.outvars)

    def _step(self, equation: Any, args: list[np.ndarray]) -> list[np.ndarray]:
        name = equation.primitive.name
        params = equation.params
        check(name, params)
        if name in BLOCKS:
            return BLOCKS[name](self, params, args)
        if len(equation.outvars) > 1:
            raise NotImplementedError(f"a kernel has no {name}")
        aval = equation.outvars[0].aval
        if name in MOVE:
            result = np.asarray(MOVE[name](params, aval, *args), object)
        elif name in REDUCE:
            result = REDUCE[name](self, params, *args)
        else:
            result = self._elementwise(name, params, aval.shape, args)
        _check_result(name, result, aval)
        return [result]

    def _elementwise(
        self, name: str, params: Params, shape: tuple[int, ...], args: list[np.ndarray]
    ) -> np.ndarray:
        if any(array.ndim > len(shape) for array in args):
            raise NotImplementedError(f"a kernel has no {name}")
        columns = [np.broadcast_to(array, shape).ravel() for array in args]
        operands = zip(*columns, strict=True)
        return objects([self.apply(name, numbers, params) for numbers in operands], shape)


def _literal(variable: Any) -> np.ndarray:
    return constant(np.asarray(variable.val, variable.aval.dtype))


def _check_result(name: str, result: np.ndarray, aval: Any) -> None:
    """Refuse a rule's result that is not of the shape and type that JAX says it has: then the rule
    missed something.
    """
    if result.shape != aval.shape:
        raise NotImplementedError(f"a kernel has no {name} of shape {aval.shape}")
    if any(x.dtype != aval.dtype for x in result.flat):
        raise NotImplementedError(f"a kernel has no {name} that gives {aval.dtype}")
