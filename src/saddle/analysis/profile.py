"""Return and cost against lambda: means over seeds, with bootstrap replicates, and where they rise
or cross a limit.
"""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Num
from scipy.optimize import isotonic_regression

from saddle.analysis.bootstrap import draw_counts, interval, replicate_means
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


@dataclass(frozen=True)
class Fits:
    """A sweep's profile: return and cost on a grid of lambda."""

    lambdas: np.ndarray  # [grid], rising
    axis: np.ndarray  # [grid]: log lambda, or lambda
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
    return draw_counts(np.random.default_rng(options.seed), options.replicates, len(seeds))


def group_means(sweep: Sweep, options: Options) -> Fits:
    """Means over seeds at the sweep's lambdas, with those of every bootstrap replicate."""
    counts = seed_counts(sweep.seeds, options)

    def mean(values: np.ndarray) -> Fit:
        return Fit(np.nanmean(values, axis=1), replicate_means(values, counts, options.level))

    return Fits(
        sweep.lambdas, to_axis(sweep.lambdas, options), mean(sweep.returns), mean(sweep.costs)
    )


def smoothed(sweep: Sweep, means: Fits, axis: np.ndarray, options: Options) -> Fits:
    """LOWESS of the means, and of every replicate's, at rising places of the axis."""

    def curve(fit: Fit) -> Fit:
        rows = smooth(
            means.axis, _rows(fit), axis, options.frac, options.iterations, options.correct
        )
        return Fit(rows[0], rows[1:])

    costs = _floored(curve(means.costs), sweep)
    return Fits(_lambdas(sweep, axis, options), axis, curve(means.returns), costs)


def joined(sweep: Sweep, means: Fits, axis: np.ndarray, options: Options) -> Fits:
    """Straight lines between neighbouring lambdas, at places of the axis."""

    def curve(fit: Fit) -> Fit:
        rows = lines_between(means.axis, _rows(fit), axis)
        return Fit(rows[0], rows[1:])

    costs = _floored(curve(means.costs), sweep)
    return Fits(_lambdas(sweep, axis, options), axis, curve(means.returns), costs)


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
    nearest = np.abs(even[:, None] - means.axis).min(1)
    return np.sort(np.concatenate([even[nearest > spacing / 4], means.axis]))


def _rows(fit: Fit) -> np.ndarray:
    """The estimate and its replicates, [1 + replicates, places]."""
    return np.vstack([fit.value, fit.replicates])


def _floored(costs: Fit, sweep: Sweep) -> Fit:
    """No mean of costs that are never negative is below 0, though a line or a replicate may dip
    below.
    """
    if np.nanmin(sweep.costs) < 0:
        return costs
    return Fit(np.maximum(costs.value, 0.0), np.maximum(costs.replicates, 0.0))


def _lambdas(sweep: Sweep, axis: np.ndarray, options: Options) -> np.ndarray:
    """Lambda at places of the axis, within the sweep to the last bit."""
    return np.clip(from_axis(axis, options), sweep.lambdas[0], sweep.lambdas[-1])


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


def rising_stretches(
    smooth_curve: Fit, means: Fit, level: float, tolerance: float = 0.01
) -> list[Stretch]:
    """Where a quantity goes up with lambda by more than a share of its range. Both arguments are at
    the lambdas run.

    The smoothed curve says where, so that not every wobble of the means is listed; the means say by
    how much.
    """
    up = np.concatenate([[False], np.diff(smooth_curve.value) > 0, [False]])
    starts, ends = np.flatnonzero(up[1:] & ~up[:-1]), np.flatnonzero(~up[1:] & up[:-1])
    least = tolerance * np.ptp(smooth_curve.value)
    found = []
    for a, b in zip(starts, ends, strict=True):
        rise = float(means.value[b] - means.value[a])
        if smooth_curve.value[b] - smooth_curve.value[a] > least and rise > least:
            lo, hi = interval(means.replicates[:, b] - means.replicates[:, a], level)
            lo_smooth, _ = interval(
                smooth_curve.replicates[:, b] - smooth_curve.replicates[:, a], level
            )
            clear = bool(lo > 0 and lo_smooth > 0)
            found.append(Stretch(int(a), int(b), rise, float(lo), float(hi), clear))
    return found


def falling(means: Fit, seeds: np.ndarray, rises: list[Stretch]) -> Fit:
    """The nearest means that do not rise with lambda, but over the stretches `rises` (isotonic
    regression).

    Of the estimate and of each replicate; a lambda weighs as many as it has `seeds` [lambdas].
    Return and cost fall with lambda unless the data show otherwise. Without this a frontier takes
    the best of many noisy points, and is too high where it is flat.
    """
    rows = _rows(means)
    fallen = np.empty_like(rows)
    start = 0
    for stretch in rises:
        between = slice(stretch.start + 1, stretch.end)
        before = slice(start, stretch.start + 1)
        fallen[:, before] = monotone(rows[:, before], seeds[before], increasing=False)
        fallen[:, between] = monotone(rows[:, between], seeds[between], increasing=True)
        start = stretch.end
    fallen[:, start:] = monotone(rows[:, start:], seeds[start:], increasing=False)
    return Fit(fallen[0], fallen[1:])


def monotone(rows: np.ndarray, weights: np.ndarray, increasing: bool) -> np.ndarray:
    """Isotonic regression of each row [rows, lambdas]; a lambda has its weight [lambdas]."""
    if rows.shape[1] == 0:
        return rows
    return np.stack(
        [isotonic_regression(row, weights=weights, increasing=increasing).x for row in rows]
    )


def crossings(axis: np.ndarray, cost: np.ndarray, limit: float) -> np.ndarray:
    """Every place on the axis at which a cost [grid] falls from above the limit to the limit or
    below.
    """
    above = cost > limit
    index = np.flatnonzero(above[:-1] & ~above[1:])
    weight = (cost[index] - limit) / (cost[index] - cost[index + 1])
    return axis[index] + weight * (axis[index + 1] - axis[index])


def first_crossings(axis: np.ndarray, costs: np.ndarray, limit: float) -> np.ndarray:
    """The first crossing of each row [rows, grid]; -inf: at or below from the start on, +inf:
    never.
    """
    above = costs > limit
    falls = above[:, :-1] & ~above[:, 1:]
    index = falls.argmax(1)
    rows = np.arange(len(costs))
    high, low = costs[rows, index], costs[rows, index + 1]
    weight = (high - limit) / np.where(falls.any(1), high - low, 1.0)
    place = axis[index] + weight * (axis[index + 1] - axis[index])
    return np.where(~above[:, 0], -np.inf, np.where(falls.any(1), place, np.inf))


def value_at(axis: np.ndarray, curves: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Each row of curves [rows, grid] at its own place [rows], linear between grid points; the ends
    reach outwards.
    """
    inside = np.clip(places, axis[0], axis[-1])
    index = np.clip(np.searchsorted(axis, inside, side="right") - 1, 0, len(axis) - 2)
    weight = (inside - axis[index]) / (axis[index + 1] - axis[index])
    rows = np.arange(len(curves))
    return curves[rows, index] * (1 - weight) + curves[rows, index + 1] * weight
