"""A population's members spread over the cores of a CPU.

XLA gives a program of small networks little more than one core. So JAX is told to see every core as
a device, and members, who share nothing, are dealt out to these: each runs the same program for its
share of them. An accelerator takes all members at once, as ever.

Nothing here may need what another core has: where XLA lets cores of a busy machine wait for each
other, it ends the process. So whoever wants a member of arrays that are spread asks `Cores.member`;
indexing them is such a program.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

AXIS = "members"
SHARED = Spec()
"""What all members have in common."""
BY_MEMBER = Spec(AXIS)
"""[M, ...], or [M * W, ...] with the worlds of a member in a row."""
BY_STEP = Spec(None, AXIS)
"""[T, M, ...]."""


class Cores:
    """How so many members are spread.

    Every core has as many of them: the first ones are repeated at the end until that is so, which
    costs no time, since a core would rest instead. `padded` counts them all.
    """

    def __init__(self, members: int, most: int | None = None, *, pad: bool = True) -> None:
        """most: cores to use at most, all of them unless given. Where members are not to be
        repeated, so few that every core has as many all the same.
        """
        devices = jax.devices() if jax.default_backend() == "cpu" else jax.devices()[:1]
        share = math.ceil(members / len(devices[:most]))
        while not pad and members % share:
            share += 1
        self.members = members
        self.share = share
        """Members of each core."""
        self.count = math.ceil(members / share)
        """Of cores."""
        self.padded = share * self.count
        self._mesh = Mesh(np.array(devices[: self.count]), (AXIS,))

    def split(self, function: Callable, inputs: Any, outputs: Any) -> Callable:
        """A function of stacked members that every core runs for its own. inputs: how each of its
        arguments is spread; outputs: how what it returns is.
        """
        if self.count == 1:
            return function
        return jax.shard_map(
            function, mesh=self._mesh, in_specs=inputs, out_specs=outputs, check_vma=False
        )

    def pad(self, tree: Any) -> Any:
        """[M, ...] -> [padded, ...]: the first members again, at the end."""
        return jax.tree.map(self._pad, tree)

    def strip(self, tree: Any) -> Any:
        """[padded, ...] -> [M, ...]: without those that are there twice."""
        return jax.tree.map(self._strip, tree)

    def place(self, tree: Any, specs: Any) -> Any:
        """Arrays where the programs of `split` want them."""
        if self.count == 1:
            return tree
        shardings = jax.tree.map(
            lambda spec: NamedSharding(self._mesh, spec),
            specs,
            is_leaf=lambda node: isinstance(node, Spec),
        )
        return jax.device_put(tree, shardings)

    def gather(self, tree: Any) -> Any:
        """Arrays on the first core, for programs that are not spread."""
        if self.count == 1:
            return tree
        return jax.device_put(tree, self._mesh.devices[0])

    def member(self, tree: Any, i: int) -> Any:
        """[padded, ...] -> [...] of member i, taken from its core."""
        core, place = divmod(i, self.share)
        return jax.tree.map(lambda leaf: leaf.addressable_shards[core].data[place], tree)

    def _pad(self, leaf: Any) -> Any:
        if self.padded == self.members or leaf.ndim == 0:
            return leaf
        each = leaf.shape[0] // self.members
        return jnp.concatenate([leaf, leaf[: each * (self.padded - self.members)]])

    def _strip(self, leaf: Any) -> Any:
        if self.padded == self.members or leaf.ndim == 0:
            return leaf
        return leaf[: leaf.shape[0] // self.padded * self.members]
