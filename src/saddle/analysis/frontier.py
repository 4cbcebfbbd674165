"""Pareto frontiers of cost (to be low) and return (to be high)."""

import numpy as np


def nondominated(cost: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """Mask of the points that no other point matches in both and beats in one. Equal points are kept together."""
    order = np.lexsort((-returns, cost))
    c, r = cost[order], returns[order]
    best_before = np.concatenate([[-np.inf], np.maximum.accumulate(r)[:-1]])
    first_of_equals = np.ones(len(c), bool)
    first_of_equals[1:] = (np.diff(c) != 0) | (np.diff(r) != 0)
    start = np.maximum.accumulate(np.where(first_of_equals, np.arange(len(c)), 0))
    keep = np.empty(len(c), bool)
    keep[order] = (r > best_before)[start]
    return keep


def running_maxima(cost: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """The published construction: mask of points whose return is at least that of every cheaper point."""
    order = np.argsort(cost, kind="stable")
    keep = np.empty(len(cost), bool)
    keep[order] = returns[order] >= np.maximum.accumulate(returns[order])
    return keep


def by_cost(keep: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Indices of the kept points in order of rising cost."""
    kept = np.flatnonzero(keep)
    return kept[np.argsort(cost[kept], kind="stable")]


def return_at(cost: np.ndarray, returns: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return of the frontier of these points at the costs `at`: linear between its points, level after the last.

    A line between two points is what choosing between their two policies at random attains. NaN below the first.
    """
    index = by_cost(nondominated(cost, returns), cost)
    return np.interp(at, cost[index], returns[index], left=np.nan)


def returns_at(costs: np.ndarray, returns: np.ndarray, at: np.ndarray) -> np.ndarray:
    """`return_at` for replicates: costs and returns [replicates, points], at [places] or [replicates, places]."""
    places = np.broadcast_to(at, (len(costs), np.shape(at)[-1]))
    return np.stack([return_at(c, r, a) for c, r, a in zip(costs, returns, places, strict=True)])


def hypervolume(cost: np.ndarray, returns: np.ndarray, reference: tuple[float, float]) -> float:
    """Area that the points dominate within a reference (cost, return): cheaper than it, and with more return."""
    inside = (cost < reference[0]) & (returns > reference[1])
    c, r = cost[inside], returns[inside]
    index = by_cost(nondominated(c, r), c)
    c, r = c[index], r[index]
    height = np.diff(np.concatenate([[reference[1]], r]))
    return float(((reference[0] - c) * height).sum())


def attainment(costs: np.ndarray, returns: np.ndarray, at: np.ndarray, share: float) -> np.ndarray:
    """Return that at least `share` of the sets attain within each cost of `at`; NaN where fewer attain anything.

    costs and returns are [sets, points], NaN for points that a set lacks.
    """
    affordable = costs[:, None, :] <= at[:, None]
    best = np.where(affordable & np.isfinite(returns)[:, None, :], returns[:, None, :], -np.inf).max(-1)
    needed = max(int(np.ceil(share * len(costs) - 1e-9)), 1)
    attained = np.sort(best, axis=0)[-needed]
    return np.where(np.isfinite(attained), attained, np.nan)
