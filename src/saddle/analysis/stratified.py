"""Statistics over runs of many tasks and limits: a stratum is the runs of one rule at one of them.

A bootstrap replicate draws runs with replacement within each stratum, so that every task and limit
keeps its weight. Tests hold these to plain loops and to SciPy.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Num
from scipy.special import ndtr

from saddle.analysis.bootstrap import draw_counts, interval, t_factor

Strata = Sequence[np.ndarray]
"""The scores of a rule's runs, [runs] of each stratum."""


def draw_strata(
    rng: np.random.Generator, replicates: int, strata: Strata
) -> Float[np.ndarray, "{replicates} runs"]:
    """How often each run was drawn, strata one after the other; as often in all of a stratum as it
    has runs.
    """
    drawn = [draw_counts(rng, replicates, len(own)) for own in strata]
    return np.concatenate(drawn, axis=1)


def replicate_iqms(
    values: Float[np.ndarray, " runs"], counts: Float[np.ndarray, "replicates runs"]
) -> Float[np.ndarray, " replicates"]:
    """Interquartile mean of each replicate, as `bootstrap.interquartile_mean` has it.

    Sorted by value, a run that was drawn k times takes k places; those that lie in the middle half
    count.
    """
    runs = len(values)
    order = np.argsort(values, kind="stable")
    drawn = counts[:, order]
    end = np.cumsum(drawn, axis=1)
    start = end - drawn
    cut = runs // 4
    inside = np.minimum(end, runs - cut) - np.maximum(start, cut)
    kept = np.maximum(inside, 0.0)
    return kept @ values[order] / (runs - 2 * cut)


def stratified_interval(
    value: Num[np.ndarray, " *rest"] | float,
    replicates: Num[np.ndarray, " replicates *rest"],
    runs: int,
    strata: int,
    level: float,
) -> tuple[Float[np.ndarray, "*rest"], Float[np.ndarray, "*rest"]]:
    """Percentile interval of replicates that are first spread around the value, as
    `bootstrap.expansion` does for one stratum. NaN where no stratum has two runs.
    """
    degrees = runs - strata
    if degrees < 1:
        unknown = np.full(np.shape(value), np.nan)
        return unknown, unknown
    factor = t_factor(float(runs), float(degrees), level)
    return interval(value + factor * (replicates - value), level)


def improvement(first: Strata, second: Strata) -> float:
    """Probability that a run of the first has the higher score than one of the second in the same
    stratum, ties half: mean over strata.
    """
    wins = [_wins(a, b).mean() for a, b in zip(first, second, strict=True)]
    return float(np.mean(wins))


def replicate_improvements(
    first: Strata,
    second: Strata,
    counts_first: Float[np.ndarray, "replicates first_runs"],
    counts_second: Float[np.ndarray, "replicates second_runs"],
) -> Float[np.ndarray, " replicates"]:
    """`improvement` of each replicate."""
    total = np.zeros(len(counts_first))
    drawn_first = _by_stratum(counts_first, first)
    drawn_second = _by_stratum(counts_second, second)
    for a, b, drawn_a, drawn_b in zip(first, second, drawn_first, drawn_second, strict=True):
        wins = (drawn_a @ _wins(a, b) * drawn_b).sum(axis=1)
        total += wins / (len(a) * len(b))
    return total / len(first)


def _by_stratum(
    counts: Float[np.ndarray, "replicates runs"], strata: Strata
) -> list[Float[np.ndarray, "replicates runs_of_stratum"]]:
    ends = np.cumsum([len(own) for own in strata])
    return np.split(counts, ends[:-1], axis=1)


def same_scores(first: Strata, second: Strata) -> float | None:
    """p-value of `improvement` being as far from a half if two rules score alike in every stratum.

    Mann and Whitney's test with equal weights of strata: the normal approximation, with the
    variance that ties leave. None where nothing but ties is left.
    """
    variance = 0.0
    for a, b in zip(first, second, strict=True):
        variance += _variance(a, b)
    if variance == 0:
        return None
    away = improvement(first, second) - 0.5
    z = abs(away) * len(first) / np.sqrt(variance)
    return float(2 * ndtr(-z))


def _wins(first: np.ndarray, second: np.ndarray) -> Float[np.ndarray, "first second"]:
    """1 where a value of the first is higher, a half where both are equal."""
    higher = first[:, None] > second
    equal = first[:, None] == second
    return higher + 0.5 * equal


def _variance(first: np.ndarray, second: np.ndarray) -> float:
    """Of Mann and Whitney's U / nm if both samples are of one distribution, given the ties."""
    n, m = len(first), len(second)
    both = n + m
    _, ties = np.unique(np.concatenate([first, second]), return_counts=True)
    tied = (ties**3 - ties).sum() / (both * (both - 1))
    return float((both + 1 - tied) / (12 * n * m))
