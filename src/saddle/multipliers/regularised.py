"""Regularised ascent: a step up the violation that forgets a little of lambda."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from saddle import palette
from saddle.checks import at_least
from saddle.errors import SaddleError
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from jax import Array


class Forgetting(NamedTuple):
    """What regularised ascent remembers."""

    lam: "Array"  # [m]


@dataclass(frozen=True)
class RegularisedAscent(Rule):
    """Lambda climbs J_C - d - tau lambda: ascent on the Lagrangian less tau lambda^2 / 2.

    The regularised primal-dual method (Ding et al., 2023) adds an entropy bonus to the policy as
    well, which is the learner's setting here. In exchange for settling where plain ascent circles,
    the cost settles tau lambda above the limit. Lambda is bounded by 0 alone.
    """

    name: ClassVar[str] = "regularised"
    label: ClassVar[str] = "regularised"
    colour: ClassVar[str | None] = palette.INDIGO
    marker: ClassVar[str | None] = "<"

    init: float | tuple[float, ...] = 1.0
    """Lambda before the first epoch: one number for every constraint, or one for each."""
    lr: float = 1e-3
    """Step size: lambda per unit of cost and epoch."""
    tau: float = 0.1
    """Cost above the limit for each unit of lambda, where training settles."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, "lr", 0.0)
        at_least(self, "tau", 0.0)
        if self.lr * self.tau > 1:
            raise SaddleError(
                f"lr * tau is {self.lr * self.tau:g}; it must be at most 1, or lambda forgets more "
                f"than it has: lower lr or tau"
            )

    @staticmethod
    def start(numbers: Any, constraints: int) -> Forgetting:
        """Lambda at its start."""
        import jax.numpy as jnp

        return Forgetting(jnp.full(constraints, numbers.init))

    @staticmethod
    def update(memory: Forgetting, numbers: Any, cost: "Array", limit: "Array") -> Forgetting:
        """One step up the violation from a lambda that lost its share lr * tau, never below 0."""
        import jax.numpy as jnp

        kept = (1 - numbers.lr * numbers.tau) * memory.lam
        return Forgetting(jnp.maximum(0.0, kept + numbers.lr * (cost - limit)))
