"""One flat batch, however worlds or members are stacked: for what wants to see all of them at
once.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

X = TypeVar("X")
Y = TypeVar("Y")


def one_batch(batched: Callable[[X], Y]) -> Callable[[X], Y]:
    """Make of `batched`, which maps leaves [N, ...] to leaves [N, ...], a function of one world or
    member.

    Under `jax.vmap`, nested as deep as you like, `batched` is called once with all of them along
    one axis. It may not close over traced values.
    """

    @custom_vmap
    def flat(x: X) -> Y:
        return batched(x)

    @flat.def_vmap
    def _rule(size: int, is_batched, x):  # noqa: ANN001, ANN202
        def full(leaf: Array, is_batched: bool) -> Array:
            return leaf if is_batched else jnp.broadcast_to(leaf, (size, *leaf.shape))

        x = jax.tree.map(full, x, is_batched[0])
        count = jax.tree.leaves(x)[0].shape[1]

        def merge(leaf: Array) -> Array:
            return leaf.reshape(size * count, *leaf.shape[2:])

        def split(leaf: Array) -> Array:
            return leaf.reshape(size, count, *leaf.shape[1:])

        out = jax.tree.map(split, flat(jax.tree.map(merge, x)))
        return out, jax.tree.map(lambda _: True, out)

    def single(x: X) -> Y:
        return jax.tree.map(
            lambda leaf: leaf[0], flat(jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], x))
        )

    return single
