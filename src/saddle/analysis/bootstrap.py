"""Bootstrap over whole seeds: a replicate draws seeds with replacement and takes each with all its
lambdas.

So what seeds share across lambdas (initial weights, episodes) stays together. Replicate means are
spread a little wider than drawn, by `expansion`, which makes the percentile interval of a mean the
t-interval that few seeds call for.
"""

import numpy as np
from jaxtyping import Float, Num
from scipy.special import ndtri, stdtrit


def expansion(seeds: np.ndarray | int, level: float) -> np.ndarray:
    """Factor for deviations of bootstrap means of n seeds, which have n - 1 degrees of freedom. One
    seed: 0.
    """
    several = np.asarray(seeds) > 1
    n = np.maximum(np.asarray(seeds, float), 2)
    return np.where(several, t_factor(n, n - 1, level), 0.0)


def t_factor(
    draws: np.ndarray | float, degrees: np.ndarray | float, level: float
) -> np.ndarray | float:
    """Factor for deviations of bootstrap means of so many draws with so many degrees of freedom: t
    quantile over normal quantile, times sqrt(draws / degrees), which mends the bootstrap's own
    variance: that is too small by degrees / draws.
    """
    tail = (1 + level) / 2
    quantiles = stdtrit(degrees, tail) / ndtri(tail)
    return quantiles * np.sqrt(np.divide(draws, degrees))


def draw_counts(
    rng: np.random.Generator, replicates: int, seeds: int
) -> Float[np.ndarray, "{replicates} {seeds}"]:
    """How often each seed was drawn; rows sum to the number of seeds."""
    alike = np.full(seeds, 1 / seeds)
    counts = rng.multinomial(seeds, alike, size=replicates)
    return counts.astype(float)


def replicate_means(
    values: Num[np.ndarray, "groups seeds"],
    counts: Float[np.ndarray, "replicates seeds"],
    level: float,
) -> Float[np.ndarray, "replicates groups"]:
    """Expanded means of values (NaN: no run) under counts.

    A group none of whose seeds were drawn keeps its mean.
    """
    present = np.isfinite(values)
    filled = np.where(present, values, 0.0)
    seeds = present.sum(axis=1)
    mean = filled.sum(axis=1) / seeds
    drawn = counts @ present.T
    totals = counts @ filled.T
    replicated = np.where(drawn > 0, totals / np.maximum(drawn, 1), mean)
    return mean + expansion(seeds, level) * (replicated - mean)


def as_costs(
    means: Float[np.ndarray, "*shape"], costs: Num[np.ndarray, " *runs"]
) -> Float[np.ndarray, "*shape"]:
    """Means of costs, or replicates of them, with none below 0 unless some of the costs are: spread
    a little wider than drawn, or on a smooth curve, they may dip below.
    """
    if np.nanmin(costs) < 0:
        return means
    return np.maximum(means, 0.0)


def interval(
    replicates: Num[np.ndarray, " replicates *rest"], level: float
) -> tuple[Float[np.ndarray, "*rest"], Float[np.ndarray, "*rest"]]:
    """Lower and upper percentiles over the first axis. Infinities count as ends; NaN are left out.

    NaN where fewer than half of the replicates have a value.
    """
    ordered = np.sort(np.asarray(replicates, float), axis=0)  # NaN last
    valid = (~np.isnan(ordered)).sum(axis=0)
    last = np.maximum(valid - 1, 0)
    tail = (1 - level) / 2
    ranks = np.stack([np.floor(tail * last), np.ceil((1 - tail) * last)])
    lo, hi = np.take_along_axis(ordered, ranks.astype(int), axis=0)
    enough = valid >= len(ordered) / 2
    return np.where(enough, lo, np.nan), np.where(enough, hi, np.nan)


def mean_interval(values: np.ndarray, level: float) -> tuple[float, float]:
    """The t-interval of a mean; NaN ends for one value."""
    n = len(values)
    if n < 2:
        return np.nan, np.nan
    mean = values.mean()
    quantile = stdtrit(n - 1, (1 + level) / 2)
    half_width = quantile * values.std(ddof=1) / np.sqrt(n)
    return float(mean - half_width), float(mean + half_width)


def interquartile_mean(values: np.ndarray) -> float:
    """Mean of the middle half: a quarter of the values, rounded down, is dropped at each end."""
    cut = len(values) // 4
    middle = np.sort(values)[cut : len(values) - cut]
    return float(middle.mean())
