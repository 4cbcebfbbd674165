"""The rules of a population as one program.

Every array belongs to ONE member and has a leading axis [m] over constraints; `jax.vmap` adds the
members. A member carries the numbers and the memory of every kind of rule that the population has,
and its own kind gives lambda.
"""

from collections import namedtuple
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from saddle.multipliers.rule import Rule


class Numbers(NamedTuple):
    """What tells members' rules apart, per member [], or [m] where there is one per constraint."""

    kind: Int[Array, "*M"]  # place of the member's rule among the kinds
    settings: tuple[Any, ...]
    """Of every kind: NamedTuples of numbers; a rule's defaults in members of other kinds."""


class Multiplier(NamedTuple):
    """State of any rule: `lam` is in force; every kind keeps its memory, and the member's own gives
    lambda.
    """

    lam: Float[Array, "*M m"]
    memories: tuple[Any, ...]  # of every kind


class Rules:
    """The kinds of rules in a population: `init` and `update` of whichever a member has."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.kinds: tuple[type[Rule], ...] = tuple(dict.fromkeys(type(rule) for rule in rules))
        self.numbers = Numbers(
            kind=jnp.asarray([self.kinds.index(type(rule)) for rule in rules], jnp.int32),
            settings=tuple(_columns(kind, rules) for kind in self.kinds),
        )
        """Of the members [M]."""

    def init(self, numbers: Numbers, constraints: int) -> Multiplier:
        """Every kind at its start."""
        memories = tuple(
            kind.start(settings, constraints)
            for kind, settings in zip(self.kinds, numbers.settings, strict=True)
        )
        return Multiplier(_own(numbers, memories), memories)

    def update(
        self,
        state: Multiplier,
        numbers: Numbers,
        cost: Float[Array, " m"],
        limit: Float[Array, " m"],
    ) -> Multiplier:
        """After an epoch. Without a finished episode (cost NaN) nothing moves."""
        seen = jnp.isfinite(cost).all()
        cost = jnp.where(seen, cost, 0.0)
        memories = []
        for kind, settings, memory in zip(
            self.kinds, numbers.settings, state.memories, strict=True
        ):
            memories.append(kind.update(memory, settings, cost, limit))
        after = Multiplier(_own(numbers, memories), tuple(memories))
        return jax.tree.map(lambda new, old: jnp.where(seen, new, old), after, state)


def _own(numbers: Numbers, memories: Sequence[Any]) -> Float[Array, " m"]:
    """Lambda of the member's own kind."""
    return jnp.stack([memory.lam for memory in memories])[numbers.kind]


def _columns(kind: type[Rule], rules: Sequence[Rule]) -> Any:
    """One kind's numbers as arrays [M]; members of other kinds have its defaults."""
    rows = [(rule if type(rule) is kind else kind()).numbers() for rule in rules]
    settings = namedtuple(f"{kind.__name__}Numbers", rows[0])  # type: ignore[misc]
    return settings(**{name: _array([row[name] for row in rows]) for name in rows[0]})


def _array(values: list[Any]) -> Array:
    """One number of every member [M], or [M, m] where a member has one for each constraint; 32 bits
    wide, or yes and no. Whole numbers are such where all members have them.
    """
    column = np.stack(np.broadcast_arrays(*values))
    dtype = {"b": np.bool_, "i": np.int32}.get(column.dtype.kind, np.float32)
    return jnp.asarray(column.astype(dtype))
