"""Lambda as a PID controller's answer to the violation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from saddle import palette
from saddle.checks import at_least
from saddle.errors import SaddleError
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from jax import Array

HISTORY = 32  # smoothed costs that are remembered, and so the longest delay


class Controller(NamedTuple):
    """What PID remembers."""

    lam: "Array"  # [m]
    integral: "Array"  # [m]
    violation: "Array"  # [m], smoothed J_C - d
    cost: "Array"  # [m], smoothed J_C
    history: "Array"  # [HISTORY, m], smoothed costs, entry k % HISTORY from update k
    count: "Array"  # [] int32, updates so far


@dataclass(frozen=True)
class PID(Rule):
    """Lambda is a PID controller's answer to the violation J_C - d, once an epoch."""

    name: ClassVar[str] = "pid"
    label: ClassVar[str] = "PID"
    colour: ClassVar[str | None] = palette.PURPLE
    marker: ClassVar[str | None] = "D"
    rates: ClassVar[tuple[str, ...]] = ("ki",)

    init: float | tuple[float, ...] = 1.0
    """Integral before the first epoch: one number for every constraint, or one for each."""
    kp: float = 1e-4
    """Gain of the smoothed violation."""
    ki: float = 1e-4
    """Gain of the summed violation, which never falls below 0."""
    kd: float = 0.0
    """Gain of the rise of the smoothed cost over `delay` epochs."""
    ema_p: float = 0.95
    """Weight of the past in the smoothed violation."""
    ema_d: float = 0.95
    """Weight of the past in the smoothed cost."""
    delay: int = 10
    """Epochs over which the derivative looks back, 1 to 32."""
    maximum: float = 100.0
    """Largest lambda."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("kp", "ki", "kd", "ema_p", "ema_d", "maximum"):
            at_least(self, field, 0.0)
        for field in ("ema_p", "ema_d"):
            if getattr(self, field) >= 1:
                raise SaddleError(
                    f"{field} is {getattr(self, field)}; it must be below 1, or nothing new is "
                    f"ever seen"
                )
        if not 1 <= self.delay <= HISTORY:
            raise SaddleError(f"delay is {self.delay}; it must be between 1 and {HISTORY} epochs")

    @staticmethod
    def start(numbers: Any, constraints: int) -> Controller:
        """The integral at its start, nothing seen."""
        import jax.numpy as jnp

        lam = jnp.full(constraints, numbers.init)
        nothing = jnp.zeros(constraints)
        history = jnp.zeros((HISTORY, constraints))
        return Controller(lam, lam, nothing, nothing, history, jnp.zeros((), jnp.int32))

    @staticmethod
    def update(memory: Controller, numbers: Any, cost: "Array", limit: "Array") -> Controller:
        """Lambda = K_P smoothed violation + integral + K_D rise of the smoothed cost, within [0,
        maximum].
        """
        import jax.numpy as jnp

        violation = cost - limit
        integral = jnp.maximum(0.0, memory.integral + numbers.ki * violation)
        smooth = numbers.ema_p * memory.violation + (1 - numbers.ema_p) * violation
        smooth_cost = numbers.ema_d * memory.cost + (1 - numbers.ema_d) * cost
        # Zeros until `delay` updates were made
        before = memory.history[(memory.count - numbers.delay) % HISTORY]
        rise = jnp.maximum(0.0, smooth_cost - before)
        lam = jnp.clip(numbers.kp * smooth + integral + numbers.kd * rise, 0.0, numbers.maximum)
        history = memory.history.at[memory.count % HISTORY].set(smooth_cost)
        return Controller(lam, integral, smooth, smooth_cost, history, memory.count + 1)
