"""Which multipliers to train next, from what those so far cost and return. Plain NumPy."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

PILOT = (0.1, 1.0, 10.0)
"""Multipliers that say where a task's costs lie. With scale invariance reward and cost pull equally
hard at 1.
"""

LEAST = 1e-3
MOST = 1e3
"""No multiplier beyond these is tried: the other signal then has a thousandth of the gradient."""

STEP = math.sqrt(10.0)
"""By which a sweep is made wider."""

STILL_MOVING = 0.1
"""An end interval of the sweep that has more than this share of its whole length says that the
frontier goes on.
"""

NARROWEST = 1.05
"""Ratio of neighbours between which no multiplier is put."""

AT_A_LIMIT = 0.5
"""What it counts for an interval, a decade wide, that a limit lies in, beside its share of the
frontier's length.
"""


class Outcomes(NamedTuple):
    """What policies at fixed multipliers came to: means over seeds, by multiplier, rising."""

    lambdas: np.ndarray  # [L]
    costs: np.ndarray  # [L]
    returns: np.ndarray  # [L]


def next_lambdas(found: Outcomes, limits: Sequence[float], count: int) -> tuple[float, ...]:
    """`count` more multipliers, or fewer where more would tell nothing: wider first, then between.

    An interval of the sweep is worth a multiplier for the stretch of the frontier that it leaves
    out, and for the limits that lie in it; it is cut in the middle of its logarithm, and the
    outcome there is taken to lie on the line between its ends until it is known.
    """
    chosen: list[float] = []
    for value in _wider(found, limits)[:count]:
        chosen.append(value)
    while len(chosen) < count:
        places = _intervals(found, limits)
        place = int(np.argmax(places))
        if not places[place] > 0:
            break
        low, high = found.lambdas[place], found.lambdas[place + 1]
        middle = rounded(math.sqrt(low * high))
        found = _with_middle(found, place, middle)
        if middle not in chosen:
            chosen.append(middle)
    return tuple(sorted(chosen))


def rounded(value: float) -> float:
    """To three digits, as people write them."""
    return float(f"{value:.3g}")


def _wider(found: Outcomes, limits: Sequence[float]) -> list[float]:
    """Multipliers beyond the ends of the sweep, the more urgent first.

    An end is left where no limit lies beyond it, and where costs move there no more: a limit that
    is not reached then is no matter of lambda.
    """
    falls = -np.diff(found.costs)
    least_fall = STILL_MOVING * np.ptp(found.costs)
    first, last = found.lambdas[0], found.lambdas[-1]
    wanted: list[float] = []
    missed_above = not limits or min(limits) < found.costs[-1]
    if missed_above and falls[-1] > least_fall:
        wanted += [last * STEP, last * STEP**2]
    missed_below = not limits or max(limits) > found.costs[0]
    if missed_below and falls[0] > least_fall:
        wanted.append(first / STEP)
    return [rounded(value) for value in wanted if LEAST <= value <= MOST]


def _intervals(found: Outcomes, limits: Sequence[float]) -> np.ndarray:
    """What a multiplier in each interval is worth, [L - 1]; 0 where it is too narrow."""
    lengths = _lengths(found)
    total = lengths.sum()
    worth = lengths / total if total > 0 else lengths
    ratios = found.lambdas[1:] / found.lambdas[:-1]
    for limit in limits:
        above = found.costs[:-1] > limit
        inside = above & (found.costs[1:] <= limit)
        # The wider the interval, the less is known about where in it the limit is met.
        worth = worth + AT_A_LIMIT * inside * np.log10(ratios)
    return np.where(ratios > NARROWEST**2, worth, 0.0)


def _lengths(found: Outcomes) -> np.ndarray:
    """Stretches of the frontier between neighbours, [L - 1], in spans of cost and return."""
    squares = np.zeros(len(found.lambdas) - 1)
    for values in (found.costs, found.returns):
        span = np.ptp(values)
        if span > 0:
            squares += (np.diff(values) / span) ** 2
    return np.sqrt(squares)


def _with_middle(found: Outcomes, place: int, middle: float) -> Outcomes:
    """With an outcome half-way between those at `place` and behind it."""

    def halfway(values: np.ndarray) -> np.ndarray:
        return np.insert(values, place + 1, values[place : place + 2].mean())

    return Outcomes(
        np.insert(found.lambdas, place + 1, middle), halfway(found.costs), halfway(found.returns)
    )
