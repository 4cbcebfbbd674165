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
from saddle.accelerate.compiler.known import is_known, objects
from saddle.accelerate.compiler.ptx import TEAM, TYPES, Program
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
    leaves, tree = jax.tree.flatten(default)
    defaults = [_words(leaf).reshape(n, -1) for leaf in leaves]
    name, text = program_text(Branch.of(rare, x, default))
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in defaults]
    run = launch(name, text, (warps(n), 1, 1), BLOCK, shapes)
    results = []
    for found, leaf in zip(run(*order(pred), *inputs, *defaults), leaves, strict=True):
        results.append(found.reshape(leaf.shape).astype(leaf.dtype))
    return jax.tree.unflatten(tree, results)


def _words(leaf: Array) -> Array:
    """Numbers as the kernel holds them: 0 or 1 for bools."""
    return leaf.astype(jnp.int32) if leaf.dtype == bool else leaf


@cache
def prove(branch: Branch) -> None:
    """Run the kernel on one world, which keeps its default; raises where that fails.

    The driver assembles a kernel when its program first runs, which is too late to do without it.
    """
    program_text(branch)  # as it comes out in the program that is being traced
    zeros = [np.zeros(leaf.shape, leaf.dtype) for leaf in branch.arguments]
    x = jax.tree.unflatten(branch.tree, zeros)
    default = [np.zeros((1, size), dtype) for size, dtype in branch.results]
    run = jax.jit(partial(patch, branch.function))
    untraced(lambda: jax.block_until_ready(run(np.zeros(1, bool), x, default)))


def order(pred: Array) -> tuple[Array, Array]:
    """All worlds [N] int32, those where pred holds first; and [n, how many those are, how many of
    them to a warp].
    """
    n = pred.shape[0]
    so_far = jnp.cumsum(pred, dtype=jnp.int32)
    every = jnp.arange(n, dtype=jnp.int32)
    place = jnp.where(pred, so_far - 1, so_far[-1] + every - so_far)
    worlds = jnp.zeros(n, jnp.int32).at[place].set(every, unique_indices=True)
    return worlds, jnp.stack([jnp.int32(n), so_far[-1], lanes(so_far[-1], n)])


def warps(n: int) -> int:
    """How many are started for n worlds: a thread each, or a team if all are in contact."""
    return -(-n // (BLOCK // TEAM))


def lanes(count: Array, n: int) -> Array:
    """[] How many of `count` worlds out of n share a warp."""
    wanted = -(-count // min(WARPS, warps(n)))
    return jnp.clip(wanted, 1, BLOCK // TEAM)


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
    sources = [_Array(program, pointers.next(), aval.size) for aval in avals]
    defaults = [_Array(program, pointers.next(), size) for size, _ in types]
    targets = [_Array(program, pointers.next(), size) for size, _ in types]

    start.copies()
    world = start.world()
    from_rows = [array.row(world) for array in defaults]
    to_rows = [array.row(world) for array in targets]
    for source, target, (size, dtype) in zip(from_rows, to_rows, types, strict=True):
        for k in range(size):
            target.write(k, source.read(k, dtype))

    start.computes()
    world = start.world()
    from_rows = [array.row(world) for array in sources]
    args = []
    for row, aval in zip(from_rows, avals, strict=True):
        numbers = [row.read(k, aval.dtype) for k in range(aval.size)]
        args.append(objects(numbers, aval.shape))
    to_rows = [array.row(world) for array in targets]
    scope = Scope(program)
    for target, values in zip(to_rows, scope.run(jaxpr, args), strict=True):
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


class _Array:
    """An array [N, size] in memory, from `base` on."""

    def __init__(self, program: Program, base: Register, size: int) -> None:
        self.program = program
        self.base = base
        self.size = size

    def row(self, world: Register) -> "_Row":
        """The numbers of one world."""
        far = self.program.register(np.int64)
        row = self.program.register(np.int64)
        self.program.line(f"mul.wide.s32 {far.name}, {world.name}, {4 * self.size}")
        self.program.line(f"add.u64 {row.name}, {self.base.name}, {far.name}")
        return _Row(self.program, row)


class _Row:
    """One world's numbers in an array; bools are 0 or 1 there."""

    def __init__(self, program: Program, start: Register) -> None:
        self.program = program
        self.start = start

    def read(self, k: int, dtype: Any) -> Register:
        """Number k."""
        out = self.program.register(np.int32 if np.dtype(dtype).kind == "b" else dtype)
        kind = TYPES[out.dtype.name][0]
        self.program.line(f"ld.global.{kind} {out.name}, {self._place(k)}")
        return out

    def write(self, k: int, x: Any) -> None:
        """Set number k."""
        x = self.program.variable(self._word(x))
        kind = TYPES[x.dtype.name][0]
        self.program.line(f"st.global.{kind} {self._place(k)}, {x.name}")

    def _place(self, k: int) -> str:
        return f"[{self.start.name}+{4 * k}]"

    def _word(self, x: Any) -> Any:
        if x.dtype != bool:
            return x
        if is_known(x):
            return np.int32(x)
        return self.program.emit("convert_element_type", [x], np.int32, {})


class _Start:
    """Which worlds a thread has: one to copy if it comes after those to compute, one to compute if
    its team does.
    """

    def __init__(self, program: Program, pointers: _Pointers) -> None:
        self.program = program
        self.lane = Register("%lane", np.int32)
        self.block = program.register(np.int32)
        self.place = program.register(np.int32)
        program.line(f"mov.u32 {self.block.name}, %ctaid.x")
        self.worlds = pointers.next()
        sizes = pointers.next()
        self.n = self._load(sizes, 0)
        self.count = self._load(sizes, 4)
        self.lanes = self._load(sizes, 8)

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
        there = program.label()
        program.place(self.compute)
        team = program.emit("div", [self.lane, np.int32(TEAM)], np.int32, {})
        program.line(
            f"mad.lo.s32 {self.place.name}, {self.block.name}, {self.lanes.name}, {team.name}"
        )
        is_team = program.emit("lt", [team, self.lanes], bool, {})
        is_world = program.emit("lt", [self.place, self.count], bool, {})
        program.branch(there, program.emit("and", [is_team, is_world], bool, {}))
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
