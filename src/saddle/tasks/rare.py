"""Rare branches in a batch of worlds, paid for only by the worlds that take them.

Under `jax.vmap` a `lax.cond` becomes a select: every world pays for both branches. Contacts and resets are rare and
dear, so here the worlds that need one are gathered into small chunks, computed, and scattered back.
"""

import warnings
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from saddle.batch import one_batch
from saddle.tasks.kernel import call, native

X = TypeVar("X")
Y = TypeVar("Y")

# Into how many chunks the worlds are cut. A CPU pays for every world of a chunk, needed or not; a GPU, for every chunk.
CHUNKS = {"cpu": 32}
GPU_CHUNKS = 8
SMALLEST = 16  # below this many worlds a chunk is not worth splitting further


def patch_rare(rare: Callable[[X], Y], pred: Array, x: X, default: Y, kernel: bool = False) -> Y:
    """`rare(x)` where `pred` holds, `default` elsewhere.

    For one world: pred [] bool, x and default without batch axis; vmap (nested as deep as you like) does the rest.
    `rare` itself is batched: it maps leaves [K, ...] to leaves [K, ...], and may not close over traced values.
    With `kernel`, `rare` becomes machine code of its own (saddle.tasks.kernel): on a GPU one kernel with a world per
    thread, on a CPU a loop over worlds.
    """

    def batched(args: tuple[Array, X, Y]) -> Y:
        pred, x, default = args
        backend = {"gpu": call, "cpu": native}.get(jax.default_backend()) if kernel else None
        if backend is not None and backend.fits(x, default):
            try:
                return backend.patch(rare, pred, x, default)
            except NotImplementedError as missing:  # a JAX whose traces hold what the kernel does not know yet
                warnings.warn(f"{missing}: {rare.__name__} runs without one, many times slower", stacklevel=2)
        return _patch(rare, pred, x, default)

    return one_batch(batched)((pred, x, default))


def _patch(rare: Callable[[X], Y], pred: Array, x: X, default: Y) -> Y:
    """The batched form: pred [N], leaves of x and default [N, ...]."""
    n = pred.shape[0]
    chunks = CHUNKS.get(jax.default_backend(), GPU_CHUNKS)
    chunk = min(n, max(SMALLEST, -(-n // chunks)))
    padded = -(-n // chunk) * chunk
    worlds = jnp.nonzero(pred, size=padded, fill_value=n)[0]  # the worlds that need it, then n as "none"
    count = jnp.sum(pred)

    def more(carry: tuple[Array, Y]) -> Array:
        return carry[0] < count

    def one_chunk(carry: tuple[Array, Y]) -> tuple[Array, Y]:
        start, out = carry
        ids = jax.lax.dynamic_slice(worlds, (start,), (chunk,))
        picked = jax.tree.map(lambda leaf: leaf[jnp.minimum(ids, n - 1)], x)
        put = lambda leaf, new: leaf.at[ids].set(new, mode="drop")
        return start + chunk, jax.tree.map(put, out, rare(picked))

    return jax.lax.while_loop(more, one_chunk, (jnp.zeros((), worlds.dtype), default))[1]
