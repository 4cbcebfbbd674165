"""What is known about several constraints at once: which one a view looks at, and lambda* of all of
them together.
"""

from dataclasses import dataclass

from saddle.analysis.findings.limits import Status
from saddle.analysis.findings.values import Estimate


@dataclass(frozen=True)
class OtherConstraint:
    """A constraint that a view does not look at, and the limit that it keeps meanwhile."""

    name: str
    limit: float | None
    """None: it may cost anything."""


@dataclass(frozen=True)
class Constraint:
    """The constraint that a view looks at. Costs, lambdas and limits of the view are its own."""

    index: int
    """Its place among the task's constraints, from 0."""
    name: str
    others: tuple[OtherConstraint, ...]


@dataclass(frozen=True)
class JointMultiplier:
    """One constraint's share in a joint lambda*."""

    constraint: str
    limit: float
    status: Status | None
    """'reached': its cost falls through its limit. 'always below': it keeps its limit at the
    smallest lambda already. 'always above': it cannot be kept within the sweep while the others
    are. None: there is no profile.
    """
    binds: bool | None
    """Whether its limit is what lambda* comes from: its cost is at the limit. None: it is not kept,
    or there is no profile.
    """
    lambda_: Estimate
    """None unless reached."""
    train_at: float | None
    """The lambda to train with: lambda*, or the end of the sweep that comes nearest."""
    binds_share: float | None
    """Share of bootstrap replicates in which it binds."""
    cost: Estimate
    """Expected where every constraint has its `train_at`."""
    reason: str


@dataclass(frozen=True)
class JointViolation:
    """Seeds that break any limit at a joint lambda*, counted among runs that have it."""

    share: Estimate
    """None where no run is near enough."""
    lambdas: tuple[float, ...]
    """Those of the runs; empty where there are none."""
    seeds: int
    reason: str


@dataclass(frozen=True)
class JointLambda:
    """lambda* of a task's constraints, found together for one set of limits."""

    task: str
    algorithm: str
    multipliers: tuple[JointMultiplier, ...]
    return_: Estimate
    """Expected where every constraint has its `train_at`."""
    reason: str
    """How it was found, or why it cannot be told."""
    violating: JointViolation
