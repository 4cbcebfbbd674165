"""A rare branch as one kernel: threads first for the worlds that take it, then for those that keep their default."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.tasks.kernel.branch import Branch
from saddle.tasks.kernel.code import Register
from saddle.tasks.kernel.ptx import TYPES, Program
from saddle.tasks.kernel.rules import is_known, objects
from saddle.tasks.kernel.scalars import Scope

TARGET = "__gpu$xla.gpu.ptx"  # XLA's custom call for a kernel given as PTX
BLOCK = 32  # threads: one warp, so that worlds wait for as few others as possible


def fits(x: Any, default: Any) -> bool:
    """Whether a kernel can take these: float32 in, float32 and bool out."""
    types = {leaf.dtype for leaf in jax.tree.leaves(x)}, {leaf.dtype for leaf in jax.tree.leaves(default)}
    return types[0] <= {np.dtype(np.float32)} and types[1] <= {np.dtype(np.float32), np.dtype(bool)}


def patch(rare: Callable[[Any], Any], pred: Array, x: Any, default: Any) -> Any:
    """rare(x) where pred [N] holds, default elsewhere; leaves [N, ...] of float32, and bools in the result."""
    n = pred.shape[0]
    inputs = [leaf.reshape(n, -1) for leaf in jax.tree.leaves(x)]
    plain, tree = jax.tree.flatten(default)
    defaults = [(leaf.astype(jnp.int32) if leaf.dtype == bool else leaf).reshape(n, -1) for leaf in plain]
    name, text = program_text(Branch.of(rare, x, default))
    config = (
        f'{{name = "{name}", kernel_type = "ptx", kernel_data = "{text}", '
        f"grid_x = {-(-n // BLOCK)}, grid_y = 1, grid_z = 1, block_x = {BLOCK}, block_y = 1, block_z = 1, "
        "shared_mem_bytes = 0}"
    )
    results = jax.ffi.ffi_call(
        TARGET,
        [jax.ShapeDtypeStruct(d.shape, d.dtype) for d in defaults],
        custom_call_api_version=1,
        legacy_backend_config=config.replace("\n", "\\n"),
    )(*order(pred), *inputs, *defaults)
    shaped = [r.reshape(leaf.shape).astype(leaf.dtype) for r, leaf in zip(results, plain, strict=True)]
    return jax.tree.unflatten(tree, shaped)


def order(pred: Array) -> tuple[Array, Array]:
    """All worlds [N] int32, those where pred holds first; and [n, how many those are]."""
    n = pred.shape[0]
    before = jnp.cumsum(pred, dtype=jnp.int32)
    every = jnp.arange(n, dtype=jnp.int32)
    place = jnp.where(pred, before - 1, before[-1] + every - before)
    worlds = jnp.zeros(n, jnp.int32).at[place].set(every, unique_indices=True)
    return worlds, jnp.stack([jnp.int32(n), before[-1]])


@cache
def program_text(branch: Branch) -> tuple[str, str]:
    """Name and text of the kernel. Its pointers: worlds, sizes, the leaves of x, of default, and of the result."""
    jaxpr, avals, types = branch.traced()
    name = branch.name
    program = Program()
    pointers = _Pointers(program)
    thread, world, count = _prologue(program, pointers)
    sources = [pointers.take(world, v.size) for v in avals]
    defaults = [pointers.take(world, size) for size, _ in types]
    targets = [pointers.take(world, size) for size, _ in types]
    compute = program.label()
    program.branch(compute, program.emit("lt", [thread, count], bool, {}))
    for source, target, (size, dtype) in zip(defaults, targets, types, strict=True):
        for k in range(size):
            target.write(k, source.read(k, dtype))
    program.line("ret")
    program.place(compute)
    args = [objects([s.read(k, v.dtype) for k in range(v.size)], v.shape) for s, v in zip(sources, avals, strict=True)]
    scope = Scope(program)
    for target, values in zip(targets, scope.run(jaxpr, args), strict=True):
        for k, number in enumerate(values.flat):
            target.write(k, scope.value(number))
    return name, program.text(name, pointers.names)


class _Pointers:
    """The kernel's parameters, one after the other."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names: list[str] = []

    def next(self) -> Register:
        """The next pointer."""
        self.names.append(f"at{len(self.names)}")
        out = self.program.register(np.int64)
        self.program.line(f"ld.param.u64 {out.name}, [{self.names[-1]}]")
        return out

    def take(self, world: Register, size: int) -> "_Row":
        """The next array [N, size], at this thread's world."""
        far, row = self.program.register(np.int64), self.program.register(np.int64)
        self.program.line(f"mul.wide.s32 {far.name}, {world.name}, {4 * size}")
        self.program.line(f"add.u64 {row.name}, {self.next().name}, {far.name}")
        return _Row(self.program, row)


class _Row:
    """One world's numbers in an array; bools are 0 or 1 there."""

    def __init__(self, program: Program, start: Register) -> None:
        self.program, self.start = program, start

    def read(self, k: int, dtype: Any) -> Register:
        """Number k."""
        out = self.program.register(np.int32 if np.dtype(dtype).kind == "b" else dtype)
        self.program.line(f"ld.global.{TYPES[out.dtype.name][0]} {out.name}, [{self.start.name}+{4 * k}]")
        return out

    def write(self, k: int, x: Any) -> None:
        """Set number k."""
        if x.dtype == bool:
            x = np.int32(x) if is_known(x) else self.program.emit("convert_element_type", [x], np.int32, {})
        x = self.program.variable(x)
        self.program.line(f"st.global.{TYPES[x.dtype.name][0]} [{self.start.name}+{4 * k}], {x.name}")


def _prologue(program: Program, pointers: _Pointers) -> tuple[Register, Register, Register]:
    """Which thread this is, its world, and how many worlds to compute; threads past the last world end here."""
    thread, block, world, count, n = (program.register(np.int32) for _ in range(5))
    program.line(f"mov.u32 {thread.name}, %tid.x")
    program.line(f"mov.u32 {block.name}, %ctaid.x")
    program.line(f"mad.lo.s32 {thread.name}, {block.name}, {BLOCK}, {thread.name}")
    worlds, sizes, at = pointers.next(), pointers.next(), program.register(np.int64)
    program.line(f"ld.global.s32 {n.name}, [{sizes.name}]")
    program.line(f"ld.global.s32 {count.name}, [{sizes.name}+4]")
    here = program.label()
    program.branch(here, program.emit("lt", [thread, n], bool, {}))
    program.line("ret")
    program.place(here)
    program.line(f"mul.wide.s32 {at.name}, {thread.name}, 4")
    program.line(f"add.u64 {at.name}, {worlds.name}, {at.name}")
    program.line(f"ld.global.s32 {world.name}, [{at.name}]")
    return thread, world, count
