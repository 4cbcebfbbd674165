"""What a rule is: how lambda moves, once an epoch.

A rule is one file: a frozen dataclass with its settings, checked on construction, the NamedTuple
that it remembers between epochs, and two functions of these. Its settings are numbers that a
population traces, one row a member, so members with other settings, or other rules, share one
compiled program.

JAX is imported by the two functions when they are traced: command lines, study files and analyses
read settings without it.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from saddle.checks import at_least
from saddle.errors import SaddleError
from saddle.hints import Unfit, bring_to_hints, fitting

Lambda = float | tuple[float, ...]
"""A multiplier: one number for every constraint, or one for each."""


def lambda_of(value: Any) -> Lambda:
    """A multiplier as rules, plans and stores keep it: a float, or a tuple of several."""
    several = list(value) if isinstance(value, list | tuple) else [value]
    try:
        numbers = fitting(several, tuple[float, ...])
    except Unfit:
        raise SaddleError(
            f"lambda is {value!r}; give a number, or one for each constraint"
        ) from None
    if not numbers:
        raise SaddleError("a lambda has no number; give one, or one for each constraint")
    return numbers if len(numbers) > 1 else numbers[0]


def each_lambda(value: Lambda, constraints: int) -> tuple[float, ...]:
    """The multiplier of each constraint."""
    return value if isinstance(value, tuple) else (value,) * constraints


def lambda_name(value: Lambda) -> str:
    """A multiplier as part of a name: 0.5, or 0.5_2."""
    return "_".join(f"{number:.6g}" for number in each_lambda(value, 1))


def as_share(violation: Any, limit: Any) -> Any:
    """A violation J_C - d as a share of the limit [constraints]; of a limit of 0, which rules that
    divide by it refuse and members of other rules may have, 0.
    """
    import jax.numpy as jnp

    return jnp.where(limit > 0, violation / jnp.where(limit > 0, limit, 1.0), 0.0)


@dataclass(frozen=True)
class Rule:
    """Base of every rule. Subclasses are frozen dataclasses whose fields all have defaults."""

    name: ClassVar[str]
    """In command lines, study files, stores and run names: one lower-case word."""
    label: ClassVar[str]
    """In legends and tables."""
    colour: ClassVar[str | None] = None
    """In figures, as #rrggbb; None takes one that is free."""
    marker: ClassVar[str | None] = None
    """In figures, as matplotlib names it; None takes one that is free."""
    drawn: ClassVar[bool] = False
    """Episodes have multipliers of their own, which the learner draws: there is no limit to keep,
    and no lambda of an epoch.
    """
    positive_limits: ClassVar[bool] = False
    """The rule divides by the limit, or needs room below it: it refuses a limit of 0."""

    rates: ClassVar[tuple[str, ...]] = ()
    """Settings in proportion to which an update moves lambda, and whose defaults are published, for
    1750 updates: fewer take it as far with larger rates.
    """

    init: float | tuple[float, ...] = 1.0
    """Lambda before the first epoch: one number for every constraint, or one for each."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "init", lambda_of(self.init))
        bring_to_hints(self)
        at_least(self, "init", 0.0)

    def faster(self, factor: float) -> Self:
        """The rule with its rates multiplied by a factor, to four digits."""
        if factor == 1:
            return self
        scaled = {name: float(f"{getattr(self, name) * factor:.4g}") for name in self.rates}
        return dataclasses.replace(self, **scaled)

    def numbers(self) -> dict[str, float | int | bool | tuple[float, ...]]:
        """The settings as numbers, by name: what `start` and `update` see of them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def check_constraints(self, task: str, names: tuple[str, ...]) -> None:
        """Refuse a number for each constraint where the task has more, or fewer, constraints."""
        if isinstance(self.init, tuple) and len(self.init) != len(names):
            raise SaddleError(
                f"{task} has {len(names)} constraint(s) ({', '.join(names)}), but lambda has "
                f"{len(self.init)} numbers; give one, or one per constraint"
            )

    def check_limits(self, limits: tuple[float, ...]) -> None:
        """Refuse cost limits, one for each constraint, that the rule cannot keep."""
        if self.positive_limits and not min(limits) > 0:
            raise SaddleError(
                f"the rule {self.name!r} works below a cost limit, and there is nothing below 0; "
                f"raise the limit, or choose another rule"
            )

    @staticmethod
    def start(numbers: Any, constraints: int) -> Any:
        """The rule's memory before the first epoch: a NamedTuple with an entry `lam` [constraints].

        `numbers` has an attribute [] for each entry of `numbers()`; `init` is [constraints] where
        there is a number for each.
        """
        raise NotImplementedError

    @staticmethod
    def update(memory: Any, numbers: Any, cost: Any, limit: Any) -> Any:
        """The memory after an epoch with this mean cost of an episode [constraints], under this
        limit [constraints].
        """
        raise NotImplementedError
