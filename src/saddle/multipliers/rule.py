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
from typing import Any, ClassVar

from saddle.checks import at_least


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

    init: float = 1.0
    """Lambda before the first epoch."""

    def __post_init__(self) -> None:
        at_least(self, "init", 0.0)

    def numbers(self) -> dict[str, float | int | bool]:
        """The settings as numbers, by name: what `start` and `update` see of them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @staticmethod
    def start(numbers: Any, constraints: int) -> Any:
        """The rule's memory before the first epoch: a NamedTuple with an entry `lam` [constraints].

        `numbers` has an attribute [] for each entry of `numbers()`.
        """
        raise NotImplementedError

    @staticmethod
    def update(memory: Any, numbers: Any, cost: Any, limit: Any) -> Any:
        """The memory after an epoch with this mean cost of an episode [constraints], under this
        limit [constraints].
        """
        raise NotImplementedError
