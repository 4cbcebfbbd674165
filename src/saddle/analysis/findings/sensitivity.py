"""How much a rule's numbers matter."""

from dataclasses import dataclass

from saddle.analysis.findings.values import Estimate


@dataclass(frozen=True)
class SettingValue:
    """A rule with one of its settings at this value, the others at their defaults."""

    value: float
    runs: int
    gap: Estimate
    """Interquartile mean of the gap to the frontier, as a share of its span."""
    violation: Estimate
    """Interquartile mean of the violation, as a share of the limit."""
    less_return: bool
    """Whether the gap is significantly lower than that of the best value."""
    violates_more: bool
    """Whether the violation is significantly higher than that of the best value."""


@dataclass(frozen=True)
class Sensitivity:
    """One setting of a rule, swept."""

    setting: str
    default: float
    values: tuple[SettingValue, ...]
    """Rising."""
    decades: float
    """How far the sweep goes, from the smallest value to the largest."""
    flat: float | None
    """Share of these decades in which neither return nor violation is significantly worse than the
    best; None where the runs are too few to tell any value from another, or cannot be compared.
    """
    words: str
