"""What findings are made of: estimates, curves, kinds of slope, statistics over seeds,
violations.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["restrictive", "unrestrictive", "even"]

IF_ANY = {"in JSON": "if there is any"}
"""Metadata of fields that JSON leaves out where they are empty."""


@dataclass(frozen=True)
class Estimate:
    """A number and the ends of its interval (`Options.level`, 95 % by default)."""

    value: float | None
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True)
class Curve:
    """A function on a grid with its pointwise band. The grid is named by the owner."""

    value: tuple[float | None, ...]
    lo: tuple[float | None, ...]
    hi: tuple[float | None, ...]


@dataclass(frozen=True)
class Statistics:
    """Return and cost of a group of seeds."""

    seeds: int
    return_: Estimate
    """Mean over seeds."""
    return_sd: float | None
    """With n - 1; None of one seed."""
    return_iqm: float
    """Interquartile mean."""
    cost: Estimate
    cost_sd: float | None
    cost_iqm: float


@dataclass(frozen=True)
class Violation:
    """How a group of seeds stands to one cost limit."""

    limit: float
    share: float
    """Share of seeds whose final cost exceeds the limit; of several constraints, any of them."""
    normalised: float | None
    """Mean over seeds of max(0, cost - limit) / limit; None at limit 0."""
