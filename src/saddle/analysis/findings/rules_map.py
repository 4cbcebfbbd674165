"""Which rule to use at which limit: every rule at every limit of a task, compared."""

from dataclasses import dataclass
from typing import Literal

from saddle.analysis.findings.values import Estimate, Kind

Keeps = Literal["kept", "broken", "undecided"]


@dataclass(frozen=True)
class MapCell:
    """One rule at one limit."""

    rule: str
    limit: float
    seeds: int
    gap: Estimate
    """Mean return minus the frontier's return at the same mean cost."""
    gap_normalised: Estimate
    """The gap as a share of the frontier's span of return."""
    violating: Estimate
    """Share of seeds whose final cost is above the limit, with its exact interval."""
    cost: Estimate
    """Mean over seeds."""
    keeps: Keeps
    """Whether the mean cost keeps the limit: by its interval, which may lie on both sides."""
    loses_to: tuple[str, ...]
    """Rules that do not break the limit, and whose return is higher at their cost than this one's
    at its own, as far as the seeds decide.
    """


@dataclass(frozen=True)
class MapLimit:
    """What is known of the rules at one limit."""

    limit: float
    regime: Kind | None
    use: tuple[str, ...]
    """Rules that do not break the limit and lose to no other; one alone is decided."""
    decided: bool
    words: str


@dataclass(frozen=True)
class TaskMap:
    """A task's rules by limits."""

    task: str
    algorithm: str
    constraint: str
    """The one that was looked at, where there are several; else empty."""
    rules: tuple[str, ...]
    limits: tuple[MapLimit, ...]
    cells: tuple[MapCell, ...]
    words: tuple[str, ...]
    """What holds over limits, and what is not decided."""
