"""Rules against each other at the same cost limit."""

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.special import ndtri

from saddle.analysis.bootstrap import draw_counts, interval, replicate_means
from saddle.analysis.findings import Cell, Estimate, Pair
from saddle.analysis.frontier import Trace, return_at, returns_at
from saddle.analysis.options import Options
from saddle.analysis.summary import estimate
from saddle.analysis.text import text
from saddle.words import counted

MOST_NOTES = 3  # about limits that earn less than tighter ones, per task


def mark(cells: pl.DataFrame) -> pl.DataFrame:
    """Add the published study's marks to cells with task, limit, return_mean and cost_mean.

    `violated`: the mean cost is above the limit, or that of another constraint where a column
    `others_kept` says so. `best`: the highest mean return of those that are not, per task and limit
    (and algorithm, where there is such a column); nobody is best where all violate.
    """
    keys = [key for key in ("task", "algorithm", "limit") if key in cells.columns]
    feasible = pl.col("cost_mean") <= pl.col("limit")
    if "others_kept" in cells.columns:
        feasible &= pl.col("others_kept")
    top = pl.col("return_mean").filter(feasible).max().over(keys)
    return cells.with_columns(
        (~feasible).alias("violated"),
        (feasible & (pl.col("return_mean") == top)).fill_null(False).alias("best"),
    )


def improvement(first: np.ndarray, second: np.ndarray, level: float) -> Estimate:
    """Probability that a value of the first exceeds one of the second (ties count half), with a
    Wilson interval.

    The interval takes as many pairs as the smaller sample has values: the estimate's variance is at
    most p (1 - p) / min(n, m), so it errs on the safe side, and it stays open when all values of
    one exceed the other's.
    """
    p = float(((first[:, None] > second) + 0.5 * (first[:, None] == second)).mean())
    n, z = min(len(first), len(second)), ndtri((1 + level) / 2)
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Estimate(p, float(max(centre - half, 0.0)), float(min(centre + half, 1.0)))


def pairs(
    limit: float, rules: Sequence[tuple[str, np.ndarray, np.ndarray]], level: float
) -> list[Pair]:
    """Every two rules at a limit; each rule with its returns [seeds] and costs [seeds]."""
    return [
        Pair(
            limit,
            a,
            b,
            improvement(returns_a, returns_b, level),
            improvement(-costs_a, -costs_b, level),
        )
        for (a, returns_a, costs_a), (b, returns_b, costs_b) in itertools.combinations(rules, 2)
    ]


def looser_but_poorer(cells: Sequence[Cell]) -> list[str]:
    """What to say where a rule earns less at a looser limit than at the next tighter one that it
    was trained at.
    """
    found = []
    for rule in dict.fromkeys(cell.rule for cell in cells):
        own = sorted((cell for cell in cells if cell.rule == rule), key=lambda cell: cell.limit)
        for tight, loose in itertools.pairwise(own):
            if (loose.return_.value or 0.0) < (tight.return_.value or 0.0):
                found.append(_poorer(tight, loose))
    more = [f"The same holds of {counted(len(found) - MOST_NOTES, 'more pair')} of limits."]
    return found[:MOST_NOTES] + (more if len(found) > MOST_NOTES else [])


def _poorer(tight: Cell, loose: Cell) -> str:
    less = f"{loose.rule} returns {text(loose.return_)} at limit {loose.limit:g}"
    more = f"{text(tight.return_)} at the tighter limit {tight.limit:g}"
    high, low = loose.return_.hi, tight.return_.lo
    if high is not None and low is not None and high < low:
        why = "the intervals do not meet, so this is how training went, not what the limit allows"
    else:
        why = "the seeds here do not tell the two apart, so this may be chance"
    return f"{less}, but {more}. A looser limit forbids less; {why}."


def gap(
    returns: np.ndarray,
    costs: np.ndarray,
    frontier: Trace,
    replicates: list[Trace],
    options: Options,
) -> Estimate:
    """Mean return of a cell's seeds minus the frontier's return at their mean cost, both sides
    resampled.
    """
    counts = draw_counts(np.random.default_rng(options.seed + 1), len(replicates), len(returns))
    own = replicate_means(np.stack([returns, costs]), counts, options.level)
    value = returns.mean() - return_at(frontier, np.array([costs.mean()]))[0]
    lo, hi = interval(own[:, 0] - returns_at(replicates, own[:, 1:])[:, 0], options.level)
    known = np.isfinite(value) and len(returns) > 1
    return estimate(value, float(lo), float(hi)) if known else estimate(value, np.nan, np.nan)
