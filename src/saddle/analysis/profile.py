"""Return and cost against lambda: smoothed curves with bootstrap replicates, and where they rise or cross a limit."""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from saddle.analysis.bootstrap import draw_counts, interval, replicate_means
from saddle.analysis.options import Options
from saddle.analysis.smooth import smooth


class Sweep(NamedTuple):
    """Final values of every seed at every fixed lambda; NaN where there is no such run."""

    lambdas: np.ndarray  # [lambdas], rising
    seeds: np.ndarray  # [seeds]
    returns: np.ndarray  # [lambdas, seeds]
    costs: np.ndarray  # [lambdas, seeds]


@dataclass(frozen=True)
class Fit:
    """One quantity along lambda."""

    value: np.ndarray  # [grid]
    replicates: np.ndarray  # [replicates, grid]


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


def seed_counts(sweep: Sweep, options: Options) -> np.ndarray:
    """The bootstrap's draws of seeds [replicates, seeds], the same for every quantity of a sweep."""
    return draw_counts(np.random.default_rng(options.seed), options.replicates, len(sweep.seeds))


def fit(sweep: Sweep, options: Options, at: np.ndarray | None = None) -> Fits:
    """Smooth the means over seeds, and those of every bootstrap replicate, on a fine grid or at given lambdas."""
    x = to_axis(sweep.lambdas, options)
    axis = np.linspace(x[0], x[-1], options.grid) if at is None else to_axis(at, options)
    counts = seed_counts(sweep, options)

    def curve(values: np.ndarray, floor: bool) -> Fit:
        means = np.vstack([np.nanmean(values, axis=1), replicate_means(values, counts, options.level)])
        curves = smooth(x, means, axis, options.frac, options.iterations, options.correct)
        if floor and np.nanmin(values) >= 0:  # a line may dip below 0 where costs are near it; no cost does
            curves = np.maximum(curves, 0.0)
        return Fit(curves[0], curves[1:])

    lambdas = np.clip(from_axis(axis, options), sweep.lambdas[0], sweep.lambdas[-1])
    return Fits(lambdas, axis, curve(sweep.returns, False), curve(sweep.costs, True))


def falling(fits: Fits) -> Fits:
    """The nearest profile that never rises with lambda, for the estimate and each replicate (isotonic regression).

    Return and cost fall with lambda unless the data show otherwise. Without this a frontier takes the best of many
    noisy points, and is too high where it is flat.
    """

    def mend(curve: Fit) -> Fit:
        all_of_them = np.vstack([curve.value, curve.replicates])
        fallen = np.stack([isotonic_regression(row, increasing=False).x for row in all_of_them])
        return Fit(fallen[0], fallen[1:])

    return dataclasses.replace(fits, returns=mend(fits.returns), costs=mend(fits.costs))


class Stretch(NamedTuple):
    """Grid indices between which a curve rises, by how much, and the rise's interval."""

    start: int
    end: int
    rise: float
    lo: float
    hi: float


def rising_stretches(curve: Fit, level: float, tolerance: float = 0.01) -> list[Stretch]:
    """Where a profile goes up with lambda by more than a share of its own range."""
    up = np.concatenate([[False], np.diff(curve.value) > 0, [False]])
    starts, ends = np.flatnonzero(up[1:] & ~up[:-1]), np.flatnonzero(~up[1:] & up[:-1])
    found = []
    for a, b in zip(starts, ends, strict=True):
        rise = float(curve.value[b] - curve.value[a])
        if rise > tolerance * np.ptp(curve.value):
            lo, hi = interval(curve.replicates[:, b] - curve.replicates[:, a], level)
            found.append(Stretch(int(a), int(b), rise, float(lo), float(hi)))
    return found


def crossings(axis: np.ndarray, cost: np.ndarray, limit: float) -> np.ndarray:
    """Every place on the axis at which a cost [grid] falls from above the limit to the limit or below."""
    above = cost > limit
    index = np.flatnonzero(above[:-1] & ~above[1:])
    weight = (cost[index] - limit) / (cost[index] - cost[index + 1])
    return axis[index] + weight * (axis[index + 1] - axis[index])


def first_crossings(axis: np.ndarray, costs: np.ndarray, limit: float) -> np.ndarray:
    """The first crossing of each row [rows, grid]; -inf: at or below from the start on, +inf: never."""
    above = costs > limit
    falls = above[:, :-1] & ~above[:, 1:]
    index = falls.argmax(1)
    rows = np.arange(len(costs))
    high, low = costs[rows, index], costs[rows, index + 1]
    weight = (high - limit) / np.where(falls.any(1), high - low, 1.0)
    place = axis[index] + weight * (axis[index + 1] - axis[index])
    return np.where(~above[:, 0], -np.inf, np.where(falls.any(1), place, np.inf))


def value_at(axis: np.ndarray, curves: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Each row of curves [rows, grid] at its own place [rows], linear between grid points; the ends reach outwards."""
    inside = np.clip(places, axis[0], axis[-1])
    index = np.clip(np.searchsorted(axis, inside, side="right") - 1, 0, len(axis) - 2)
    weight = (inside - axis[index]) / (axis[index + 1] - axis[index])
    rows = np.arange(len(curves))
    return curves[rows, index] * (1 - weight) + curves[rows, index + 1] * weight
