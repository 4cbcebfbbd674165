"""What a sweep says at one cost limit: lambda*, expected return, violations, and the margin to
train with.
"""

from typing import NamedTuple

import numpy as np

from saddle.analysis import findings as f
from saddle.analysis import profile as prof
from saddle.analysis.geometry import Geometry, kind_at
from saddle.analysis.margin import Spread, fixed_margin, violation_shares
from saddle.analysis.summary import estimate, number
from saddle.multipliers.fixed import Fixed

NO_ESTIMATE = f.Estimate(None)


def at_limit(
    geo: Geometry, scatter: Spread, regimes: tuple[f.Regime, ...], limit: float
) -> f.LimitFinding:
    """Everything about one limit from the profile."""
    shape, options = geo.shape, geo.options
    found = crossing(geo, limit)
    places, status = found.places, found.status
    at_place = prof.value_at(shape.axis, shape.returns.rows, places)
    expected = NO_ESTIMATE if status == "always above" else geo.estimate(at_place[0], at_place[1:])
    shares = violation_shares(scatter, shape.costs.value, shape.costs.replicates, limit)
    here = np.clip(places[0], shape.axis[0], shape.axis[-1])
    violating = prof.value_at(shape.axis, shares, np.full(len(shares), here))
    return f.LimitFinding(
        limit=limit,
        status=status,
        reason=found.reason,
        lambda_=found.lambda_,
        train_at=train_at(geo, found, limit),
        crossings=tuple(
            prof.from_axis(prof.crossings(shape.axis, shape.costs.value, limit), options).tolist()
        ),
        reached_share=found.reached_share,
        return_=expected,
        regime=kind_at(regimes, limit),
        violation_share=geo.estimate(violating[0], violating[1:]) if geo.banded else NO_ESTIMATE,
        margins=(_margin(geo, shares, limit),),
    )


class Crossing(NamedTuple):
    """Where the cost profile first falls through a limit."""

    places: np.ndarray  # [rows] on the axis, the estimate's first; -inf: below from the start on
    status: f.Status
    reason: str
    lambda_: f.Estimate
    reached_share: float | None


def crossing(geo: Geometry, limit: float) -> Crossing:
    """The first crossing of the profile, and of every replicate's."""
    shape = geo.shape
    places = prof.first_crossings(shape.axis, shape.costs.rows, limit)
    status, reason = _status(geo, places[0], limit)
    reached = float(np.isfinite(places[1:]).mean()) if geo.banded else None
    return Crossing(places, status, reason, lambda_between(geo, places), reached)


def train_at(geo: Geometry, found: Crossing, limit: float) -> float:
    """The lambda to train with for this limit: lambda*, or a setting of the sweep instead of it.

    Where the limit does not bind that is the smallest lambda, which returns most. Where it is not
    reached it is the nearest setting; the published study is read as taking the sweep's end.
    """
    if found.status == "reached":
        (crossed,) = prof.from_axis(found.places[:1], geo.options)
        return float(np.clip(crossed, *geo.means.lambdas[[0, -1]]))  # logarithms are rounded
    if found.status == "always below":
        return float(geo.means.lambdas[0])
    if geo.options.construction == "published":
        return float(geo.means.lambdas[-1])
    return float(geo.means.lambdas[_nearest(geo, limit)])


def _nearest(geo: Geometry, limit: float) -> int:
    """Index of the setting of the sweep whose mean cost is nearest to the limit, the first of
    several.
    """
    return int(np.abs(geo.means.costs.value - limit).argmin())


def lambda_between(geo: Geometry, places: np.ndarray) -> f.Estimate:
    """The lambda of the first of these places [rows], with its interval from the others."""
    lo, hi = geo.band(places[1:])
    lam = prof.from_axis(np.array([places[0], lo, hi]), geo.options)
    lam[np.isinf([places[0], lo, hi])] = np.nan
    return estimate(*lam)


def _status(geo: Geometry, place: float, limit: float) -> tuple[f.Status, str]:
    shape = geo.shape
    if np.isneginf(place):
        low, cost = shape.lambdas[0], shape.costs.value[0]
        return "always below", (
            f"does not bind: at the smallest lambda of the sweep, {low:.3g}, the mean cost is "
            f"{cost:.3g}, "
            f"within {limit:g} already; lambda* is at most {low:.3g}"
        )
    if np.isposinf(place):
        lowest = _lowest(geo, limit)
        return "always above", f"not reachable: {lowest}, above {limit:g}; {_instead(geo, limit)}"
    lam = prof.from_axis(np.array(place), geo.options)
    return "reached", f"the cost profile falls through {limit:g} at lambda {lam:.3g}"


def _instead(geo: Geometry, limit: float) -> str:
    """Which setting of the sweep stands for a lambda* that there is not."""
    if geo.options.construction == "published":
        return f"the sweep ends at lambda {geo.means.lambdas[-1]:.3g}"
    index = _nearest(geo, limit)
    return (
        f"its nearest setting is lambda {geo.means.lambdas[index]:.3g}, with a mean cost of "
        f"{geo.means.costs.value[index]:.3g}"
    )


def _lowest(geo: Geometry, limit: float) -> str:
    """How low costs get. A dip below the limit that may be chance is no way to keep it."""
    index = int(geo.means.costs.value.argmin())
    cost = geo.means.costs.value[index]
    dip = (
        f"the lowest mean cost of the sweep is {cost:.3g}, at lambda {geo.means.lambdas[index]:.3g}"
    )
    if cost > limit:
        return dip
    return (
        f"{dip}, but costs rise again; the nearest profile that does not ends at "
        f"{geo.shape.costs.value[-1]:.3g}"
    )


def _margin(geo: Geometry, shares: np.ndarray, limit: float) -> f.Margin:
    options = geo.options
    if not geo.banded:
        reason = "one seed per lambda does not show how seeds scatter"
        return f.Margin(Fixed.name, options.satisfied_share, NO_ESTIMATE, NO_ESTIMATE, None, reason)
    fixed = fixed_margin(geo.shape, shares, limit, options)
    return f.Margin(
        Fixed.name,
        options.satisfied_share,
        fixed.training_limit,
        difference(limit, fixed.training_limit),
        fixed.lambda_,
        fixed.reason,
    )


def difference(limit: float, training: f.Estimate) -> f.Estimate:
    """limit - training limit; its ends swap."""
    ends = (
        number(limit - end) if end is not None else None
        for end in (training.value, training.hi, training.lo)
    )
    return f.Estimate(*ends)


def without_profile(limit: float, reason: str) -> f.LimitFinding:
    """A limit of which a study without a sweep says nothing."""
    return f.LimitFinding(
        limit=limit,
        status=None,
        reason=reason,
        lambda_=NO_ESTIMATE,
        train_at=None,
        crossings=(),
        reached_share=None,
        return_=NO_ESTIMATE,
        regime=None,
        violation_share=NO_ESTIMATE,
        margins=(),
    )
