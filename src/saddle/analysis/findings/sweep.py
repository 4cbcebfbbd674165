"""What a sweep of fixed lambdas shows: profile, frontier, its slope and regimes, and limits worth
testing at.
"""

from dataclasses import dataclass, field
from typing import Literal

from saddle.analysis.findings.values import (
    IF_ANY,
    Curve,
    Estimate,
    Kind,
    Statistics,
    Violation,
)


@dataclass(frozen=True)
class _FixedLambda:
    lambda_: float


@dataclass(frozen=True)
class Group(
    Statistics, _FixedLambda
):  # a dataclass has the fields of its last base first: the JSON's order
    """All seeds of one fixed lambda. Values are of the final share of training."""

    violations: tuple[Violation, ...]
    env_steps: int
    """That each of its runs had; of runs of different lengths, the fewest."""
    others: tuple[float, ...] = field(default=(), metadata=IF_ANY)
    """Lambdas of the other constraints."""


@dataclass(frozen=True)
class Rise:
    """A stretch between two lambdas that were run over which a mean goes up, where it should
    fall.
    """

    quantity: Literal["return", "cost"]
    lambda_from: float
    lambda_to: float
    rise: Estimate
    clear: bool
    """Whether the rise's interval lies above 0, and that of the smoothed rise."""


@dataclass(frozen=True)
class Profile:
    """Return and cost against lambda, on a fine grid: what limits and the frontier are read
    from.
    """

    lambda_: tuple[float, ...]
    return_: Curve
    cost: Curve
    rises: tuple[Rise, ...]


@dataclass(frozen=True)
class Attainment:
    """Return that at least `share` of the seeds attain within each cost of the frontier's grid."""

    share: float
    return_: tuple[float | None, ...]


@dataclass(frozen=True)
class Frontier:
    """The empirical Pareto frontier: as points with bands both ways, and as return against cost."""

    lambda_: tuple[float, ...]
    """Per point: the lambda that gives it, in order of rising cost."""
    cost: Curve
    return_: Curve
    grid: tuple[float, ...]
    """Costs at which `curve` and `attainment` are given."""
    curve: Curve
    """Return of the frontier at each cost of the grid."""
    attainment: tuple[Attainment, ...]
    hypervolume: Estimate
    reference: tuple[float, float]
    """(cost, return) of the hypervolume's reference point."""
    construction: str


@dataclass(frozen=True)
class Slope:
    """Restrictiveness dR/dC along the frontier, in order of rising cost."""

    lambda_: tuple[float, ...]
    cost: tuple[float, ...]
    slope: Curve
    """Return per unit of cost; None: too steep to tell (or no upper end)."""
    normalised: Curve
    """The same in units of the frontier's average slope: 1 is its chord from end to end."""
    average: float
    """Return per unit of cost from end to end."""
    at_stake: float | None
    """Share of the frontier's highest return that its span of return makes up."""


@dataclass(frozen=True)
class Regime:
    """A stretch of the frontier with one kind of slope."""

    kind: Kind
    cost_from: float
    cost_to: float
    lambda_from: float
    """Lambda at `cost_from`: the larger one."""
    lambda_to: float
    normalised_slope: Estimate
    reason: str


@dataclass(frozen=True)
class Recommendation:
    """A cost limit worth testing at, and why."""

    limit: float
    kind: Kind
    reason: str
    published: str
    """How it relates to the published list."""


@dataclass(frozen=True)
class PublishedLimit:
    """A limit that the published study recommends, seen from this frontier."""

    limit: float
    kind: Kind | None
    reason: str
