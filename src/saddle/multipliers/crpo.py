"""CRPO: the policy learns either reward or cost, whichever the last cost asks for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from saddle import palette
from saddle.checks import at_least, positive_and_finite
from saddle.errors import SaddleError
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from jax import Array


class Switched(NamedTuple):
    """What CRPO remembers: nothing but where the switch is."""

    lam: "Array"  # [m]


@dataclass(frozen=True)
class CRPO(Rule):
    """No price while the cost keeps a margin below the limit, the largest one beyond.

    Constraint-rectified policy optimisation (Xu, Liang and Lan, 2021) improves the reward alone, or
    lowers one violated constraint alone. Here both are multipliers that the learner sees: at 10 the
    cost has ten parts in eleven of the policy's step; of several violated constraints all are
    lowered at once. The switch is late, and costs swing about a place above it: with the margin
    that is below the limit.
    """

    name: ClassVar[str] = "crpo"
    label: ClassVar[str] = "CRPO"
    colour: ClassVar[str | None] = palette.VERMILLION
    marker: ClassVar[str | None] = "P"

    init: float | tuple[float, ...] = 0.0
    """Lambda before the first epoch: one number for every constraint, or one for each."""
    margin: float = 0.5
    """Share of the limit below which the switch is."""
    tolerance: float = 0.0
    """Cost above the switch that is let pass."""
    maximum: float = 10.0
    """Lambda beyond the switch and the tolerance."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, "margin", 0.0)
        if self.margin >= 1:
            raise SaddleError(
                f"margin is {self.margin}; it must be below 1, or nothing is left of the limit"
            )
        at_least(self, "tolerance", 0.0)
        positive_and_finite(self, "maximum")

    @staticmethod
    def start(numbers: Any, constraints: int) -> Switched:
        """Lambda at its start."""
        import jax.numpy as jnp

        return Switched(jnp.full(constraints, numbers.init))

    @staticmethod
    def update(memory: Switched, numbers: Any, cost: "Array", limit: "Array") -> Switched:
        """The switch, by the last cost alone."""
        import jax.numpy as jnp

        switch = (1 - numbers.margin) * limit + numbers.tolerance
        return Switched(jnp.where(cost > switch, numbers.maximum, 0.0))
