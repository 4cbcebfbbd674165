"""Multiplicative ascent: the logarithm of lambda climbs the violation, as a share of the limit."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from saddle import palette
from saddle.checks import at_least, not_below, positive_and_finite
from saddle.errors import SaddleError
from saddle.multipliers.rule import Rule, as_share

if TYPE_CHECKING:
    from jax import Array


class Logarithmic(NamedTuple):
    """What multiplicative ascent remembers."""

    lam: "Array"  # [m]


@dataclass(frozen=True)
class MultiplicativeAscent(Rule):
    """The logarithm of lambda climbs (J_C - d) / d, once an epoch.

    That is mirror ascent with the entropy as its distance, in other words exponentiated gradient:
    lambda moves by a share of itself, so that large ones are reached as easily as small ones. From
    0 it would never leave, so it stays between two ends.
    """

    name: ClassVar[str] = "multiplicative"
    label: ClassVar[str] = "multiplicative"
    colour: ClassVar[str | None] = palette.WINE
    marker: ClassVar[str | None] = ">"
    positive_limits: ClassVar[bool] = True

    init: float | tuple[float, ...] = 1.0
    """Lambda before the first epoch: one number for every constraint, or one for each."""
    lr: float = 0.01
    """Step size: change of log lambda an epoch at a cost of twice the limit."""
    minimum: float = 1e-3
    """Smallest lambda."""
    maximum: float = 100.0
    """Largest lambda."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, "lr", 0.0)
        positive_and_finite(self, "minimum")
        not_below(self, "maximum", "minimum")
        for number in self.init if isinstance(self.init, tuple) else (self.init,):
            if not self.minimum <= number <= self.maximum:
                raise SaddleError(
                    f"init is {self.init}; it must lie between minimum and maximum, "
                    f"{self.minimum:g} and {self.maximum:g}"
                )

    @staticmethod
    def start(numbers: Any, constraints: int) -> Logarithmic:
        """Lambda at its start."""
        import jax.numpy as jnp

        return Logarithmic(jnp.full(constraints, numbers.init))

    @staticmethod
    def update(memory: Logarithmic, numbers: Any, cost: "Array", limit: "Array") -> Logarithmic:
        """One step of log lambda, between the two ends."""
        import jax.numpy as jnp

        log_lam = jnp.log(memory.lam) + numbers.lr * as_share(cost - limit, limit)
        low, high = jnp.log(numbers.minimum), jnp.log(numbers.maximum)
        return Logarithmic(jnp.exp(jnp.clip(log_lam, low, high)))
