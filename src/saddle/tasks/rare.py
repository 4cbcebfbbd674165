"""Rare branches in a batch of worlds, paid for only by the worlds that take them.

Under `jax.vmap` a `lax.cond` becomes a select: every world pays for both branches. Contacts and
resets are rare and dear, so here the worlds that need one are gathered into small chunks, computed,
and scattered back.
"""

import functools
import math
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from saddle.accelerate import cpu_kernel, gate, gpu_kernel
from saddle.accelerate.compiler.branch import Branch
from saddle.accelerate.probe import Kind
from saddle.batch import one_batch

X = TypeVar("X")
Y = TypeVar("Y")

# Into how many chunks the worlds are cut. A CPU pays for every world of a chunk, needed or not; a
# GPU, for every chunk, and for every question whether there is another one. So there a small chunk
# is computed without asking.
CHUNKS = {"cpu": 32}
GPU_CHUNKS, GPU_FIRST = 8, 64
KERNELS: dict[Kind, ModuleType] = {"llvm": cpu_kernel, "ptx": gpu_kernel}
SMALLEST = 16  # below this many worlds a chunk is not worth splitting further


def patch_rare(
    rare: Callable[[X], Y],
    pred: Array,
    x: X,
    default: Y,
    kernel: bool = False,
    seldom: bool = False,
) -> Y:
    """`rare(x)` where `pred` holds, `default` elsewhere.

    For one world: pred [] bool, x and default without batch axis; vmap (nested as deep as you like)
    does the rest. `rare` itself is batched: it maps leaves [K, ...] to leaves [K, ...], and may not
    close over traced values. With `kernel`, `rare` becomes machine code of its own
    (saddle.accelerate) where the gate allows it: on a GPU one kernel with a world per thread, on a
    CPU a loop over worlds. With `seldom`, no world at all needs it most of the time: then a GPU
    asks before it computes anything.
    """

    def batched(args: tuple[Array, X, Y]) -> Y:
        if kernel:
            return _in_kernel(rare, *args)
        return _patch(rare, *args, seldom=seldom)

    return one_batch(batched)((pred, x, default))


def _in_kernel(rare: Callable[[X], Y], pred: Array, x: X, default: Y) -> Y:
    """The batched form by a kernel, or without one where none can hold it or the gate says no."""
    for kind, backend in KERNELS.items():
        if gate.allows(kind) and backend.fits(x, default):
            return gate.attempt(
                kind,
                rare.__name__,
                kernel=functools.partial(_by, backend, rare, pred, x, default),
                plain=functools.partial(_patch, rare, pred, x, default),
            )
    return _patch(rare, pred, x, default)


def _by(backend: ModuleType, rare: Callable[[X], Y], pred: Array, x: X, default: Y) -> Y:
    backend.prove(Branch.of(rare, x, default))
    return backend.patch(rare, pred, x, default)


def _patch(rare: Callable[[X], Y], pred: Array, x: X, default: Y, seldom: bool = False) -> Y:
    """The batched form: pred [N], leaves of x and default [N, ...]."""
    n = pred.shape[0]
    backend = jax.default_backend()

    def size(chunks: int) -> int:
        return min(n, max(SMALLEST, math.ceil(n / chunks)))

    asks_first = backend in CHUNKS or seldom
    chunk = size(CHUNKS.get(backend, GPU_CHUNKS))
    first = 0 if asks_first else size(GPU_FIRST)
    room = first + math.ceil(n / chunk) * chunk
    (worlds,) = jnp.nonzero(pred, size=room, fill_value=n)  # who needs it, then n as "none"
    count = jnp.sum(pred)

    def next_chunk(start: Array, out: Y, chunk: int) -> tuple[Array, Y]:
        ids = jax.lax.dynamic_slice(worlds, (start,), (chunk,))
        picked = jax.tree.map(lambda leaf: leaf[jnp.minimum(ids, n - 1)], x)

        def put(leaf: Array, new: Array) -> Array:
            return leaf.at[ids].set(new, mode="drop")

        return start + chunk, jax.tree.map(put, out, rare(picked))

    begin = (jnp.zeros((), worlds.dtype), default)
    if chunk == n and not first:
        # XLA would see that a loop always picks the same worlds, and compute them before it asks.
        return jax.lax.cond(count > 0, lambda: next_chunk(*begin, chunk)[1], lambda: default)
    begin = next_chunk(*begin, first) if first else begin
    return jax.lax.while_loop(
        lambda carry: carry[0] < count, lambda carry: next_chunk(*carry, chunk), begin
    )[1]
