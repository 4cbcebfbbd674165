"""Return and cost against lambda: means over seeds, with bootstrap replicates, and where they rise
or cross a limit.
"""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Num
from scipy.optimize import isotonic_regression

from saddle.analysis.bootstrap import as_costs, draw_counts, interval, replicate_means
from saddle.analysis.interpolate import Located, locate
from saddle.analysis.options import Options
from saddle.analysis.smooth import lines_between, smooth


class Sweep(NamedTuple):
    """Final values of every seed at every fixed lambda; NaN where there is no such run."""

    lambdas: Num[np.ndarray, " lambdas"]  # rising
    seeds: Num[np.ndarray, " seeds"]
    returns: Num[np.ndarray, "lambdas seeds"]
    costs: Num[np.ndarray, "lambdas seeds"]


@dataclass(frozen=True)
class Fit:
    """One quantity along lambda."""

    value: Float[np.ndarray, " grid"]
    replicates: Float[np.ndarray, "replicates grid"]

    @classmethod
    def of(cls, rows: np.ndarray) -> "Fit":
        """From the estimate and its replicates [1 + replicates, grid]."""
        return cls(rows[0], rows[1:])

    @property
    def rows(self) -> np.ndarray:
        """The estimate and its replicates, [1 + replicates, grid]."""
        return np.vstack([self.value, self.replicates])


@dataclass(frozen=True)
class Fits:
    """A sweep's profile: return and cost on a grid of lambda."""

    lambdas: Float[np.ndarray, " grid"]  # rising
    axis: Float[np.ndarray, " grid"]  # log lambda, or lambda
    returns: Fit
    costs: Fit


def to_axis(lambdas: np.ndarray, options: Options) -> np.ndarray:
    """Lambda on the smoothing axis."""
    return np.log(lambdas) if options.scale == "log" else np.asarray(lambdas, float)


def from_axis(axis: np.ndarray, options: Options) -> np.ndarray:
    """Lambda of places on the smoothing axis; infinities stay."""
    return np.exp(axis) if options.scale == "log" else axis


def seed_counts(seeds: np.ndarray, options: Options) -> np.ndarray:
    """The bootstrap's draws of the seeds [replicates, seeds], the same for every quantity of a
    sweep.
    """
    rng = np.random.default_rng(options.seed)
    return draw_counts(rng, options.replicates, len(seeds))


def group_means(sweep: Sweep, options: Options) -> Fits:
    """Means over seeds at the sweep's lambdas, with those of every bootstrap replicate."""
    counts = seed_counts(sweep.seeds, options)

    def mean(values: np.ndarray) -> Fit:
        return Fit(np.nanmean(values, axis=1), replicate_means(values, counts, options.level))

    axis = to_axis(sweep.lambdas, options)
    return Fits(sweep.lambdas, axis, mean(sweep.returns), mean(sweep.costs))


def smoothed(sweep: Sweep, means: Fits, axis: np.ndarray, options: Options) -> Fits:
    """LOWESS of the means, and of every replicate's, at rising places of the axis."""

    def curve(fit: Fit) -> Fit:
        rows = smooth(means.axis, fit.rows, axis, options.frac, options.iterations, options.correct)
        return Fit.of(rows)

    return _on_grid(sweep, axis, options, curve(means.returns), curve(means.costs))


def joined(sweep: Sweep, means: Fits, axis: np.ndarray, options: Options) -> Fits:
    """Straight lines between neighbouring lambdas, at places of the axis."""

    def curve(fit: Fit) -> Fit:
        return Fit.of(lines_between(means.axis, fit.rows, axis))

    return _on_grid(sweep, axis, options, curve(means.returns), curve(means.costs))


def _on_grid(sweep: Sweep, axis: np.ndarray, options: Options, returns: Fit, costs: Fit) -> Fits:
    """Curves at places of the axis, whose lambdas are within the sweep to the last bit."""
    costs = Fit.of(as_costs(costs.rows, sweep.costs))
    lambdas = np.clip(from_axis(axis, options), sweep.lambdas[0], sweep.lambdas[-1])
    return Fits(lambdas, axis, returns, costs)


def joined_in_logarithm(sweep: Sweep, at_lambdas: Fits, options: Options) -> Fits:
    """Straight lines over log lambda between neighbouring lambdas, whatever axis they are on.

    With smoothed values at the lambdas this is the published profile: its grid is even in the
    logarithm, and smoothing says nothing of what lies between two lambdas. A sweep that has
    lambda 0 is joined over lambda itself.
    """
    if at_lambdas.lambdas[0] <= 0 or options.scale == "log":
        return joined(sweep, at_lambdas, grid_with_knots(at_lambdas, options), options)
    in_log = dataclasses.replace(options, scale="log")
    knots = dataclasses.replace(at_lambdas, axis=to_axis(at_lambdas.lambdas, in_log))
    shape = joined(sweep, knots, grid_with_knots(knots, in_log), in_log)
    return dataclasses.replace(shape, axis=to_axis(shape.lambdas, options))


def even_grid(means: Fits, options: Options) -> np.ndarray:
    """Even places on the axis, from its first lambda to its last."""
    return np.linspace(means.axis[0], means.axis[-1], options.grid)


def grid_with_knots(means: Fits, options: Options) -> np.ndarray:
    """Even places on the axis together with the sweep's own lambdas, at which joined lines bend."""
    even = even_grid(means, options)
    spacing = even[1] - even[0]
    to_nearest = np.abs(even[:, None] - means.axis).min(axis=1)
    apart = even[to_nearest > spacing / 4]
    return np.sort(np.concatenate([apart, means.axis]))


class Stretch(NamedTuple):
    """Two lambdas of the sweep, by index, between which a quantity rises; by how much, and the
    rise's interval.
    """

    start: int
    end: int
    rise: float
    lo: float
    hi: float
    clear: bool  # the intervals of the means' rise and of the smoothed rise both lie above 0


LEAST_RISE = 0.01
"""Of a quantity's range: what goes up by less is not said to rise."""


def rising_stretches(smooth_curve: Fit, means: Fit, level: float) -> list[Stretch]:
    """Where a quantity goes up with lambda by more than a share of its range. Both arguments are at
    the lambdas run.

    The smoothed curve says where, so that not every wobble of the means is listed; the means say by
    how much.
    """
    up = np.diff(smooth_curve.value) > 0
    turns = np.diff(up, prepend=False, append=False)
    starts, ends = np.flatnonzero(turns).reshape(-1, 2).T
    least = LEAST_RISE * np.ptp(smooth_curve.value)
    found = []
    for start, end in zip(starts, ends, strict=True):
        rise = means.value[end] - means.value[start]
        smooth_rise = smooth_curve.value[end] - smooth_curve.value[start]
        if smooth_rise > least and rise > least:
            lo, hi = _rise_interval(means, start, end, level)
            smooth_lo, _ = _rise_interval(smooth_curve, start, end, level)
            clear = lo > 0 and smooth_lo > 0
            found.append(Stretch(int(start), int(end), float(rise), lo, hi, clear))
    return found


def _rise_interval(fit: Fit, start: int, end: int, level: float) -> tuple[float, float]:
    lo, hi = interval(fit.replicates[:, end] - fit.replicates[:, start], level)
    return float(lo), float(hi)


def falling(means: Fit, seeds: np.ndarray, rises: list[Stretch]) -> Fit:
    """The nearest means that do not rise with lambda, but over the stretches `rises` (isotonic
    regression).

    Of the estimate and of each replicate; a lambda weighs as many as it has `seeds` [lambdas].
    Return and cost fall with lambda unless the data show otherwise. Without this a frontier takes
    the best of many noisy points, and is too high where it is flat.
    """
    rows = means.rows
    fallen = np.empty_like(rows)
    start = 0
    for stretch in rises:
        before = slice(start, stretch.start + 1)
        between = slice(stretch.start + 1, stretch.end)
        fallen[:, before] = monotone(rows[:, before], seeds[before], increasing=False)
        fallen[:, between] = monotone(rows[:, between], seeds[between], increasing=True)
        start = stretch.end
    rest = slice(start, None)
    fallen[:, rest] = monotone(rows[:, rest], seeds[rest], increasing=False)
    return Fit.of(fallen)


def monotone(
    rows: Float[np.ndarray, "rows lambdas"], weights: Num[np.ndarray, " lambdas"], increasing: bool
) -> Float[np.ndarray, "rows lambdas"]:
    """Isotonic regression of each row; each lambda has its weight."""
    if rows.shape[1] == 0:
        return rows
    fitted = [isotonic_regression(row, weights=weights, increasing=increasing).x for row in rows]
    return np.stack(fitted)


def crossings(
    axis: Float[np.ndarray, " grid"], cost: Float[np.ndarray, " grid"], limit: float
) -> Float[np.ndarray, " crossings"]:
    """Every place on the axis at which a cost falls from above the limit to the limit or below."""
    above = cost > limit
    start = np.flatnonzero(above[:-1] & ~above[1:])
    share = (cost[start] - limit) / (cost[start] - cost[start + 1])
    return Located(start, share).along(axis)


def first_crossings(
    axis: Float[np.ndarray, " grid"], costs: Float[np.ndarray, "rows grid"], limit: float
) -> Float[np.ndarray, " rows"]:
    """The first crossing of each row; -inf: at or below from the start on, +inf: never."""
    above = costs > limit
    falls = above[:, :-1] & ~above[:, 1:]
    ever = falls.any(axis=1)
    start = falls.argmax(axis=1)
    rows = np.arange(len(costs))
    high = costs[rows, start]
    low = costs[rows, start + 1]
    share = (high - limit) / np.where(ever, high - low, 1.0)
    place = Located(start, share).along(axis)
    first = np.where(ever, place, np.inf)
    return np.where(above[:, 0], first, -np.inf)


def value_at(
    axis: Float[np.ndarray, " grid"],
    curves: Float[np.ndarray, "rows grid"],
    places: Float[np.ndarray, " rows"],
) -> Float[np.ndarray, " rows"]:
    """Each row of curves at its own place, linear between grid points; the ends reach outwards."""
    inside = np.clip(places, axis[0], axis[-1])
    start, share = locate(axis, inside)
    rows = np.arange(len(curves))
    return curves[rows, start] * (1 - share) + curves[rows, start + 1] * share
