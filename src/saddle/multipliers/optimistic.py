"""Optimistic ascent: a step up the violation that expects its last change again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from saddle import palette
from saddle.checks import at_least
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from jax import Array


class Expecting(NamedTuple):
    """What optimistic ascent remembers."""

    lam: "Array"  # [m]
    violation: "Array"  # [m], of the epoch before
    count: "Array"  # [] int32, updates so far


@dataclass(frozen=True)
class OptimisticAscent(Rule):
    """Lambda climbs 2 xi - (xi of the epoch before), with xi = J_C - d: the violation as it will be
    if it goes on changing as it did.

    ReLOAD (Moskovitz et al., 2023) takes optimistic steps of policy and multiplier both; the
    policy's are the learner's own here. The first step is a plain one.
    """

    name: ClassVar[str] = "optimistic"
    label: ClassVar[str] = "optimistic"
    colour: ClassVar[str | None] = palette.SKY_BLUE
    marker: ClassVar[str | None] = "v"

    init: float | tuple[float, ...] = 1.0
    """Lambda before the first epoch: one number for every constraint, or one for each."""
    lr: float = 1e-3
    """Step size: lambda per unit of cost and epoch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, "lr", 0.0)

    @staticmethod
    def start(numbers: Any, constraints: int) -> Expecting:
        """Lambda at its start, nothing seen."""
        import jax.numpy as jnp

        lam = jnp.full(constraints, numbers.init)
        return Expecting(lam, jnp.zeros(constraints), jnp.zeros((), jnp.int32))

    @staticmethod
    def update(memory: Expecting, numbers: Any, cost: "Array", limit: "Array") -> Expecting:
        """One step up the expected violation, never below 0."""
        import jax.numpy as jnp

        violation = cost - limit
        before = jnp.where(memory.count == 0, violation, memory.violation)
        lam = memory.lam + numbers.lr * (2 * violation - before)
        return Expecting(jnp.maximum(0.0, lam), violation, memory.count + 1)
