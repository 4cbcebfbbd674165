"""Pareto frontiers of cost (to be low) and return (to be high)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class Trace(NamedTuple):
    """A frontier's points, cost and return both rising."""

    cost: Float[np.ndarray, " points"]
    returns: Float[np.ndarray, " points"]


def nondominated(
    cost: Float[np.ndarray, " points"], returns: Float[np.ndarray, " points"]
) -> Bool[np.ndarray, " points"]:
    """Mask of the points that no other point matches in both and beats in one. Equal points are
    kept together.
    """
    order = np.lexsort((-returns, cost))
    costs_in_order = cost[order]
    returns_in_order = returns[order]
    best = np.maximum.accumulate(returns_in_order)
    best_before = np.concatenate([[-np.inf], best[:-1]])
    differs = (np.diff(costs_in_order) != 0) | (np.diff(returns_in_order) != 0)
    first_of_equals = np.concatenate([[True], differs])
    own_place = np.arange(len(cost))
    place_of_first = np.maximum.accumulate(np.where(first_of_equals, own_place, 0))
    beats_cheaper = returns_in_order > best_before
    keep = np.empty(len(cost), bool)
    keep[order] = beats_cheaper[place_of_first]
    return keep


def running_maxima(
    cost: Float[np.ndarray, " points"], returns: Float[np.ndarray, " points"]
) -> Bool[np.ndarray, " points"]:
    """The published construction: mask of points whose return is at least that of every cheaper
    point.
    """
    order = np.argsort(cost, kind="stable")
    returns_in_order = returns[order]
    keep = np.empty(len(cost), bool)
    keep[order] = returns_in_order >= np.maximum.accumulate(returns_in_order)
    return keep


def by_cost(
    keep: Bool[np.ndarray, " points"], cost: Float[np.ndarray, " points"]
) -> Int[np.ndarray, " kept"]:
    """Indices of the kept points in order of rising cost."""
    kept = np.flatnonzero(keep)
    order = np.argsort(cost[kept], kind="stable")
    return kept[order]


def trace(cost: Float[np.ndarray, " points"], returns: Float[np.ndarray, " points"]) -> Trace:
    """The undominated points, equal ones once."""
    order = np.lexsort((-returns, cost))
    returns_in_order = returns[order]
    best = np.maximum.accumulate(returns_in_order)
    beats_cheaper = np.ones(len(order), bool)
    beats_cheaper[1:] = returns_in_order[1:] > best[:-1]
    kept = order[beats_cheaper]
    return Trace(cost[kept], returns[kept])


def traces(
    costs: Float[np.ndarray, "replicates points"], returns: Float[np.ndarray, "replicates points"]
) -> list[Trace]:
    """The frontier of every replicate."""
    return [trace(*points) for points in zip(costs, returns, strict=True)]


def return_at(frontier: Trace, at: Float[np.ndarray, " places"]) -> Float[np.ndarray, " places"]:
    """Return of a frontier at the costs `at`: linear between its points, level after the last, NaN
    before the first.

    A line between two points is what choosing between their two policies at random attains.
    """
    return np.interp(at, frontier.cost, frontier.returns, left=np.nan)


def returns_at(
    frontiers: list[Trace], at: Float[np.ndarray, "*replicates places"]
) -> Float[np.ndarray, "frontiers places"]:
    """`return_at` for replicates, each at its own places or all at the same."""
    places = np.broadcast_to(at, (len(frontiers), np.shape(at)[-1]))
    own = [return_at(*pair) for pair in zip(frontiers, places, strict=True)]
    return np.stack(own)


def hypervolume(frontier: Trace, reference: tuple[float, float]) -> float:
    """Area that a frontier dominates within a reference (cost, return): cheaper than it, and with
    more return.
    """
    highest_cost, least_return = reference
    inside = (frontier.cost < highest_cost) & (frontier.returns > least_return)
    widths = highest_cost - frontier.cost[inside]
    heights = np.diff(frontier.returns[inside], prepend=least_return)
    return float((widths * heights).sum())


def attainment(
    costs: Float[np.ndarray, "sets points"],
    returns: Float[np.ndarray, "sets points"],
    at: Float[np.ndarray, " places"],
    share: float,
) -> Float[np.ndarray, " places"]:
    """Return that at least `share` of the sets attain within each cost of `at`; NaN where fewer
    attain anything.

    costs and returns are NaN for points that a set lacks.
    """
    affordable = costs[:, None, :] <= at[:, None]
    attainable = affordable & np.isfinite(returns)[:, None, :]
    best = np.where(attainable, returns[:, None, :], -np.inf).max(axis=-1)
    needed = max(int(np.ceil(share * len(costs) - 1e-9)), 1)
    attained = np.sort(best, axis=0)[-needed]
    return np.where(np.isfinite(attained), attained, np.nan)
