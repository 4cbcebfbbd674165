"""Which rule to use at a limit, when seeds are added until that is decided."""

from dataclasses import dataclass
from typing import Literal

Standing = Literal["to use", "beaten", "above the limit"]


@dataclass(frozen=True)
class PairDecision:
    """Two rules at a limit."""

    first: str
    second: str
    better: str | None
    """The one with the higher score, once they are told apart."""
    seeds: int
    """Of each, when they were told apart or last looked at; 0 before a look that could tell."""
    difference: float | None
    """Mean score of the first minus the second's, then."""
    p: float
    """Corrected for looks and pairs: they are told apart where it is at most the error."""


@dataclass(frozen=True)
class RuleDecision:
    """One rule at a limit."""

    rule: str
    seeds: int
    """That it was given."""
    standing: Standing
    beaten_by: tuple[str, ...]
    excess: float | None
    """Mean cost minus the limit; above 0 it may be so by chance unless that is the standing."""
    at: int | None
    """Seeds after which it got no more; None where it gets more, or there are no more."""


@dataclass(frozen=True)
class LimitDecision:
    """The rules at a limit."""

    limit: float
    rules: tuple[RuleDecision, ...]
    pairs: tuple[PairDecision, ...]
    use: tuple[str, ...]
    """Rules that are neither above the limit nor beaten by one that is not; one alone is
    decided.
    """
    decided: bool
    open: tuple[str, ...]
    """Rules that get more seeds."""
    words: str


@dataclass(frozen=True)
class TaskDecisions:
    """A task's rules at each limit, as far as seeds were added."""

    task: str
    algorithm: str
    score: str
    """What rules are compared by; higher is better: gap, return, or minus the violation."""
    error: float
    """Chance of telling apart any two equal rules of a task at a limit."""
    looks: tuple[int, ...]
    """Seeds of each rule at each look that there may be."""
    seen: int
    """Looks so far."""
    limits: tuple[LimitDecision, ...]
    words: str
    """That seeds were added, and what that means for whatever counts them as given."""
