"""How restrictive a cost limit is: the slope dR/dC along a frontier, and its regimes.

Slopes are taken in normalised coordinates, in which the frontier runs from (0, 0) to (1, 1): 1 is
its average slope, and tasks compare. Places along it are shares of its arc length there, so that a
steep stretch over few costs counts as much as a flat one over many. Slopes are handled as angles,
which stay finite where the frontier is upright.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from saddle.analysis.bootstrap import interval
from saddle.analysis.findings import Kind
from saddle.analysis.interpolate import locate

PLACES = 41  # at which the slope is given
REACH = 0.05  # of the arc, to either side, over which a slope is taken
LEAST_ARC = 0.1  # of a regime
MOST_REGIMES = 4
RESOLUTION = np.deg2rad(8.0)  # differences of angle below this are not worth a regime
PLAIN = np.array([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10])  # times a power of ten: limits to test at
UPRIGHT = np.arctan(100.0)  # steeper than 100 times the average: no finite slope is claimed


@dataclass(frozen=True)
class Arc:
    """A frontier by arc length, with bootstrap replicates at the same lambdas."""

    place: Float[np.ndarray, " points"]  # in [0, 1], rising with cost
    axis: Float[np.ndarray, " points"]  # log lambda, or lambda
    cost: Float[np.ndarray, " points"]
    returns: Float[np.ndarray, " points"]
    costs: Float[np.ndarray, "replicates points"]
    many_returns: Float[np.ndarray, "replicates points"]
    cost_span: float
    return_span: float

    def chord(self, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angles of the chords between places: [chords], and [replicates, chords]."""
        starts = locate(self.place, start)
        ends = locate(self.place, end)

        def change(values: np.ndarray) -> np.ndarray:
            return ends.between(values) - starts.between(values)

        angle = self._angle(change(self.returns), change(self.cost))
        angles = self._angle(change(self.many_returns), change(self.costs))
        return angle, angles

    def at(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Values [points] at places along the arc."""
        return np.interp(places, self.place, values)

    def _angle(self, rise: np.ndarray, run: np.ndarray) -> np.ndarray:
        angle = np.arctan2(rise / self.return_span, run / self.cost_span)
        return np.clip(angle, 0, np.pi / 2)


def arc(
    axis: np.ndarray,
    cost: np.ndarray,
    returns: np.ndarray,
    costs: np.ndarray,
    many_returns: np.ndarray,
) -> Arc | None:
    """Frontier points in order of rising cost, by arc length. None where they span no cost or no
    return.
    """
    place = places_along(cost, returns)
    if len(cost) < 3 or place is None:
        return None
    cost_span = float(np.ptp(cost))
    return_span = float(np.ptp(returns))
    return Arc(place, axis, cost, returns, costs, many_returns, cost_span, return_span)


def places_along(
    cost: Float[np.ndarray, " points"], returns: Float[np.ndarray, " points"]
) -> Float[np.ndarray, " points"] | None:
    """Where a frontier's points, in order of rising cost, lie along its arc, from 0 to 1, in units
    of its spans; None where it spans no cost or no return.
    """
    cost_span = np.ptp(cost)
    return_span = np.ptp(returns)
    if not min(cost_span, return_span) > 0:
        return None
    steps = np.hypot(np.diff(cost) / cost_span, np.diff(returns) / return_span)
    return np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()


class Slopes(NamedTuple):
    """Angles along the arc with their band."""

    place: Float[np.ndarray, " places"]
    angle: Float[np.ndarray, " places"]
    lo: Float[np.ndarray, " places"]
    hi: Float[np.ndarray, " places"]
    spread: float  # mean bootstrap variance of the angles


def slopes(frontier: Arc, level: float) -> Slopes:
    """The slope at evenly spaced places of the arc."""
    place = np.linspace(0, 1, PLACES)
    start = np.maximum(place - REACH, 0)
    end = np.minimum(place + REACH, 1)
    angle, angles = frontier.chord(start, end)
    lo, hi = interval(angles, level)
    return Slopes(place, angle, lo, hi, float(angles.var(0).mean()))


def to_slope(angle: np.ndarray) -> np.ndarray:
    """Normalised slope of an angle; infinite when upright."""
    return np.where(angle >= UPRIGHT, np.inf, np.tan(np.minimum(angle, UPRIGHT)))


class Segment(NamedTuple):
    """A regime: its stretch of the arc, its kind, and its normalised slope."""

    start: float
    end: float
    kind: Kind
    slope: float
    lo: float
    hi: float


def segments(frontier: Arc, along: Slopes, level: float) -> list[Segment]:
    """The regimes: stretches of about constant slope, told apart from the average slope by their
    intervals.
    """
    edges = _partition(along.angle, max(along.spread, RESOLUTION**2))
    inner = np.array(edges[1:-1], int)
    between = (along.place[inner - 1] + along.place[inner]) / 2
    places = [0.0, *between.tolist(), 1.0]
    found: list[Segment] = []
    for start, end in itertools.pairwise(places):
        segment = _segment(frontier, start, end, level)
        if found and found[-1].kind == segment.kind:
            segment = _segment(frontier, found.pop().start, end, level, segment.kind)
        found.append(segment)
    return found


def _segment(
    frontier: Arc, start: float, end: float, level: float, kind: Kind | None = None
) -> Segment:
    angle, angles = frontier.chord(np.array([start]), np.array([end]))
    lo, hi = interval(angles, level)
    slope, low, high = to_slope(np.concatenate([angle, lo, hi])).tolist()
    if start == 0 and end == 1:  # the whole frontier has its own average slope
        kind = "even"
    elif kind is None:
        kind = _kind_of(low, high)
    return Segment(start, end, kind, slope, low, high)


def _kind_of(low: float, high: float) -> Kind:
    """What the interval of a normalised slope says."""
    if low > 1:
        return "restrictive"
    if high < 1:
        return "unrestrictive"
    return "even"


class _Pieces(NamedTuple):
    """A piecewise constant fit: its squared error, and where its pieces begin and end."""

    error: float
    edges: list[int]


def _partition(angle: np.ndarray, variance: float) -> list[int]:
    """Edges [0, ..., places] of the piecewise constant fit that balances its squared error against
    its pieces.
    """
    n = len(angle)
    least = max(int(np.ceil(LEAST_ARC * n)), 2)
    total = np.concatenate([[0.0], np.cumsum(angle)])
    square = np.concatenate([[0.0], np.cumsum(angle**2)])

    def error(start: int, end: int) -> float:
        """The squared error of one constant over places start to end - 1."""
        squares = square[end] - square[start]
        return squares - (total[end] - total[start]) ** 2 / (end - start)

    # By how many of the first places they cover: the best fits of so many pieces.
    best = {end: _Pieces(error(0, end), [0, end]) for end in range(least, n + 1)}
    choice = best[n]
    penalty = 3 * np.log(n) * variance
    lowest = choice.error + penalty
    for pieces in range(2, MOST_REGIMES + 1):
        longer: dict[int, _Pieces] = {}
        for end in range(pieces * least, n + 1):
            candidates = []
            for start in range((pieces - 1) * least, end - least + 1):
                before = best[start]
                candidate = _Pieces(before.error + error(start, end), [*before.edges, end])
                candidates.append(candidate)
            longer[end] = min(candidates)
        best = longer
        if best and best[n].error + pieces * penalty < lowest:
            choice = best[n]
            lowest = choice.error + pieces * penalty
    return choice.edges


def round_limit(target: float, low: float, high: float, unit: float = 0.0) -> float | None:
    """A plain number near the target and between the two ends; with a unit, a multiple of it.

    None where no multiple of the unit lies between the ends.
    """
    target = min(max(target, low), high)
    if target <= 0:
        return 0.0
    tens = 10.0 ** np.floor(np.log10(target))
    plain = PLAIN * tens
    if unit > 0:
        nearest = np.rint(plain / unit)
        multiples = (nearest > 0) & np.isclose(nearest * unit, plain)
        plain = plain[multiples]
    plain = plain[(plain >= low) & (plain <= high)]
    if len(plain):
        nearest = np.abs(np.log(plain / target)).argmin()
        return float(f"{plain[nearest]:.3g}")
    if unit == 0:
        return float(f"{target:.3g}")
    return _nearest_multiple(target, low, high, unit)


def _nearest_multiple(target: float, low: float, high: float, unit: float) -> float | None:
    """The positive multiple of a unit that is nearest to the target and between the ends, if there
    is one.
    """
    first = max(np.ceil(low / unit), 1.0)
    last = np.floor(high / unit)
    if first > last:
        return None
    return float(np.clip(np.rint(target / unit), first, last) * unit)
