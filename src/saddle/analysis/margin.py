"""How much stricter to train so that a wanted share of seeds, not only their mean, satisfies a cost
limit.

For a fixed lambda: a seed's cost at lambda is m(lambda) + s(lambda) z, with the smoothed mean and
SD of the sweep, and z drawn from the standardised residuals of the lambdas nearby. For an adaptive
rule: from the spread of its own seeds.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
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

ROUNDING = 1e-9
"""Of shares: one seed of ten above a limit is the tenth that may be."""


class Spread(NamedTuple):
    """How seeds scatter around the cost profile."""

    sd: Float[np.ndarray, " grid"]
    sds: Float[np.ndarray, "replicates grid"]
    z: Float[np.ndarray, "lambdas seeds"]
    """Standardised residuals, NaN where there is no run."""
    near: Float[np.ndarray, "grid lambdas"]
    """Weights of the lambdas whose residuals count at a grid point."""
    counts: Float[np.ndarray, "replicates seeds"]


def spread(sweep: Sweep, fits: Fits, options: Options) -> Spread:
    """SD of cost over seeds along lambda, and the residuals in units of it."""
    present = np.isfinite(sweep.costs)
    n = present.sum(axis=1)
    degrees = np.maximum(n - 1, 1)
    mean = np.nanmean(sweep.costs, axis=1)
    residuals = np.where(present, sweep.costs - mean[:, None], 0.0)
    sd = np.sqrt((residuals**2).sum(axis=1) / degrees)
    # A residual from a mean that it is itself a part of is too small by sqrt((n - 1) / n).
    scale = np.sqrt(n / degrees) / np.where(sd > 0, sd, 1.0)
    z = np.where(present, residuals * scale[:, None], np.nan)

    counts = seed_counts(sweep.seeds, options)
    drawn_sds = replicate_sds(residuals, present, sd, counts)
    sds = sd + expansion(n, options.level) * (drawn_sds - sd)
    axis = to_axis(sweep.lambdas, options)
    rows = np.vstack([sd, sds])
    curves = np.maximum(smooth(axis, rows, fits.axis, options.frac, options.iterations), 0.0)
    share = neighbour_share(options.frac, len(axis))
    near = tricube_weights(axis, fits.axis, share)
    return Spread(curves[0], curves[1:], z, near, counts)


def replicate_sds(
    residuals: Float[np.ndarray, "lambdas seeds"],
    present: Bool[np.ndarray, "lambdas seeds"],
    sd: Float[np.ndarray, " lambdas"],
    counts: Float[np.ndarray, "replicates seeds"],
) -> Float[np.ndarray, "replicates lambdas"]:
    """SD of the drawn seeds; `sd` where fewer than two draws fell on seeds that are there.

    Variances are unbiased twice over: drawing from n seeds instead of all that could be loses a
    share of 1/n, and a mean that is taken from the draws themselves as much again.
    """
    drawn = counts @ present.T
    divisor = np.maximum(drawn, 1)
    mean = counts @ residuals.T / divisor
    mean_square = counts @ (residuals**2).T / divisor
    variance = np.maximum(mean_square - mean**2, 0.0)
    n = present.sum(axis=1)
    of_seeds = n / np.maximum(n - 1, 1)
    of_draws = drawn / np.maximum(drawn - 1, 1)
    return np.where(drawn > 1, np.sqrt(variance * of_seeds * of_draws), sd)


def violation_shares(
    scatter: Spread,
    costs: Float[np.ndarray, " grid"],
    many_costs: Float[np.ndarray, "replicates grid"],
    limit: float,
) -> Float[np.ndarray, "rows grid"]:
    """Expected share of seeds above the limit along lambda, the estimate first and then each
    replicate. Never rises.
    """
    mean = np.vstack([costs, many_costs])
    sd = np.vstack([scatter.sd, scatter.sds])
    seeds = scatter.counts.shape[1]
    draws = np.vstack([np.ones(seeds), scatter.counts])
    certain = np.where(mean > limit, -np.inf, np.inf)
    threshold = np.where(sd > 0, (limit - mean) / np.where(sd > 0, sd, 1.0), certain)
    there = np.isfinite(scatter.z)
    shares = np.empty_like(mean)
    for g in range(mean.shape[1]):
        near = scatter.near[g]
        lam, seed = np.nonzero(there & (near > 0)[:, None])
        weight = draws[:, seed] * near[lam]
        over = scatter.z[lam, seed] > threshold[:, g, None]
        total = np.maximum(weight.sum(axis=1), 1e-300)
        shares[:, g] = (weight * over).sum(axis=1) / total
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
    places = first_crossings(fits.axis, shares, 1 - options.satisfied_share + ROUNDING)
    crossed = value_at(fits.axis, fits.costs.rows, places)
    means = np.minimum(crossed, limit)
    means[np.isneginf(places)] = limit
    # Stricter than all of the sweep: an end there is open.
    means[np.isposinf(places)] = -np.inf
    low, high = (float(end) for end in interval(means[1:], options.level))
    wanted = f"{options.satisfied_share:.0%} of seeds"
    if np.isposinf(places[0]):
        reason = f"even at the largest lambda of the sweep fewer than {wanted} satisfy the limit"
        return Fixed(Estimate(None), Estimate(None), reason)
    if np.isneginf(places[0]):
        reason = (
            f"at the smallest lambda of the sweep {wanted} satisfy the limit already; no margin is "
            f"needed"
        )
        smallest = Estimate(float(fits.lambdas[0]))
        return Fixed(estimate(limit, low, high), smallest, reason)
    ends = np.array([places[0], *interval(places[1:], options.level)])
    lambdas = np.where(np.isinf(ends), np.nan, from_axis(ends, options))
    mean = max(means[0], 0)
    if np.isfinite(low):
        low = max(low, 0)
    reason = f"where the mean cost is {mean:.3g}, {wanted} stay within {limit:g}"
    return Fixed(estimate(mean, low, high), estimate(*lambdas), reason)


def rule_margin(costs: np.ndarray, limit: float, options: Options) -> tuple[Estimate, str]:
    """Training limit for a rule from the final costs [seeds] of its runs at the limit itself.

    If costs are normal and their distance to the limit keeps its distribution at a nearby limit,
    the wanted share's quantile of cost - limit is the margin; its interval is that of a normal
    quantile (noncentral t).
    """
    n = len(costs)
    if n < 3:
        few = counted(n, "seed does", "seeds do")
        return Estimate(None), f"{few} not show how seeds scatter; it takes at least 3"
    excess = (costs - limit).mean()
    sd = costs.std(ddof=1)
    z = ndtri(options.satisfied_share)
    ends = _quantile_interval(z, n, options.level) if sd > 0 else np.zeros(2)
    value, high, low = limit - (excess + np.array([z, *ends]) * sd)
    if value < 0:
        why = "the seeds scatter so widely"
        if excess > limit:
            why = f"the runs end so far above the limit, by {excess:.3g} on average,"
        return Estimate(None), f"{why} that no limit of 0 or more reaches the share"
    reason = (
        f"{options.satisfied_share:.0%} of seeds end within {limit - value:+.3g} of the limit they "
        f"train at"
    )
    low = max(min(low, limit), 0.0)
    return estimate(min(value, limit), low, min(high, limit)), reason


def _quantile_interval(z: float, n: int, level: float) -> Float[np.ndarray, "2"]:
    """Interval of a standard normal's quantile z from n values, in units of their SD."""
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    return nctdtrit(n - 1, z * np.sqrt(n), tails) / np.sqrt(n)
