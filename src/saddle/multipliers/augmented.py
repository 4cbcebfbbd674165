"""Augmented Lagrangian: a multiplier that climbs the violation, and a penalty on it that grows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from saddle import palette
from saddle.checks import at_least, not_below, positive_and_finite
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from jax import Array


class Penalised(NamedTuple):
    """What the augmented Lagrangian remembers."""

    lam: "Array"  # [m], what the policy meets: multiplier and penalty together
    multiplier: "Array"  # [m]
    rho: "Array"  # [], the penalty's weight


@dataclass(frozen=True)
class AugmentedLagrangian(Rule):
    """Lambda is a multiplier plus rho times the violation J_C - d; the multiplier climbs with the
    same rho, which grows.

    The method of multipliers (Hestenes, Powell, Rockafellar) solves for the policy to the end
    before each step of the multiplier; here one epoch of learning lies between two steps.
    """

    name: ClassVar[str] = "augmented"
    label: ClassVar[str] = "augmented"
    colour: ClassVar[str | None] = palette.ORANGE
    marker: ClassVar[str | None] = "o"

    init: float | tuple[float, ...] = 1.0
    """Multiplier before the first epoch: one number for every constraint, or one for each."""
    rho: float = 1e-3
    """Weight of the penalty at the start, and the multiplier's step: lambda per unit of cost."""
    growth: float = 1.005
    """Factor on rho after each epoch."""
    rho_max: float = 0.01
    """Largest rho."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_and_finite(self, "rho")
        at_least(self, "growth", 1.0)
        not_below(self, "rho_max", "rho")

    @staticmethod
    def start(numbers: Any, constraints: int) -> Penalised:
        """The multiplier at its start, without a penalty."""
        import jax.numpy as jnp

        lam = jnp.full(constraints, numbers.init)
        return Penalised(lam, lam, jnp.asarray(numbers.rho))

    @staticmethod
    def update(memory: Penalised, numbers: Any, cost: "Array", limit: "Array") -> Penalised:
        """One step of the multiplier; the policy meets it with the penalty at the same violation.

        That is the slope of max(0, multiplier + rho violation)^2 / (2 rho) along the cost.
        """
        import jax.numpy as jnp

        violation = cost - limit
        multiplier = jnp.maximum(0.0, memory.multiplier + memory.rho * violation)
        lam = jnp.maximum(0.0, multiplier + memory.rho * violation)
        rho = jnp.minimum(numbers.growth * memory.rho, numbers.rho_max)
        return Penalised(lam, multiplier, rho)
