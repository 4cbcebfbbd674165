"""Lambda is an input of the policy, drawn anew for every episode: no rule moves it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from tyro.conf import Suppress

from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from jax import Array


class Drawn(NamedTuple):
    """What is remembered of multipliers that episodes have of their own: nothing."""

    lam: "Array"  # [m], NaN


@dataclass(frozen=True)
class Dial(Rule):
    """Every episode has a lambda of its own, which the policy is told."""

    name: ClassVar[str] = "dial"
    label: ClassVar[str] = "dial"
    drawn: ClassVar[bool] = True

    init: Annotated[float | tuple[float, ...], Suppress] = 1.0
    """Not used: the learner's settings have the range that lambda is drawn from."""

    @staticmethod
    def start(numbers: Any, constraints: int) -> Drawn:
        """No lambda."""
        import jax.numpy as jnp

        return Drawn(jnp.full(constraints, jnp.nan))

    @staticmethod
    def update(memory: Drawn, numbers: Any, cost: "Array", limit: "Array") -> Drawn:
        """Nothing moves."""
        return memory
