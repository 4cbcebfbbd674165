"""Pareto frontiers of cost (to be low) and return (to be high)."""

import numpy as np

Trace = tuple[np.ndarray, np.ndarray]  # cost and return of a frontier's points, both rising


def nondominated(cost: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """Mask of the points that no other point matches in both and beats in one. Equal points are
    kept together.
    """
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
    """The published construction: mask of points whose return is at least that of every cheaper
    point.
    """
    order = np.argsort(cost, kind="stable")
    keep = np.empty(len(cost), bool)
    keep[order] = returns[order] >= np.maximum.accumulate(returns[order])
    return keep


def by_cost(keep: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Indices of the kept points in order of rising cost."""
    kept = np.flatnonzero(keep)
    return kept[np.argsort(cost[kept], kind="stable")]


def trace(cost: np.ndarray, returns: np.ndarray) -> Trace:
    """The undominated points, equal ones once, as rising cost and rising return."""
    order = np.lexsort((-returns, cost))
    r = returns[order]
    keep = np.ones(len(r), bool)
    keep[1:] = r[1:] > np.maximum.accumulate(r)[:-1]
    return cost[order[keep]], r[keep]


def traces(costs: np.ndarray, returns: np.ndarray) -> list[Trace]:
    """The frontier of every replicate [replicates, points]."""
    return [trace(c, r) for c, r in zip(costs, returns, strict=True)]


def return_at(frontier: Trace, at: np.ndarray) -> np.ndarray:
    """Return of a frontier at the costs `at`: linear between its points, level after the last, NaN
    before the first.

    A line between two points is what choosing between their two policies at random attains.
    """
    return np.interp(at, *frontier, left=np.nan)


def returns_at(frontiers: list[Trace], at: np.ndarray) -> np.ndarray:
    """`return_at` for replicates, at [places] or [replicates, places]."""
    places = np.broadcast_to(at, (len(frontiers), np.shape(at)[-1]))
    return np.stack(
        [return_at(frontier, where) for frontier, where in zip(frontiers, places, strict=True)]
    )


def hypervolume(frontier: Trace, reference: tuple[float, float]) -> float:
    """Area that a frontier dominates within a reference (cost, return): cheaper than it, and with
    more return.
    """
    c, r = frontier
    inside = (c < reference[0]) & (r > reference[1])
    c, r = c[inside], r[inside]
    height = r - np.concatenate([[reference[1]], r[:-1]])
    return float(((reference[0] - c) * height).sum())


def attainment(costs: np.ndarray, returns: np.ndarray, at: np.ndarray, share: float) -> np.ndarray:
    """Return that at least `share` of the sets attain within each cost of `at`; NaN where fewer
    attain anything.

    costs and returns are [sets, points], NaN for points that a set lacks.
    """
    affordable = costs[:, None, :] <= at[:, None]
    best = np.where(
        affordable & np.isfinite(returns)[:, None, :], returns[:, None, :], -np.inf
    ).max(-1)
    needed = max(int(np.ceil(share * len(costs) - 1e-9)), 1)
    attained = np.sort(best, axis=0)[-needed]
    return np.where(np.isfinite(attained), attained, np.nan)
