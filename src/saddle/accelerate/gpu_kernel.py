"""A rare branch as one kernel: a thread copies the defaults of a world that keeps them; some also
compute a world.

A world in contact is a long chain of instructions, and worlds in one warp wait for each other
wherever they part ways. So few worlds are spread over some warps; over many, they would wait for
their instructions and memory instead. A team of neighbouring threads computes a world together, and
shares the rows of its loops (team.py).
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.accelerate.compiler.branch import Branch
from saddle.accelerate.compiler.code import Register
from saddle.accelerate.compiler.ptx import TEAM, TYPES, Program
from saddle.accelerate.compiler.rules import is_known, objects
from saddle.accelerate.compiler.scalars import Scope
from saddle.accelerate.ptx_launch import launch
from saddle.accelerate.untraced import untraced

BLOCK = 32  # threads: one warp
WARPS = 256  # over which worlds are spread: two for each processor of a large GPU


def fits(x: Any, default: Any) -> bool:
    """Whether a kernel can take these: float32 in, float32 and bool out."""
    real = np.dtype(np.float32)
    taken = {leaf.dtype for leaf in jax.tree.leaves(x)}
    given = {leaf.dtype for leaf in jax.tree.leaves(default)}
    return taken <= {real} and given <= {real, np.dtype(bool)}


def patch(rare: Callable[[Any], Any], pred: Array, x: Any, default: Any) -> Any:
    """rare(x) where pred [N] holds, default elsewhere; leaves [N, ...] of float32, and bools in the
    result.
    """
    n = pred.shape[0]
    inputs = [leaf.reshape(n, -1) for leaf in jax.tree.leaves(x)]
    plain, tree = jax.tree.flatten(default)
    defaults = [
        (leaf.astype(jnp.int32) if leaf.dtype == bool else leaf).reshape(n, -1) for leaf in plain
    ]
    name, text = program_text(Branch.of(rare, x, default))
    shapes = [jax.ShapeDtypeStruct(d.shape, d.dtype) for d in defaults]
    results = launch(name, text, (warps(n), 1, 1), BLOCK, shapes)(*order(pred), *inputs, *defaults)
    shaped = [
        r.reshape(leaf.shape).astype(leaf.dtype) for r, leaf in zip(results, plain, strict=True)
    ]
    return jax.tree.unflatten(tree, shaped)


@cache
def prove(branch: Branch) -> None:
    """Run the kernel on one world, which keeps its default; raises where that fails.

    The driver assembles a kernel when its program first runs, which is too late to do without it.
    """
    program_text(branch)  # as it comes out in the program that is being traced
    x = jax.tree.unflatten(
        branch.tree, [np.zeros(leaf.shape, leaf.dtype) for leaf in branch.arguments]
    )
    default = [np.zeros((1, size), dtype) for size, dtype in branch.results]
    run = jax.jit(partial(patch, branch.function))
    untraced(lambda: jax.block_until_ready(run(np.zeros(1, bool), x, default)))


def order(pred: Array) -> tuple[Array, Array]:
    """All worlds [N] int32, those where pred holds first; and [n, how many those are, how many of
    them to a warp].
    """
    n = pred.shape[0]
    before = jnp.cumsum(pred, dtype=jnp.int32)
    every = jnp.arange(n, dtype=jnp.int32)
    place = jnp.where(pred, before - 1, before[-1] + every - before)
    worlds = jnp.zeros(n, jnp.int32).at[place].set(every, unique_indices=True)
    return worlds, jnp.stack([jnp.int32(n), before[-1], lanes(before[-1], n)])


def warps(n: int) -> int:
    """How many are started for n worlds: a thread each, or a team if all are in contact."""
    return -(-n // (BLOCK // TEAM))


def lanes(count: Array, n: int) -> Array:
    """[] How many of `count` worlds out of n share a warp."""
    return jnp.clip(-(-count // min(WARPS, warps(n))), 1, BLOCK // TEAM)


@cache
def program_text(branch: Branch) -> tuple[str, str]:
    """Name and text of the kernel. Its pointers: worlds, sizes, the leaves of x, of default, and of
    the result.
    """
    jaxpr, avals, types = branch.traced()
    name = branch.name
    program = Program()
    pointers = _Pointers(program)
    start = _Start(program, pointers)
    sources = [(pointers.next(), v.size) for v in avals]
    defaults = [(pointers.next(), size) for size, _ in types]
    targets = [(pointers.next(), size) for size, _ in types]

    def rows(arrays: list[tuple[Any, int]], world: Any) -> list[Any]:
        return [_row(program, base, world, size) for base, size in arrays]

    start.copies()
    world = start.world()
    copied = zip(rows(defaults, world), rows(targets, world), types, strict=True)
    for source, target, (size, dtype) in copied:
        for k in range(size):
            target.write(k, source.read(k, dtype))
    start.computes()
    world = start.world()
    args = []
    for row, aval in zip(rows(sources, world), avals, strict=True):
        numbers = [row.read(k, aval.dtype) for k in range(aval.size)]
        args.append(objects(numbers, aval.shape))
    scope = Scope(program)
    for target, values in zip(rows(targets, world), scope.run(jaxpr, args), strict=True):
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


def _row(program: Program, base: Register, world: Register, size: int) -> "_Row":
    """An array [N, size] at a world."""
    far = program.register(np.int64)
    row = program.register(np.int64)
    program.line(f"mul.wide.s32 {far.name}, {world.name}, {4 * size}")
    program.line(f"add.u64 {row.name}, {base.name}, {far.name}")
    return _Row(program, row)


class _Row:
    """One world's numbers in an array; bools are 0 or 1 there."""

    def __init__(self, program: Program, start: Register) -> None:
        self.program, self.start = program, start

    def read(self, k: int, dtype: Any) -> Register:
        """Number k."""
        out = self.program.register(np.int32 if np.dtype(dtype).kind == "b" else dtype)
        self.program.line(
            f"ld.global.{TYPES[out.dtype.name][0]} {out.name}, [{self.start.name}+{4 * k}]"
        )
        return out

    def write(self, k: int, x: Any) -> None:
        """Set number k."""
        if x.dtype == bool:
            x = (
                np.int32(x)
                if is_known(x)
                else self.program.emit("convert_element_type", [x], np.int32, {})
            )
        x = self.program.variable(x)
        self.program.line(
            f"st.global.{TYPES[x.dtype.name][0]} [{self.start.name}+{4 * k}], {x.name}"
        )


class _Start:
    """Which worlds a thread has: one to copy if it comes after those to compute, one to compute if
    its team does.
    """

    def __init__(self, program: Program, pointers: _Pointers) -> None:
        self.program = program
        self.lane = Register("%lane", np.int32)
        self.block, self.place = program.register(np.int32), program.register(np.int32)
        program.line(f"mov.u32 {self.block.name}, %ctaid.x")
        self.worlds, sizes = pointers.next(), pointers.next()
        self.n, self.count, self.lanes = (self._load(sizes, 4 * i) for i in range(3))

    def copies(self) -> None:
        """Where there is no default to copy, go on to `computes`."""
        program = self.program
        self.compute = self.program.label()
        program.line(f"mad.lo.s32 {self.place.name}, {self.block.name}, {BLOCK}, {self.lane.name}")
        program.branch(self.compute, program.emit("lt", [self.place, self.count], bool, {}))
        program.branch(self.compute, program.emit("ge", [self.place, self.n], bool, {}))

    def computes(self) -> None:
        """Where there is no world to compute, end."""
        program = self.program
        there = self.program.label()
        program.place(self.compute)
        team = program.emit("div", [self.lane, np.int32(TEAM)], np.int32, {})
        program.line(
            f"mad.lo.s32 {self.place.name}, {self.block.name}, {self.lanes.name}, {team.name}"
        )
        mine = [team, self.lanes], [self.place, self.count]
        program.branch(
            there, program.emit("and", [program.emit("lt", x, bool, {}) for x in mine], bool, {})
        )
        program.line("ret")
        program.place(there)

    def world(self) -> Register:
        """The one at this place."""
        at = self.program.register(np.int64)
        self.program.line(f"mul.wide.s32 {at.name}, {self.place.name}, 4")
        self.program.line(f"add.u64 {at.name}, {self.worlds.name}, {at.name}")
        return self._load(at, 0)

    def _load(self, at: Register, offset: int) -> Register:
        out = self.program.register(np.int32)
        self.program.line(f"ld.global.s32 {out.name}, [{at.name}+{offset}]")
        return out
