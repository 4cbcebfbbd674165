"""A rare branch as machine code for the CPU: a loop over worlds, which computes where it must and
copies elsewhere.

XLA runs a contact step on a CPU as thousands of small operations per substep, each with its own
call, and takes half a minute to compile them. The same step as one function (scalars.py, llvm.py)
compiles in seconds and runs world by world.
"""

import ctypes
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.accelerate import xla_ffi
from saddle.accelerate.compiler.branch import Branch
from saddle.accelerate.compiler.code import Register
from saddle.accelerate.compiler.known import objects
from saddle.accelerate.compiler.llvm import TYPES, Program
from saddle.accelerate.compiler.scalars import Scope

EFFORT = 1  # LLVM's level of code generation


def missing() -> str | None:
    """What is not installed and how to get it; None where nothing is missing."""
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed (pip install llvmlite)"
    return None


def fits(x: Any, default: Any) -> bool:
    """Whether a function can take these: one kind of float in; the same and bools out."""
    types = {leaf.dtype for leaf in jax.tree.leaves(x)}
    others = {leaf.dtype for leaf in jax.tree.leaves(default)} - {np.dtype(bool)}
    return (
        len(types) == 1
        and others <= types
        and types <= {np.dtype(np.float32), np.dtype(np.float64)}
    )


def prove(branch: Branch) -> None:
    """Compile the function; raises where that fails."""
    compiled(branch)


def patch(rare: Callable[[Any], Any], pred: Array, x: Any, default: Any) -> Any:
    """rare(x) where pred [N] holds, default elsewhere; leaves [N, ...] of one float type, and bools
    in the result.
    """
    name = compiled(Branch.of(rare, x, default))
    plain, tree = jax.tree.flatten(default)
    call = jax.ffi.ffi_call(name, [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in plain])
    count = jnp.full(1, pred.shape[0], jnp.int32)
    return jax.tree.unflatten(tree, call(count, pred, *jax.tree.leaves(x), *plain))


def program_text(branch: Branch) -> tuple[str, str]:
    """Name and text of the function. Its arguments: how many worlds, pred, the leaves of x and of
    default.
    """
    jaxpr, avals, types = branch.traced()
    program = Program(avals[0].dtype)
    i = program.variable(np.int32(0))
    again = program.label()
    end = program.label()
    program.place(again)
    program.branch(
        end, program.emit("ge", [i, program.set(np.int32, "load i32, ptr %in0")], bool, {})
    )
    world = program.row(i, 1)
    inputs = [(1, np.dtype(bool)), *((v.size, np.dtype(v.dtype)) for v in avals), *types]
    chosen, *rows = (_Row(program, f"%in{k}", world, *facts) for k, facts in enumerate(inputs, 1))
    sources = rows[: len(avals)]
    defaults = rows[len(avals) :]
    targets = [_Row(program, f"%out{k}", world, *facts) for k, facts in enumerate(types)]
    compute = program.label()
    following = program.label()
    program.branch(compute, chosen.read(0))
    for source, target in zip(defaults, targets, strict=True):
        for k in range(source.size):
            target.write(k, source.read(k))
    program.branch(following)
    program.place(compute)
    scope = Scope(program)
    args = []
    for source, aval in zip(sources, avals, strict=True):
        numbers = [source.read(k) for k in range(aval.size)]
        args.append(objects(numbers, aval.shape))
    for target, values in zip(targets, scope.run(jaxpr, args), strict=True):
        for k, number in enumerate(values.flat):
            target.write(k, scope.value(number))
    program.place(following)
    program.copy(i, program.emit("add", [i, np.int32(1)], np.int32, {}))
    program.branch(again)
    program.place(end)
    body = program.text("NAME", xla_ffi.unpacked(1 + len(inputs), len(types)))
    name = f"{branch.name}_{hashlib.sha256(body.encode()).hexdigest()[:16]}"
    return name, body.replace("@NAME(", f"@{name}(")


class _Row:
    """One world's numbers in an array; bools are bytes there."""

    def __init__(
        self, program: Program, pointer: str, world: Register, size: int, dtype: np.dtype
    ) -> None:
        self.program = program
        self.pointer = pointer
        self.size = size
        self.dtype = dtype
        self.kind = "i8" if dtype.kind == "b" else TYPES[dtype.name]
        self.start = program.set(np.int64, f"mul i64 {world.name}, {size}").name

    def _at(self, k: int) -> str:
        index = self.program.set(np.int64, f"add i64 {self.start}, {k}").name
        return self.program.element(self.pointer, self.kind, index)

    def read(self, k: int) -> Register:
        """Number k."""
        out = self.program.set(self.dtype, f"load {self.kind}, ptr {self._at(k)}")
        return (
            self.program.set(bool, f"trunc i8 {out.name} to i1") if self.dtype.kind == "b" else out
        )

    def write(self, k: int, x: Any) -> None:
        """Set number k."""
        value = self.program.typed(x)
        if self.dtype.kind == "b":
            value = f"i8 {self.program.set(np.int32, f'zext {value} to i8').name}"
        self.program.line(f"store {value}, ptr {self._at(k)}")


_engines: dict[str, Any] = {}  # machine code by name, which must live as long as the process


@cache
def compiled(branch: Branch) -> str:
    """Compile a branch, and tell XLA of it by the name returned."""
    import llvmlite.binding as llvm

    name, text = program_text(branch)
    if name in _engines:
        return name
    module = llvm.parse_assembly(text)
    machine = _machine()
    passes = llvm.create_new_function_pass_manager()
    # The rest of LLVM's optimisations takes ten times as long and gains nothing here
    passes.add_sroa_pass()
    builder = llvm.create_pass_builder(
        machine, llvm.create_pipeline_tuning_options(speed_level=EFFORT)
    )
    passes.run(module.get_function(name), builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _engines[name] = engine
    jax.ffi.register_ffi_target(name, _capsule(engine.get_function_address(name)), platform="cpu")
    return name


@cache
def _machine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=EFFORT, jit=True
    )


def _capsule(address: int) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, b"xla._CUSTOM_CALL_TARGET", None)
