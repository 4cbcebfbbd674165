"""Return and costs over the lambdas of several constraints: means on a grid, with bootstrap
replicates, and the way through it on which all constraints but one keep their limits.

Along that way a task with several constraints is one with a single constraint: the multipliers of
the others follow from the lambda that is looked at, each the smallest with which its constraint is
kept, and at the bottom of the grid where it does not bind (complementary slackness).

Axes: K lambdas of the constraint that is looked at, A_j those of constraint j; a row is the
estimate or a replicate.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from saddle.analysis.bootstrap import replicate_means
from saddle.analysis.interpolate import Located, locate
from saddle.analysis.options import Options
from saddle.analysis.profile import (
    Fit,
    Fits,
    Sweep,
    first_crossings,
    from_axis,
    monotone,
    seed_counts,
    to_axis,
)

MOST_ROUNDS = 50  # over the other constraints; with two constraints in all, one is exact


class Grid(NamedTuple):
    """Final values of every seed at every combination of lambdas; NaN where there is no such
    run.
    """

    axes: tuple[np.ndarray, ...]  # of each constraint: its lambdas [A_j], rising
    seeds: np.ndarray  # [seeds]
    returns: np.ndarray  # [A_0, A_1, ..., seeds]
    costs: np.ndarray  # [m, A_0, A_1, ..., seeds]


def grid_of(swept: pl.DataFrame, options: Options) -> Grid | None:
    """The largest grid that the lambdas of these runs fill; None where they fill none of two
    lambdas of two constraints, or of one.
    """
    points = np.unique(np.array(swept["lambdas"].to_list(), float), axis=0)
    axes = _full(points, options)
    if all(len(axis) == 1 for axis in axes):
        return None
    seeds = np.sort(swept["seed"].unique().to_numpy())
    shape = (*map(len, axes), len(seeds))
    count = np.zeros(shape)
    totals = np.zeros((1 + len(axes), *shape))
    for lambdas, seed, ret, costs in swept.select("lambdas", "seed", "return", "costs").iter_rows():
        place = _place_on(axes, lambdas)
        if place is None:
            continue
        at = (*place, int(np.searchsorted(seeds, seed)))
        count[at] += 1
        totals[(slice(None), *at)] += (ret, *costs)
    means = np.where(count > 0, totals / np.maximum(count, 1), np.nan)
    return Grid(axes, seeds, means[0], means[1:])


def _place_on(axes: Sequence[np.ndarray], lambdas: Sequence[float]) -> tuple[int, ...] | None:
    """The index of each lambda on its axis; None where one of them is not there."""
    place = []
    for axis, lam in zip(axes, lambdas, strict=True):
        same = np.flatnonzero(axis == lam)
        if not len(same):
            return None
        place.append(int(same[0]))
    return tuple(place)


def _full(points: np.ndarray, options: Options) -> tuple[np.ndarray, ...]:
    """The axes of a grid that the points [points, m] fill: the lambda with the fewest points is
    given up until no combination is missing.
    """
    if options.scale == "log":
        for j in range(points.shape[1]):
            if len(np.unique(points[:, j])) > 1:  # lambda 0 has no place beside others
                points = points[points[:, j] > 0]
    while True:
        axes = tuple(np.unique(column) for column in points.T)
        combinations = math.prod(map(len, axes))
        if len(points) == combinations:
            return axes
        filled = []
        for j, axis in enumerate(axes):
            wanted = combinations // len(axis)  # with each lambda of this axis
            for lam in axis:
                there = (points[:, j] == lam).sum()
                filled.append((there / wanted, j, lam))
        _, j, emptiest = min(filled)
        points = points[points[:, j] != emptiest]


@dataclass(frozen=True)
class Surface:
    """A grid's means, and those of every replicate, on the smoothing axes."""

    grid: Grid
    options: Options
    places: tuple[np.ndarray, ...]  # of each constraint: its lambdas on the axis [A_j]
    returns: np.ndarray  # [rows, A_0, A_1, ...]
    costs: np.ndarray  # [m, rows, A_0, A_1, ...]; each falls along its own axis

    @property
    def constraints(self) -> int:
        """How many there are."""
        return len(self.places)

    def lambda_at(self, constraint: int, places: np.ndarray) -> np.ndarray:
        """Lambda of places on a constraint's axis, within the grid to the last bit."""
        axis = self.grid.axes[constraint]
        if len(axis) == 1:
            return np.full(np.shape(places), axis[0])
        return np.clip(from_axis(places, self.options), axis[0], axis[-1])


def surface(grid: Grid, options: Options) -> Surface:
    """The means of a grid. The cost of a constraint does not rise with its own lambda: where means
    do, neighbours are pooled. Nothing else is smoothed.
    """
    counts = seed_counts(grid.seeds, options)
    shape = grid.returns.shape[:-1]

    def rows(values: np.ndarray) -> np.ndarray:
        flat = values.reshape(-1, len(grid.seeds))
        mean = np.nanmean(flat, axis=1)
        means = np.vstack([mean, replicate_means(flat, counts, options.level)])
        return means.reshape(-1, *shape)

    seeds = np.isfinite(grid.returns).sum(axis=-1).astype(float)
    costs = [_falling_along(rows(values), seeds, j) for j, values in enumerate(grid.costs)]
    places = [to_axis(axis, options) if len(axis) > 1 else np.zeros(1) for axis in grid.axes]
    return Surface(grid, options, tuple(places), rows(grid.returns), np.stack(costs))


def _falling_along(costs: np.ndarray, weights: np.ndarray, constraint: int) -> np.ndarray:
    """The nearest costs [rows, A_0, ...] that do not rise along a constraint's axis. A combination
    weighs as many as it has seeds: weights [A_0, ...].
    """
    lines = np.moveaxis(costs, 1 + constraint, -1)
    own = np.moveaxis(weights, constraint, -1)
    fallen = np.empty_like(lines)
    for others in np.ndindex(own.shape[:-1]):
        at = (slice(None), *others)
        fallen[at] = monotone(lines[at], own[others], increasing=False)
    return np.moveaxis(fallen, -1, 1 + constraint)


class Path(NamedTuple):
    """The way on which the others keep their limits, at those lambdas of the constraint where they
    can.
    """

    sweep: Sweep  # of that constraint, each seed's values on the way
    means: Fits
    lost: np.ndarray  # lambdas of the constraint at which the others cannot be kept


def path(surface: Surface, constraint: int, limits: Sequence[float]) -> Path:
    """The way of a constraint; `limits` are those of all, of which its own does not count."""
    at = held(surface, constraint, limits)
    can = np.ones(at.shape[-1], bool)
    for j, limit in enumerate(limits):
        if j != constraint and np.isfinite(limit):
            cost = value_at(surface.places, surface.costs[j], at)[0]
            can &= cost <= limit + 1e-9 * abs(limit)
    every = _seeds_along(surface, constraint, at[:, :1])
    kept = can & np.isfinite(every.costs).any(axis=1)
    lambdas = every.lambdas[kept]
    costs = value_at(surface.places, surface.costs[constraint], at)[:, kept]
    returns = value_at(surface.places, surface.returns, at)[:, kept]
    place = surface.places[constraint][kept]
    return Path(
        sweep=Sweep(lambdas, every.seeds, every.returns[kept], every.costs[kept]),
        means=Fits(lambdas, place, Fit.of(returns), Fit.of(costs)),
        lost=surface.grid.axes[constraint][~can],
    )


def held(surface: Surface, constraint: int, limits: Sequence[float]) -> np.ndarray:
    """Places [m, rows, K] of all multipliers at each lambda of one constraint: each of the others
    at the smallest lambda with which it keeps its limit, the largest where none does.

    One after the other, again and again until nothing moves: descent of the dual by coordinates.
    """
    own = surface.places[constraint]
    rows = len(surface.returns)
    at = np.empty((surface.constraints, rows, len(own)))
    for j, places in enumerate(surface.places):
        at[j] = own if j == constraint else places[0]
    others = [j for j in range(len(at)) if j != constraint and len(surface.places[j]) > 1]
    for _ in range(MOST_ROUNDS):
        before = at.copy()
        for j in others:
            places = surface.places[j]
            lines = _along(surface, j, at).reshape(-1, len(places))
            crossing = first_crossings(places, lines, limits[j]).reshape(at[j].shape)
            at[j] = np.clip(crossing, places[0], places[-1])
        if np.allclose(at, before):
            break
    return at


def _along(surface: Surface, constraint: int, at: np.ndarray) -> np.ndarray:
    """A constraint's cost along its own axis, the others' multipliers at their places: [rows, K,
    A_j].
    """
    columns = []
    for place in surface.places[constraint]:
        moved = at.copy()
        moved[constraint] = place
        columns.append(value_at(surface.places, surface.costs[constraint], moved))
    return np.stack(columns, -1)


def value_at(places: Sequence[np.ndarray], values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values [rows, A_0, A_1, ...] at the places at [m, rows, K] of their own row: [rows, K],
    linear along each axis. What has no weight does not count, so that a NaN there does no harm.
    """
    located = [_locate(axis, where) for axis, where in zip(places, at, strict=True)]
    shape = at.shape[1:]
    rows = np.broadcast_to(np.arange(len(values))[:, None], shape)
    total = np.zeros(shape)
    for corner in itertools.product((0, 1), repeat=len(places)):
        weight = np.ones(shape)
        index = []
        for after, (start, share), axis in zip(corner, located, places, strict=True):
            weight = weight * (share if after else 1 - share)
            index.append(np.minimum(start + after, len(axis) - 1))
        found = values[rows, *index]
        total += np.where(weight > 0, weight * found, 0.0)
    return total


def _locate(axis: np.ndarray, where: np.ndarray) -> Located:
    """Where places lie on an axis, which may be a single point."""
    if len(axis) == 1:
        return Located(np.zeros(where.shape, int), np.zeros(where.shape))
    return locate(axis, where)


def _seeds_along(surface: Surface, constraint: int, at: np.ndarray) -> Sweep:
    """Every seed's values at the estimate's places at [m, 1, K]."""
    grid = surface.grid
    places = np.broadcast_to(at, (len(at), len(grid.seeds), at.shape[-1]))

    def of_seeds(values: np.ndarray) -> np.ndarray:
        return value_at(surface.places, np.moveaxis(values, -1, 0), places).T

    return Sweep(
        grid.axes[constraint],
        grid.seeds,
        of_seeds(grid.returns),
        of_seeds(grid.costs[constraint]),
    )
