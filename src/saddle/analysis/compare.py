"""Rules against each other at the same cost limit."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float
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
    higher = first[:, None] > second
    equal = first[:, None] == second
    p = float((higher + 0.5 * equal).mean())
    n = min(len(first), len(second))
    z = ndtri((1 + level) / 2)
    shrink = 1 + z**2 / n
    centre = (p + z**2 / (2 * n)) / shrink
    half_width = z / shrink * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    low = max(centre - half_width, 0.0)
    high = min(centre + half_width, 1.0)
    return Estimate(p, float(low), float(high))


class RuleRuns(NamedTuple):
    """A rule's runs at a limit."""

    rule: str
    returns: Float[np.ndarray, " seeds"]
    costs: Float[np.ndarray, " seeds"]


def pairs(limit: float, rules: Sequence[RuleRuns], level: float) -> list[Pair]:
    """Every two rules at a limit."""
    found = []
    for a, b in itertools.combinations(rules, 2):
        higher_return = improvement(a.returns, b.returns, level)
        lower_cost = improvement(-a.costs, -b.costs, level)
        found.append(Pair(limit, a.rule, b.rule, higher_return, lower_cost))
    return found


def looser_but_poorer(cells: Sequence[Cell]) -> list[str]:
    """What to say where a rule earns less at a looser limit than at the next tighter one that it
    was trained at.
    """
    found = []
    for rule in dict.fromkeys(cell.rule for cell in cells):
        own = [cell for cell in cells if cell.rule == rule]
        own.sort(key=lambda cell: cell.limit)
        for tight, loose in itertools.pairwise(own):
            if (loose.return_.value or 0.0) < (tight.return_.value or 0.0):
                found.append(_poorer(tight, loose))
    more = len(found) - MOST_NOTES
    if more <= 0:
        return found
    return [
        *found[:MOST_NOTES],
        f"The same holds of {counted(more, 'more pair')} of limits.",
    ]


def _poorer(tight: Cell, loose: Cell) -> str:
    less = f"{loose.rule} returns {text(loose.return_)} at limit {loose.limit:g}"
    more = f"{text(tight.return_)} at the tighter limit {tight.limit:g}"
    high = loose.return_.hi
    low = tight.return_.lo
    if high is not None and low is not None and high < low:
        why = "the intervals do not meet, so this is how training went, not what the limit allows"
    else:
        why = "the seeds here do not tell the two apart, so this may be chance"
    return f"{less}, but {more}. A looser limit forbids less; {why}."


def gap(
    returns: Float[np.ndarray, " seeds"],
    costs: Float[np.ndarray, " seeds"],
    frontier: Trace,
    replicates: list[Trace],
    options: Options,
) -> Estimate:
    """Mean return of a cell's seeds minus the frontier's return at their mean cost, both sides
    resampled.

    A replicate that costs less than all of its frontier is held to the cheapest point: left out,
    the interval would lose the side of the cheap seeds.
    """
    (attainable,) = return_at(frontier, np.array([costs.mean()]))
    value = returns.mean() - attainable
    if not np.isfinite(value) or len(returns) < 2:
        return estimate(value, np.nan, np.nan)
    rng = np.random.default_rng(options.seed + 1)
    counts = draw_counts(rng, len(replicates), len(returns))
    means = replicate_means(np.stack([returns, costs]), counts, options.level)
    mean_returns, mean_costs = means.T
    cheapest = np.array([one.cost[0] for one in replicates])
    held_costs = np.maximum(mean_costs, cheapest)
    attainables = returns_at(replicates, held_costs[:, None])[:, 0]
    low, high = interval(mean_returns - attainables, options.level)
    return estimate(value, float(low), float(high))
