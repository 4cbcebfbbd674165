"""Gradient ascent on lambda: a step up the violation, by Adam or plain."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from saddle import palette
from saddle.adam import BETA_1, BETA_2, EPSILON
from saddle.checks import at_least
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from jax import Array


class Ascent(NamedTuple):
    """What gradient ascent remembers."""

    lam: "Array"  # [m]
    mu: "Array"  # [m], Adam's first moment
    nu: "Array"  # [m], Adam's second moment
    count: "Array"  # [] int32, updates so far


@dataclass(frozen=True)
class GradientAscent(Rule):
    """Lambda climbs the violation J_C - d, once an epoch."""

    name: ClassVar[str] = "ga"
    label: ClassVar[str] = "GA"
    colour: ClassVar[str | None] = palette.BLUE
    marker: ClassVar[str | None] = "^"
    rates: ClassVar[tuple[str, ...]] = ("lr",)

    init: float | tuple[float, ...] = 1.0
    """Lambda before the first epoch: one number for every constraint, or one for each."""
    lr: float = 0.035
    """Step size: of Adam, whose steps do not grow with the violation, or of plain ascent."""
    optimizer: Literal["adam", "plain"] = "adam"
    """'adam' as published; 'plain' is lambda <- max(0, lambda + lr * violation)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, "lr", 0.0)

    def numbers(self) -> dict[str, float | int | bool | tuple[float, ...]]:
        """The settings, with the optimizer as a yes or no."""
        return {"init": self.init, "lr": self.lr, "adam": self.optimizer == "adam"}

    @staticmethod
    def start(numbers: Any, constraints: int) -> Ascent:
        """Lambda at its start, Adam without memory."""
        import jax.numpy as jnp

        lam = jnp.full(constraints, numbers.init)
        return Ascent(lam, jnp.zeros(constraints), jnp.zeros(constraints), jnp.zeros((), jnp.int32))

    @staticmethod
    def update(memory: Ascent, numbers: Any, cost: "Array", limit: "Array") -> Ascent:
        """One step up the violation, never below 0."""
        import jax.numpy as jnp

        violation = cost - limit
        count = memory.count + 1
        mu = BETA_1 * memory.mu + (1 - BETA_1) * violation
        nu = BETA_2 * memory.nu + (1 - BETA_2) * violation**2
        step = (mu / (1 - BETA_1**count)) / (jnp.sqrt(nu / (1 - BETA_2**count)) + EPSILON)
        lam = memory.lam + numbers.lr * jnp.where(numbers.adam, step, violation)
        return Ascent(jnp.maximum(0.0, lam), mu, nu, count)
