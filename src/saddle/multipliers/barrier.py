"""Log barrier: lambda is the slope of a wall that stands before the limit."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from saddle import palette
from saddle.checks import at_least, not_below, positive_and_finite
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from jax import Array


class Wall(NamedTuple):
    """What the log barrier remembers."""

    lam: "Array"  # [m]
    t: "Array"  # [], how sharp the wall is


@dataclass(frozen=True)
class LogBarrier(Rule):
    """Lambda is 1 / (t (d - J_C)), the slope of -log(d - J_C) / t; beyond the limit it is the
    largest one.

    An interior-point method (IPO: Liu, Ding and Liu, 2020) is defined inside the limit alone and
    keeps t; here the largest lambda leads back inside, and t grows, so that the cost settles at
    d - 1 / (t lambda*), ever nearer to the limit.
    """

    name: ClassVar[str] = "barrier"
    label: ClassVar[str] = "log barrier"
    colour: ClassVar[str | None] = palette.OLIVE
    marker: ClassVar[str | None] = "X"
    positive_limits: ClassVar[bool] = True

    init: float | tuple[float, ...] = 1.0
    """Lambda before the first epoch: one number for every constraint, or one for each."""
    t: float = 0.1
    """Sharpness at the start, per unit of cost: at 0.1 and a cost of 10 below the limit, lambda is
    1.
    """
    growth: float = 1.005
    """Factor on t after each epoch."""
    t_max: float = 10.0
    """Largest t."""
    maximum: float = 10.0
    """Largest lambda, and that beyond the limit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_and_finite(self, "t")
        at_least(self, "growth", 1.0)
        not_below(self, "t_max", "t")
        positive_and_finite(self, "maximum")

    @staticmethod
    def start(numbers: Any, constraints: int) -> Wall:
        """Lambda at its start, the wall at its bluntest."""
        import jax.numpy as jnp

        return Wall(jnp.full(constraints, numbers.init), jnp.asarray(numbers.t))

    @staticmethod
    def update(memory: Wall, numbers: Any, cost: "Array", limit: "Array") -> Wall:
        """The wall's slope at the last cost; then the wall gets sharper."""
        import jax.numpy as jnp

        room = memory.t * (limit - cost)
        least = 1.0 / numbers.maximum  # of the room: beyond, and outside, lambda is at its largest
        lam = 1.0 / jnp.maximum(room, least)
        t = jnp.minimum(numbers.growth * memory.t, numbers.t_max)
        return Wall(lam, t)
