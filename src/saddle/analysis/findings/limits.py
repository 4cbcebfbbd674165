"""What is known at one cost limit: lambda* and margins from the sweep, and the rules that were
trained at it.
"""

from dataclasses import dataclass, field
from typing import Literal

from saddle.analysis.findings.values import IF_ANY, Estimate, Kind, Statistics, Violation

Status = Literal["reached", "always below", "always above"]


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
    """lambda*, None unless reached; an end of None lies beyond the sweep. Also without a value an
    end may be known.
    """
    train_at: float | None
    """The lambda to train with: lambda*, or where there is none a setting of the sweep. That is its
    smallest lambda where the limit does not bind; where the limit is not reached the one whose
    mean cost comes nearest, or in the published way the largest. None: there is no sweep.
    """
    crossings: tuple[float, ...]
    """Every lambda at which the cost profile falls through the limit; lambda* is the first."""
    reached_share: float | None
    """Share of bootstrap replicates in which the profile crosses the limit."""
    return_: Estimate
    """Expected return at lambda*, or at the end of the sweep when the cost is always below."""
    regime: Kind | None
    violation_share: Estimate
    """Expected share of seeds that violate at lambda*."""
    margins: tuple[Margin, ...]


@dataclass(frozen=True)
class OverTraining:
    """How a rule kept its limit while it was trained: means over seeds, but for two shares and a
    median.
    """

    epochs_above: Estimate
    """Share of epochs whose mean cost was above the limit."""
    episodes_above: Estimate
    """Share of episodes whose cost was above the limit; None in stores that did not log it."""
    excess: Estimate
    """Sum over epochs of max(0, cost - limit)."""
    settled_share: float
    """Share of seeds whose cost had settled within a band around the limit when training ended."""
    settled_after: Estimate
    """Median number of epochs until then; None where half of the seeds, or more, never did."""
    within_share: float
    """Share of seeds whose cost was ever within the limit."""
    overshoot: Estimate
    """How far the cost rose above the limit after it had first been within; of those seeds."""
    oscillation: Estimate
    """Standard deviation of the cost around a straight line, over the second half of training."""
    tail_cost: Estimate
    """Mean cost of the worst tenth of episodes at the end of training (CVaR at 90 %); None in
    stores that did not log it.
    """


@dataclass(frozen=True)
class _RuleAtLimit:
    rule: str
    limit: float
    lambda_: float | None


@dataclass(frozen=True)
class Cell(
    Statistics, _RuleAtLimit
):  # a dataclass has the fields of its last base first: the JSON's order
    """One rule at one limit."""

    violated: bool
    """Mean cost above the limit: of several constraints, that of any."""
    best: bool
    """Highest mean return among the rules whose mean cost is within the limit."""
    violation: Violation
    gap: Estimate
    """Mean return minus the frontier's return at the cell's mean cost; None outside the frontier's
    costs.
    """
    gap_normalised: Estimate
    """The gap in units of the frontier's span of return."""
    env_steps: int
    """That each of its runs had; of runs of different lengths, the fewest."""
    other_costs: tuple[Estimate, ...] = field(default=(), metadata=IF_ANY)
    """Mean costs of the other constraints."""
    over_training: OverTraining | None = None


@dataclass(frozen=True)
class Pair:
    """Two rules at one limit: probability that a seed of the first does better than a seed of the
    second.
    """

    limit: float
    first: str
    second: str
    higher_return: Estimate
    lower_cost: Estimate
