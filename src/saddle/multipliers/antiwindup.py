"""A PID controller whose error has no scale, and whose integral does not wind up."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from saddle import palette
from saddle.checks import at_least, positive_and_finite
from saddle.errors import SaddleError
from saddle.multipliers.rule import Rule, as_share

if TYPE_CHECKING:
    from jax import Array


class Unwound(NamedTuple):
    """What the controller remembers."""

    lam: "Array"  # [m]
    integral: "Array"  # [m]
    error: "Array"  # [m], smoothed
    count: "Array"  # [] int32, updates so far


@dataclass(frozen=True)
class AntiWindupPID(Rule):
    """Lambda is a PID controller's answer to the error (J_C - d) / d, which is bounded above.

    A cost of 0 pulls with -1, one of four times the limit or more with 3, at every limit and in
    every task: a cost cannot be as far below the limit as above it, and a bound of 1 would weigh an
    epoch far above it no more than one without cost. The integral stops while lambda is at 0 or at
    its maximum and the error would push it further (conditional integration), so that it has
    nothing to unlearn when the error turns.
    """

    name: ClassVar[str] = "antiwindup"
    label: ClassVar[str] = "PID anti-windup"
    colour: ClassVar[str | None] = palette.INK
    marker: ClassVar[str | None] = "h"
    positive_limits: ClassVar[bool] = True

    init: float | tuple[float, ...] = 1.0
    """Integral before the first epoch: one number for every constraint, or one for each."""
    kp: float = 0.5
    """Gain of the smoothed error."""
    ki: float = 0.03
    """Gain of the summed error: lambda an epoch at a cost of twice the limit."""
    kd: float = 1.0
    """Gain of the smoothed error's change since the epoch before."""
    ema: float = 0.8
    """Weight of the past in the smoothed error."""
    bound: float = 3.0
    """Largest error: that of a cost of 1 + bound times the limit."""
    maximum: float = 100.0
    """Largest lambda."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("kp", "ki", "kd", "ema"):
            at_least(self, field, 0.0)
        positive_and_finite(self, "bound")
        positive_and_finite(self, "maximum")
        if self.ema >= 1:
            raise SaddleError(f"ema is {self.ema}; it must be below 1, or nothing new is ever seen")

    @staticmethod
    def start(numbers: Any, constraints: int) -> Unwound:
        """The integral at its start, nothing seen."""
        import jax.numpy as jnp

        lam = jnp.full(constraints, numbers.init)
        return Unwound(lam, lam, jnp.zeros(constraints), jnp.zeros((), jnp.int32))

    @staticmethod
    def update(memory: Unwound, numbers: Any, cost: "Array", limit: "Array") -> Unwound:
        """Lambda = K_P error + integral + K_D change of the error, within [0, maximum]."""
        import jax.numpy as jnp

        error = jnp.clip(as_share(cost - limit, limit), -1.0, numbers.bound)
        before = jnp.where(memory.count == 0, error, memory.error)
        smooth = numbers.ema * before + (1 - numbers.ema) * error
        rest = numbers.kp * smooth + numbers.kd * (smooth - before)
        summed = memory.integral + numbers.ki * error
        wanted = rest + summed
        winds_up = (wanted > numbers.maximum) & (error > 0)
        winds_down = (wanted < 0) & (error < 0)
        integral = jnp.where(winds_up | winds_down, memory.integral, summed)
        lam = jnp.clip(rest + integral, 0.0, numbers.maximum)
        return Unwound(lam, integral, smooth, memory.count + 1)
