"""Scores of single runs that compare over tasks and limits: free of a task's units."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from saddle.analysis.findings import Seed, TaskFindings
from saddle.analysis.frontier import Trace, return_at


def gaps(part: TaskFindings, seeds: Sequence[Seed]) -> Float[np.ndarray, " seeds"]:
    """Each run's return minus the frontier's at the run's own cost; NaN for runs that cost less
    than all of the frontier.
    """
    assert part.frontier is not None
    frontier = Trace(
        np.array(part.frontier.cost.value, float), np.array(part.frontier.return_.value, float)
    )
    costs = np.array([seed.cost for seed in seeds])
    returns = np.array([seed.return_ for seed in seeds])
    return returns - return_at(frontier, costs)


def level_gaps(part: TaskFindings, seeds: Sequence[Seed]) -> Float[np.ndarray, " seeds"]:
    """`gaps`, in which a run that costs less than all of the frontier is held to its cheapest
    point.
    """
    assert part.frontier is not None
    cheapest = min(cost for cost in part.frontier.cost.value if cost is not None)
    raised = [dataclasses.replace(seed, cost=max(seed.cost, cheapest)) for seed in seeds]
    return gaps(part, raised)


def normalised_gaps(part: TaskFindings, seeds: Sequence[Seed]) -> Float[np.ndarray, " seeds"]:
    """`gaps` as shares of the frontier's span of return; NaN where the frontier spans none."""
    assert part.frontier is not None
    span = float(np.ptp(np.array(part.frontier.return_.value, float)))
    if span == 0:
        return np.full(len(seeds), np.nan)
    return gaps(part, seeds) / span


def normalised_violations(seeds: Sequence[Seed], limit: float) -> Float[np.ndarray, " seeds"]:
    """How far each run's cost is above the limit, as a share of it; NaN at limit 0."""
    if limit == 0:
        return np.full(len(seeds), np.nan)
    costs = np.array([seed.cost for seed in seeds])
    return np.maximum(costs - limit, 0.0) / limit
