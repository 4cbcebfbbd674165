"""What a run is: its seed, its rule and its limits. Without JAX."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

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


def whole(name: str, value: Any, least: int | None = None) -> int:
    """What was given as a whole number, which may be written as 1e6; at least so much, where that
    is said.
    """
    try:
        number = fitting(value, int)
    except Unfit:
        raise SaddleError(
            f"{name} is {value!r}; it must be a whole number, such as 20000 or 1e6"
        ) from None
    if least is not None and number < least:
        raise SaddleError(f"{name} is {number}; it must be at least {least}")
    return number


Limits = float | Sequence[float] | Sequence[Sequence[float]]
"""Cost limits; with several constraints one of each, or a sequence of such sets."""


def sets_of_limits(limits: Limits) -> tuple[tuple[float, ...], ...]:
    """The sets, and numbers together as one more."""
    if not _are_several(limits):
        return (limit_numbers(limits),)
    sets = [limit_numbers(limit) for limit in limits if _are_several(limit)]
    alone = [limit for limit in limits if not _are_several(limit)]
    if alone:
        sets.append(limit_numbers(alone))
    return tuple(sets)


def limit_numbers(limits: Any) -> tuple[float, ...]:
    """A cost limit, or one of each constraint."""
    numbers = list(limits) if _are_several(limits) else [limits]
    try:
        found = fitting(numbers, tuple[float, ...])
    except Unfit:
        raise SaddleError(f"limits are {limits!r}; they must be numbers, as (10, 25)") from None
    check_limits(found)
    return found


def check_limits(limits: Iterable[float]) -> None:
    """Refuse numbers that are no cost limits."""
    for limit in limits:
        if not 0 <= limit < math.inf:
            raise SaddleError(f"the limit {limit:g} is not a cost; limits are finite and 0 or more")


def _are_several(limits: Any) -> TypeGuard[Iterable[Any]]:
    """Whether it is some sequence, of numbers or of further ones."""
    return isinstance(limits, Iterable) and not isinstance(limits, str)


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
        check_limits(self.limits)
