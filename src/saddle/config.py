"""What a run is: its seed, its rule and its limits. Without JAX."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from saddle.errors import SaddleError
from saddle.hints import Unfit, fitting
from saddle.multipliers.fixed import Fixed
from saddle.multipliers.rule import Rule

PUBLISHED_STEPS = 35_000_000
"""Env steps of every run of the published study."""
PUBLISHED_UPDATES = 1750
"""How often a rule moves lambda in such a run: once in each of its epochs of 20,000 env steps."""
USUAL_LIMIT = 25.0
"""The cost limit that is customary with Safety-Gymnasium's tasks, where nobody says another."""
LambdaStarMethod = Literal["profile", "published"]
"""How lambda* is found: from the profile that `saddle analyze` shows, or as in the published
study.
"""


def whole(name: str, value: float) -> int:
    """The option's value as a whole number, which may be written as 1e6."""
    if not math.isfinite(value) or value != int(value):
        raise SaddleError(f"{name} is {value}; it must be a whole number, such as 20000 or 1e6")
    return int(value)


Limits = float | Sequence[float] | Sequence[Sequence[float]]
"""Cost limits; with several constraints one of each, or a sequence of such sets."""


def sets_of_limits(limits: Limits) -> tuple[tuple[float, ...], ...]:
    """The sets, and numbers together as one more."""
    if isinstance(limits, int | float):
        return ((limits,),)
    sets: list[tuple[float, ...]] = []
    alone: list[Any] = []
    for limit in limits:
        if isinstance(limit, Sequence) and not isinstance(limit, str):
            sets.append(limit_numbers(limit))
        else:
            alone.append(limit)
    if alone:
        sets.append(limit_numbers(alone))
    return tuple(sets)


def limit_numbers(limits: Any) -> tuple[float, ...]:
    """Cost limits that are numbers indeed."""
    try:
        return fitting(limits, tuple[float, ...])
    except Unfit:
        raise SaddleError(f"limits are {limits!r}; they must be numbers, as (10, 25)") from None


@dataclass(frozen=True)
class Member:
    """One run of a population. `limits` has one entry per constraint; a fixed rule does not use
    it.
    """

    seed: int = 0
    rule: Rule = Fixed()
    limits: tuple[float, ...] = (USUAL_LIMIT,)

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**31:
            raise SaddleError(f"seed is {self.seed}; it must lie in [0, 2**31)")
        if not all(limit >= 0 and math.isfinite(limit) for limit in self.limits):
            raise SaddleError(
                f"the cost limit is {self.limits}; limits must be finite and 0 or more"
            )
