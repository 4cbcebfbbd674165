"""How much stricter to train so that a wanted share of seeds, not only their mean, satisfies a cost
limit.

For a fixed lambda: a seed's cost at lambda is m(lambda) + s(lambda) z, with the smoothed mean and
SD of the sweep, and z drawn from the standardised residuals of the lambdas nearby. For an adaptive
rule: from the spread of its own seeds.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import nctdtrit, ndtri

from saddle.analysis.bootstrap import expansion, interval
from saddle.analysis.findings import Estimate
from saddle.analysis.options import Options
from saddle.analysis.profile import (
    Fits,
    Sweep,
    first_crossings,
    from_axis,
    seed_counts,
    to_axis,
    value_at,
)
from saddle.analysis.smooth import neighbour_share, smooth, tricube_weights
from saddle.analysis.summary import estimate
from saddle.words import counted


class Spread(NamedTuple):
    """How seeds scatter around the cost profile."""

    sd: np.ndarray  # [grid]
    sds: np.ndarray  # [replicates, grid]
    z: np.ndarray  # [lambdas, seeds]: standardised residuals, NaN where there is no run
    near: (
        np.ndarray
    )  # [grid, lambdas]: weights of the lambdas whose residuals count at a grid point
    counts: np.ndarray  # [replicates, seeds]


def spread(sweep: Sweep, fits: Fits, options: Options) -> Spread:
    """SD of cost over seeds along lambda, and the residuals in units of it."""
    present = np.isfinite(sweep.costs)
    n = present.sum(1)
    mean = np.nanmean(sweep.costs, axis=1)
    off = np.where(present, sweep.costs - mean[:, None], 0.0)
    sd = np.sqrt((off**2).sum(1) / np.maximum(n - 1, 1))
    scale = np.sqrt(n / np.maximum(n - 1, 1)) / np.where(sd > 0, sd, 1.0)
    counts = seed_counts(sweep.seeds, options)
    x = to_axis(sweep.lambdas, options)
    sds = sd + expansion(n, options.level) * (_replicate_sds(off, present, sd, counts) - sd)
    curves = np.maximum(
        smooth(x, np.vstack([sd, sds]), fits.axis, options.frac, options.iterations), 0.0
    )
    near = tricube_weights(x, fits.axis, neighbour_share(options.frac, len(x)))
    return Spread(
        curves[0], curves[1:], np.where(present, off * scale[:, None], np.nan), near, counts
    )


def _replicate_sds(
    off: np.ndarray, present: np.ndarray, sd: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """SD [replicates, lambdas] of the drawn seeds, in the original's n - 1 units; `sd` where none
    was drawn.
    """
    drawn = counts @ present.T
    mean = counts @ off.T / np.maximum(drawn, 1)
    variance = np.maximum(counts @ (off**2).T / np.maximum(drawn, 1) - mean**2, 0.0)
    n = present.sum(1)
    return np.where(drawn > 0, np.sqrt(variance * n / np.maximum(n - 1, 1)), sd)


def violation_shares(
    scatter: Spread, costs: np.ndarray, many_costs: np.ndarray, limit: float
) -> np.ndarray:
    """Expected share of seeds above the limit along lambda [1 + replicates, grid], the estimate
    first. Never rises.
    """
    mean, sd = np.vstack([costs, many_costs]), np.vstack([scatter.sd, scatter.sds])
    draws = np.vstack([np.ones(scatter.counts.shape[1]), scatter.counts])
    threshold = np.where(
        sd > 0, (limit - mean) / np.where(sd > 0, sd, 1.0), np.where(mean > limit, -np.inf, np.inf)
    )
    shares = np.empty_like(mean)
    for g in range(mean.shape[1]):
        lam, seed = np.nonzero(np.isfinite(scatter.z) & (scatter.near[g] > 0)[:, None])
        weight = draws[:, seed] * scatter.near[g, lam]
        over = scatter.z[lam, seed] > threshold[:, g, None]
        shares[:, g] = (weight * over).sum(1) / np.maximum(weight.sum(1), 1e-300)
    return np.stack([isotonic_regression(row, increasing=False).x for row in shares])


class Fixed(NamedTuple):
    """Training limit and lambda for a fixed multiplier. A training limit of None cannot be had
    within the sweep.
    """

    training_limit: Estimate
    lambda_: Estimate
    reason: str


def fixed_margin(fits: Fits, shares: np.ndarray, limit: float, options: Options) -> Fixed:
    """The mildest lambda at which the wanted share of seeds satisfies the limit, and the mean cost
    there.
    """
    places = first_crossings(fits.axis, shares, 1 - options.satisfied_share)
    costs = np.vstack([fits.costs.value, fits.costs.replicates])
    means = np.minimum(value_at(fits.axis, costs, places), limit)
    means = np.where(np.isposinf(places), np.nan, np.where(np.isneginf(places), limit, means))
    lo, hi = interval(means[1:], options.level)
    lam_lo, lam_hi = interval(places[1:], options.level)
    wanted = f"{options.satisfied_share:.0%} of seeds"
    if np.isposinf(places[0]):
        reason = f"even at the largest lambda of the sweep fewer than {wanted} satisfy the limit"
        return Fixed(Estimate(None), Estimate(None), reason)
    if np.isneginf(places[0]):
        reason = (
            f"at the smallest lambda of the sweep {wanted} satisfy the limit already; no margin is "
            f"needed"
        )
        return Fixed(
            estimate(limit, float(lo), float(hi)), Estimate(float(fits.lambdas[0])), reason
        )
    lam = from_axis(np.array([places[0], lam_lo, lam_hi]), options)
    lam = np.where(np.isinf([places[0], lam_lo, lam_hi]), np.nan, lam)
    reason = f"where the mean cost is {max(means[0], 0):.3g}, {wanted} stay within {limit:g}"
    return Fixed(estimate(max(means[0], 0), max(float(lo), 0), float(hi)), estimate(*lam), reason)


def rule_margin(costs: np.ndarray, limit: float, options: Options) -> tuple[Estimate, str]:
    """Training limit for a rule from the final costs [seeds] of its runs at the limit itself.

    If costs are normal and their distance to the limit keeps its distribution at a nearby limit,
    the wanted share's quantile of cost - limit is the margin; its interval is that of a normal
    quantile (noncentral t).
    """
    n = len(costs)
    if n < 3:
        return Estimate(
            None
        ), f"{counted(n, 'seed does', 'seeds do')} not show how seeds scatter; it takes at least 3"
    excess, sd = costs - limit, costs.std(ddof=1)
    z = ndtri(options.satisfied_share)
    tails = np.array([(1 - options.level) / 2, (1 + options.level) / 2])
    k = nctdtrit(n - 1, z * np.sqrt(n), tails) / np.sqrt(n) if sd > 0 else np.zeros(2)
    value, hi, lo = limit - (excess.mean() + np.array([z, *k]) * sd)
    if value < 0:
        far = f"the runs end so far above the limit, by {excess.mean():.3g} on average,"
        why = far if excess.mean() > limit else "the seeds scatter so widely"
        return Estimate(None), f"{why} that no limit of 0 or more reaches the share"
    reason = (
        f"{options.satisfied_share:.0%} of seeds end within {limit - value:+.3g} of the limit they "
        f"train at"
    )
    return estimate(min(value, limit), max(min(lo, limit), 0.0), min(hi, limit)), reason
