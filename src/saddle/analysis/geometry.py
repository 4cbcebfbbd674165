"""What a sweep of fixed lambdas shows: profile, frontier, slope, regimes and recommended limits."""

import dataclasses
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from saddle.analysis import findings as f
from saddle.analysis import frontier as pareto
from saddle.analysis import profile as prof
from saddle.analysis import restrictiveness as rest
from saddle.analysis.bootstrap import as_costs, interval
from saddle.analysis.options import Options
from saddle.analysis.published import recommended_limits
from saddle.analysis.resolution import standard_error, unit_of_limits
from saddle.analysis.summary import estimate, numbers

Quantity = Literal["return", "cost"]
SHARES = (0.25, 0.5, 0.75)  # of seeds, for the attainment surfaces


@dataclass(frozen=True)
class Geometry:
    """A sweep's curves as arrays. `shape` is what limits and frontiers are read from.

    It joins by lines the nearest means that fall with lambda, but where they clearly rise. The
    published way smooths the means by LOWESS instead.
    """

    sweep: prof.Sweep
    options: Options
    means: prof.Fits  # at the sweep's lambdas
    shape: prof.Fits  # on a grid
    rises: tuple[f.Rise, ...]
    points: (
        prof.Fits
    )  # candidates of the frontier: `shape`, or smoothed means at the sweep's lambdas
    kept: np.ndarray  # indices of the frontier's points, by rising cost
    traces: list[pareto.Trace]  # the frontier of every replicate
    banded: bool  # some lambda has two seeds or more, so that there are intervals at all
    arc: rest.Arc | None

    def band(self, replicates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interval over the first axis; NaN where one seed shows no scatter."""
        lo, hi = interval(replicates, self.options.level)
        return (lo, hi) if self.banded else (np.full_like(lo, np.nan), np.full_like(hi, np.nan))

    def curve(self, value: np.ndarray, replicates: np.ndarray) -> f.Curve:
        """A curve with its band."""
        return f.Curve(numbers(value), *(numbers(end) for end in self.band(replicates)))

    def estimate(self, value: float, replicates: np.ndarray) -> f.Estimate:
        """A number with its interval."""
        return estimate(value, *(float(end) for end in self.band(replicates)))


def geometry(sweep: prof.Sweep, options: Options, means: prof.Fits | None = None) -> Geometry:
    """Fit everything that is fitted once per sweep. Needs at least two lambdas.

    `means` are those at the sweep's lambdas, where they are not simply the means of its seeds.
    """
    means = means or prof.group_means(sweep, options)
    banded = bool((np.isfinite(sweep.costs).sum(1) > 1).any())
    at_lambdas = prof.smoothed(sweep, means, means.axis, options)
    stretches: dict[Quantity, list[prof.Stretch]] = {
        "return": prof.rising_stretches(at_lambdas.returns, means.returns, options.level),
        "cost": prof.rising_stretches(at_lambdas.costs, means.costs, options.level),
    }
    published = options.construction == "published"
    if published:
        shape = prof.joined_in_logarithm(sweep, at_lambdas, options)
        points = at_lambdas
    else:
        fallen = _falling(sweep, means, stretches, banded)
        shape = prof.joined(sweep, fallen, prof.grid_with_knots(means, options), options)
        points = shape
    select = pareto.running_maxima if published else pareto.nondominated
    cost, returns = points.costs.value, points.returns.value
    kept = pareto.by_cost(select(cost, returns), cost)
    kept = kept[np.append(np.diff(cost[kept]) > 0, True)]  # of equal costs the highest return
    arc = rest.arc(
        points.axis[kept],
        cost[kept],
        returns[kept],
        points.costs.replicates[:, kept],
        points.returns.replicates[:, kept],
    )
    traces = pareto.traces(points.costs.replicates, points.returns.replicates)
    rises = _rises(sweep, stretches, banded)
    return Geometry(sweep, options, means, shape, rises, points, kept, traces, banded, arc)


def _falling(
    sweep: prof.Sweep, means: prof.Fits, stretches: dict[Quantity, list[prof.Stretch]], banded: bool
) -> prof.Fits:
    """The nearest means that fall with lambda, but over the stretches that clearly rise."""
    seeds = np.isfinite(sweep.costs).sum(1).astype(float)

    def clear(quantity: Quantity) -> list[prof.Stretch]:
        return [stretch for stretch in stretches[quantity] if banded and stretch.clear]

    returns = prof.falling(means.returns, seeds, clear("return"))
    costs = prof.falling(means.costs, seeds, clear("cost"))
    return dataclasses.replace(means, returns=returns, costs=costs)


def _rises(
    sweep: prof.Sweep, stretches: dict[Quantity, list[prof.Stretch]], banded: bool
) -> tuple[f.Rise, ...]:
    found = []
    for quantity, own in stretches.items():
        for stretch in own:
            start, end = sweep.lambdas[[stretch.start, stretch.end]]
            ends = (stretch.lo, stretch.hi) if banded else (np.nan, np.nan)
            rise = estimate(stretch.rise, *ends)
            found.append(f.Rise(quantity, float(start), float(end), rise, banded and stretch.clear))
    return tuple(found)


def profile(geo: Geometry) -> f.Profile:
    """Return and cost against lambda: what limits and the frontier are read from."""
    shape = geo.shape
    return f.Profile(
        tuple(shape.lambdas.tolist()),
        geo.curve(shape.returns.value, shape.returns.replicates),
        geo.curve(shape.costs.value, shape.costs.replicates),
        geo.rises,
    )


def frontier(geo: Geometry) -> f.Frontier:
    """The frontier's points, its curve over cost, attainment surfaces and hypervolume."""
    fits, kept = geo.points, geo.kept
    cost, returns = fits.costs.value, fits.returns.value
    grid = _cost_grid(geo)
    own = pareto.trace(cost[kept], returns[kept])
    reference = (float(cost.max()), float(returns.min()))
    volumes = np.array([pareto.hypervolume(trace, reference) for trace in geo.traces])
    costs = geo.sweep.costs.T
    many_returns = geo.sweep.returns.T
    return f.Frontier(
        lambda_=tuple(fits.lambdas[kept].tolist()),
        cost=geo.curve(cost[kept], fits.costs.replicates[:, kept]),
        return_=geo.curve(returns[kept], fits.returns.replicates[:, kept]),
        grid=tuple(grid.tolist()),
        curve=geo.curve(pareto.return_at(own, grid), pareto.returns_at(geo.traces, grid)),
        attainment=tuple(
            f.Attainment(share, numbers(pareto.attainment(costs, many_returns, grid, share)))
            for share in SHARES
        ),
        hypervolume=geo.estimate(pareto.hypervolume(own, reference), volumes),
        reference=reference,
        construction=geo.options.construction,
    )


def above_frontier(geo: Geometry) -> list[str]:
    """A note where means over seeds lie above the frontier by more than their noise, and why that
    may be.
    """
    if not geo.banded:
        return []
    means = geo.means
    own = pareto.trace(geo.points.costs.value, geo.points.returns.value)
    away = means.returns.value - pareto.return_at(own, means.costs.value)
    mean_costs = as_costs(means.costs.replicates, geo.sweep.costs)
    replicates = means.returns.replicates - pareto.returns_at(geo.traces, mean_costs)
    lo, _ = interval(replicates, geo.options.level)
    cheaper = own[0][0] - means.costs.value
    first = np.array([cost[0] for cost, _ in geo.traces])
    lo_cheaper, _ = interval(first[:, None] - mean_costs, geo.options.level)
    # A mean that is on the line is off by rounding.
    least = 1e-6 * np.ptp(means.returns.value)
    least_cost = 1e-6 * np.ptp(means.costs.value)
    is_above = (away > least) & (lo > least)
    is_cheaper = (cheaper > least_cost) & (lo_cheaper > least_cost)
    above = means.lambdas[is_above | is_cheaper]
    if not len(above):
        return []
    names = ", ".join(f"{lam:.3g}" for lam in above)
    means_lie = "its mean lies" if len(above) == 1 else "their means lie"
    if geo.options.construction == "published":
        why = "The line is drawn through smoothed means, and smoothing pulls bends and cliffs down."
    else:
        why = (
            "Where means rise with lambda, those of neighbours are pooled before the line is "
            "drawn, since the best of "
            "many noisy means is too good."
        )
    return [
        f"Lambda {names}: {means_lie} above the frontier, or before its lowest cost, by more than "
        f"the noise. {why}"
    ]


def _cost_grid(geo: Geometry) -> np.ndarray:
    """Costs along the frontier, even by arc length, so that steep stretches are resolved, and where
    it may bend.
    """
    kept = geo.points.costs.value[geo.kept]
    if geo.arc is None:
        return np.unique(kept)
    even = geo.arc.at(geo.arc.cost, np.linspace(0, 1, geo.options.grid))
    bends = kept[np.isin(geo.points.axis[geo.kept], geo.means.axis)]
    return np.unique(np.concatenate([even, bends]))


def slope(geo: Geometry) -> tuple[f.Slope | None, tuple[f.Regime, ...]]:
    """Restrictiveness along the frontier, and its regimes. Without scatter over seeds there are no
    regimes.
    """
    arc = geo.arc
    if arc is None:
        return None, ()
    along = rest.slopes(arc, geo.options.level)
    average = arc.return_span / arc.cost_span
    unknown = np.full(rest.PLACES, np.nan)
    lo, hi = (along.lo, along.hi) if geo.banded else (unknown, unknown)
    parts = [rest.to_slope(angle) for angle in (along.angle, lo, hi)]
    top = float(arc.returns.max())
    result = f.Slope(
        lambda_=tuple(_lambdas_at(geo, arc, along.place).tolist()),
        cost=tuple(arc.at(arc.cost, along.place).tolist()),
        slope=f.Curve(*(numbers(part * average) for part in parts)),
        normalised=f.Curve(*(numbers(part) for part in parts)),
        average=average,
        at_stake=arc.return_span / top if top > 0 else None,
    )
    found = rest.segments(arc, along, geo.options.level) if geo.banded else []
    return result, tuple(_regime(geo, arc, segment) for segment in found)


def _regime(geo: Geometry, arc: rest.Arc, segment: rest.Segment) -> f.Regime:
    ends = np.array([segment.start, segment.end])
    low, high = (float(c) for c in arc.at(arc.cost, ends))
    lambdas = _lambdas_at(geo, arc, ends)
    raw = segment.slope * arc.return_span / arc.cost_span
    buys = f"{raw:.3g} of return" if np.isfinite(raw) else "more return than can be told"
    words = {
        "restrictive": "more than the frontier's average: tightening a limit here is dear",
        "unrestrictive": "less than the frontier's average: tightening a limit here is cheap",
        "even": "neither clearly more nor clearly less than the frontier's average",
    }
    reason = (
        f"between cost {low:.3g} and {high:.3g} a unit of cost buys {buys}, {words[segment.kind]}"
    )
    slope = estimate(segment.slope, segment.lo, segment.hi)
    return f.Regime(segment.kind, low, high, float(lambdas[0]), float(lambdas[1]), slope, reason)


def _lambdas_at(geo: Geometry, arc: rest.Arc, places: np.ndarray) -> np.ndarray:
    """Lambda at places of the frontier, within the sweep to the last bit."""
    lambdas = prof.from_axis(arc.at(arc.axis, places), geo.options)
    return np.clip(lambdas, geo.sweep.lambdas[0], geo.sweep.lambdas[-1])


def kind_at(regimes: tuple[f.Regime, ...], cost: float) -> f.Kind | None:
    """The regime in which a cost lies; None outside the frontier."""
    return next(
        (regime.kind for regime in regimes if regime.cost_from <= cost <= regime.cost_to), None
    )


class Advice(NamedTuple):
    """Recommended limits, and notes on the regimes that have none."""

    limits: tuple[f.Recommendation, ...]
    notes: list[str]


def recommend(geo: Geometry, regimes: tuple[f.Regime, ...], task: str, unit: float) -> Advice:
    """One plain limit from the middle of each regime, which costs counted in a `unit` (0: none) can
    resolve.
    """
    arc = geo.arc
    if arc is None:
        return Advice((), [])
    found, notes = [], []
    unit = unit_of_limits(unit, float(arc.cost.max()))
    for regime in regimes:
        ends = np.interp([regime.cost_from, regime.cost_to], arc.cost, arc.place)
        middle = float(arc.at(arc.cost, np.array([ends.mean()]))[0])
        noise = standard_error(_costs_within(geo.sweep, regime))
        least = max(unit, noise)
        limit = None
        if least <= regime.cost_to:
            limit = rest.round_limit(middle, max(regime.cost_from, least), regime.cost_to, unit)
        if limit is None:
            notes.append(
                f"No limit is recommended between the costs {regime.cost_from:.3g} and "
                f"{regime.cost_to:.3g}, where the frontier is {regime.kind}: "
                f"{_why_no_limit(regime, noise)}."
            )
            continue
        relation = _relation(regime, recommended_limits(task))
        found.append(f.Recommendation(limit, regime.kind, regime.reason, relation))
    return Advice(tuple(found), notes)


def _why_no_limit(regime: f.Regime, noise: float) -> str:
    """Why costs resolve no limit in a regime, whose mean costs have this standard error."""
    if noise > regime.cost_to:
        return f"mean costs there have a standard error of {noise:.3g}, which is more"
    return "costs are counted in whole numbers, and none above their noise lies there"


def _costs_within(sweep: prof.Sweep, regime: f.Regime) -> np.ndarray:
    """Costs [lambdas, seeds] at the lambdas of a regime; if none was run there, at the two around
    it.
    """
    inside = (sweep.lambdas >= regime.lambda_to) & (sweep.lambdas <= regime.lambda_from)
    if inside.any():
        return sweep.costs[inside]
    after = int(np.searchsorted(sweep.lambdas, regime.lambda_from))
    return sweep.costs[after - 1 : after + 1]


def _relation(regime: f.Regime, published: tuple[float, ...]) -> str:
    """How a regime stands to the published list of limits."""
    if not published:
        return "no recommendation is published for this task"
    same = [limit for limit in published if regime.cost_from <= limit <= regime.cost_to]
    if same:
        return f"published recommendations in this regime: {_join(same)}"
    return f"the published recommendations, {_join(published)}, lie elsewhere"


def published_limits(
    geo: Geometry | None, regimes: tuple[f.Regime, ...], task: str
) -> tuple[f.PublishedLimit, ...]:
    """Where the published recommended limits lie on this frontier."""
    found = []
    for limit in recommended_limits(task):
        kind = kind_at(regimes, limit)
        if geo is None:
            reason = "there is no frontier to place it on"
        else:
            cost = geo.points.costs.value[geo.kept]
            if limit < cost.min():
                reason = f"below the frontier, whose lowest cost is {cost.min():.3g}"
            elif limit > cost.max():
                reason = (
                    f"above the frontier, whose highest cost is {cost.max():.3g}: it does not bind"
                )
            else:
                reason = (
                    f"in the frontier's {kind} stretch"
                    if kind
                    else "on the frontier; its regime cannot be told"
                )
        found.append(f.PublishedLimit(limit, kind, reason))
    return tuple(found)


def _join(limits: tuple[float, ...] | list[float]) -> str:
    return " and ".join(f"{limit:g}" for limit in limits)
