"""What an analysis found, as typed values: the one source of `saddle analyze`, of its JSON, and of the report.

Lists that run along the same axis (a profile's grid, a frontier's points) have equal lengths. `None` means that the
data do not allow a statement; the notes of the task, or the `reason` beside it, say why. Nothing is ever NaN.
"""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any, Literal

SCHEMA = 1

Kind = Literal["restrictive", "unrestrictive", "even"]
Status = Literal["reached", "always below", "always above"]


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
class Violation:
    """How a group of seeds stands to one cost limit."""

    limit: float
    share: float
    """Share of seeds whose final cost exceeds the limit."""
    normalised: float | None
    """Mean over seeds of max(0, cost - limit) / limit; None at limit 0."""


@dataclass(frozen=True)
class Group:
    """All seeds of one fixed lambda. Values are of the final share of training."""

    lambda_: float
    seeds: int
    return_: Estimate
    return_sd: float | None
    return_iqm: float
    cost: Estimate
    cost_sd: float | None
    cost_iqm: float
    violations: tuple[Violation, ...]


@dataclass(frozen=True)
class Rise:
    """A stretch of a profile that goes up with lambda, where it should fall."""

    quantity: Literal["return", "cost"]
    lambda_from: float
    lambda_to: float
    rise: Estimate
    clear: bool
    """Whether the rise's interval lies above 0."""


@dataclass(frozen=True)
class Profile:
    """Smoothed return and cost against lambda, on a fine grid."""

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
    """A limit that the study recommends, seen from this frontier."""

    limit: float
    kind: Kind | None
    reason: str


@dataclass(frozen=True)
class Margin:
    """How much stricter to train so that a wanted share of seeds satisfies the limit."""

    rule: str
    """'fixed': from the sweep. Any other: from that rule's runs at this limit."""
    wanted_share: float
    training_limit: Estimate
    """Limit to train at; None when no limit of 0 or more reaches the share."""
    margin: Estimate
    """limit - training limit."""
    lambda_: Estimate | None
    """Only for 'fixed': the lambda that gives it."""
    reason: str


@dataclass(frozen=True)
class LimitFinding:
    """What is known at one cost limit."""

    limit: float
    status: Status | None
    """None: there is no profile."""
    reason: str
    lambda_: Estimate
    """lambda*, None unless reached; an end of None lies beyond the sweep. Also without a value an end may be known."""
    crossings: tuple[float, ...]
    """Every lambda at which the smoothed cost falls through the limit; lambda* is the first."""
    reached_share: float | None
    """Share of bootstrap replicates in which the profile crosses the limit."""
    return_: Estimate
    """Expected return at lambda*, or at the end of the sweep when the cost is always below."""
    regime: Kind | None
    violation_share: Estimate
    """Expected share of seeds that violate at lambda*."""
    margins: tuple[Margin, ...]


@dataclass(frozen=True)
class Cell:
    """One rule at one limit."""

    rule: str
    limit: float
    lambda_: float | None
    seeds: int
    return_: Estimate
    return_sd: float | None
    return_iqm: float
    cost: Estimate
    cost_sd: float | None
    cost_iqm: float
    violated: bool
    """Mean cost above the limit."""
    best: bool
    """Highest mean return among the rules whose mean cost is within the limit."""
    violation: Violation
    gap: Estimate
    """Mean return minus the frontier's return at the cell's mean cost; None outside the frontier's costs."""
    gap_normalised: Estimate
    """The gap in units of the frontier's span of return."""


@dataclass(frozen=True)
class Pair:
    """Two rules at one limit: probability that a seed of the first does better than a seed of the second."""

    limit: float
    first: str
    second: str
    higher_return: Estimate
    lower_cost: Estimate


@dataclass(frozen=True)
class Seed:
    """One run's final values."""

    run: str
    rule: str
    lambda_: float | None
    limit: float | None
    seed: int
    return_: float
    cost: float


@dataclass(frozen=True)
class TaskFindings:
    """Everything about one task under one algorithm."""

    task: str
    algorithm: str
    groups: tuple[Group, ...]
    profile: Profile | None
    frontier: Frontier | None
    slope: Slope | None
    regimes: tuple[Regime, ...]
    recommended: tuple[Recommendation, ...]
    published_limits: tuple[PublishedLimit, ...]
    limits: tuple[LimitFinding, ...]
    comparison: tuple[Cell, ...]
    pairs: tuple[Pair, ...]
    scatter: tuple[Seed, ...]
    notes: tuple[str, ...]
    """What cannot be concluded here, and why."""


@dataclass(frozen=True)
class RunCounts:
    """How many runs there are and how many count."""

    total: int
    used: int
    failed: int
    unfinished: int
    without_values: int


@dataclass(frozen=True)
class Findings:
    """Everything about a study."""

    options: dict[str, Any]
    runs: RunCounts
    tasks: tuple[TaskFindings, ...]
    notes: tuple[str, ...]
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """Plain values; names lose the trailing underscore that Python's keywords force on them."""
        return _plain(self)

    def to_json(self, indent: int | None = None) -> str:
        """The findings as JSON, without NaN or infinity."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {f.name.rstrip("_"): _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"findings hold {value}; what cannot be known must be None")
    return value
