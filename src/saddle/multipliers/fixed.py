"""Lambda stays where it is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from saddle import palette
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from jax import Array


class Constant(NamedTuple):
    """What a fixed lambda remembers."""

    lam: "Array"  # [m]


@dataclass(frozen=True)
class Fixed(Rule):
    """Lambda stays where it is."""

    name: ClassVar[str] = "fixed"
    label: ClassVar[str] = "fixed λ*"
    colour: ClassVar[str | None] = palette.GREEN
    marker: ClassVar[str | None] = "s"

    init: float | tuple[float, ...] = 1.0
    """Lambda: one number for every constraint, or one for each."""

    @staticmethod
    def start(numbers: Any, constraints: int) -> Constant:
        """Lambda of every constraint."""
        import jax.numpy as jnp

        return Constant(jnp.full(constraints, numbers.init))

    @staticmethod
    def update(memory: Constant, numbers: Any, cost: "Array", limit: "Array") -> Constant:
        """Nothing moves."""
        return memory
