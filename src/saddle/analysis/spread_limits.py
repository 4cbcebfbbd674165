"""Cost limits from restrictive to unrestrictive: spread over a frontier and its regimes."""

import numpy as np
from jaxtyping import Float

from saddle.analysis.findings import TaskFindings
from saddle.analysis.restrictiveness import places_along
from saddle.errors import SaddleError

DIGITS = (2, 3, 6)  # of a limit: the fewest with which limits differ


def spread_limits(part: TaskFindings, count: int) -> tuple[float, ...]:
    """So many limits, rising: each regime of the task's frontier has one or more, by its length
    along the arc, and they are evenly spaced along it. None is below the standard error of the mean
    costs around it.
    """
    frontier = part.frontier
    if frontier is None:
        raise SaddleError(
            f"limits of {part.task} cannot be taken from its frontier, since there is none: a "
            f"sweep needs two lambdas or more that did not fail"
        )
    cost = np.array(frontier.cost.value, float)
    place = places_along(cost, np.array(frontier.return_.value, float))
    if place is None:
        raise SaddleError(
            f"limits of {part.task} cannot be taken from its frontier, which spans no cost or no "
            f"return; give the stage limits instead"
        )
    stretches = [(0.0, 1.0)]
    if part.regimes:
        ends = [(regime.cost_from, regime.cost_to) for regime in part.regimes]
        stretches = [(_at(low, cost, place), _at(high, cost, place)) for low, high in ends]
    targets = []
    for (start, end), inside in zip(stretches, _shared_out(stretches, count), strict=True):
        targets += [start + (i + 0.5) / inside * (end - start) for i in range(inside)]
    wanted = np.interp(targets, place, cost)
    least = [_standard_error(part, one) for one in wanted]
    return _plain(np.maximum(wanted, least), max(least), float(cost[-1]), part.task)


def _at(wanted: float, cost: np.ndarray, place: np.ndarray) -> float:
    return float(np.interp(wanted, cost, place))


def _shared_out(stretches: list[tuple[float, float]], count: int) -> list[int]:
    """How many limits each stretch gets: one first, then one after the other where they lie
    farthest apart.
    """
    found = [0] * len(stretches)
    for _ in range(count):
        empty_first = [
            (inside == 0, (end - start) / (inside + 1))
            for (start, end), inside in zip(stretches, found, strict=True)
        ]
        found[empty_first.index(max(empty_first))] += 1
    return found


def _standard_error(part: TaskFindings, cost: float) -> float:
    """Of the mean cost of the sweep's group that comes nearest to this cost; 0 of one seed."""
    nearest = min(part.groups, key=lambda group: abs((group.cost.value or 0.0) - cost))
    return (nearest.cost_sd or 0.0) / nearest.seeds**0.5


def _plain(
    limits: Float[np.ndarray, " limits"], least: float, most: float, task: str
) -> tuple[float, ...]:
    """The limits with few digits and none twice; where they cannot be told apart, evenly spaced
    between the two ends.
    """
    for candidates in (limits, np.linspace(least, most, len(limits) + 1)[1:]):
        for digits in DIGITS:
            found = tuple(float(f"{limit:.{digits}g}") for limit in sorted(candidates))
            if found[0] > 0 and len(set(found)) == len(found):
                return found
    raise SaddleError(
        f"the frontier of {task} has no room for {len(limits)} limits between the costs "
        f"{least:.3g} and {most:.3g}; ask for fewer"
    )
