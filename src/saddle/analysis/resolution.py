"""What differences of cost mean anything: the unit in which a task counts costs, and the noise of
mean costs.
"""

import numpy as np
import polars as pl

COUNTED = 1.0  # the unit of costs that are counted: one step, one collision
FEW = 3.0  # units: a frontier that stays below is one of chances
MOST_EPISODES = 100  # over which a cost may be a mean, where the table does not say
MOST_GUESSED = 50.0  # of larger means rounding makes too many whole for some number of episodes
ROUNDING = 2e-7  # relative, of a mean in 32 bits
LEAST_DOUBT = 0.1  # a sum whose rounding is larger than this says nothing about whole numbers


def whole_costs(metrics: pl.LazyFrame, cost: str) -> pl.DataFrame:
    """Per run: whether all its episodes' costs may be whole numbers; null where no cost says so or
    otherwise.

    A row of metrics holds a mean over episodes. Times their number it is whole if every episode's
    cost is. Where the number is not known (imported runs) any up to a hundred will do: a cost that
    is not counted fails that soon.
    """
    if "episodes" not in metrics.collect_schema().names():
        metrics = metrics.with_columns(pl.lit(None, pl.Int32).alias("episodes"))
    cost_of_row = pl.col(cost).cast(pl.Float64)
    telling = metrics.filter(cost_of_row.is_finite(), cost_of_row != 0)
    rows = telling.select("run", "episodes", mean=cost_of_row)
    mean = pl.col("mean")
    episodes = pl.col("episodes")
    known = rows.filter(episodes > 0).select("run", _is_whole(mean * episodes)).collect()
    small = mean.abs() < MOST_GUESSED
    unknown = rows.filter(episodes.is_null(), small).collect()
    whole = _whole_for_some_number(unknown["mean"].to_numpy())
    guessed = unknown.select("run", pl.Series("whole", whole, pl.Boolean))
    every = pl.concat([known, guessed]).drop_nulls()
    return every.group_by("run").agg(pl.col("whole").all())


def _is_whole(total: pl.Expr) -> pl.Expr:
    """Whether sums over episodes are whole, null where rounding leaves it open."""
    doubt = ROUNDING * total.abs()
    whole = (total - total.round()).abs() <= doubt + ROUNDING
    return pl.when(doubt < LEAST_DOUBT).then(whole).alias("whole")


def _whole_for_some_number(means: np.ndarray) -> np.ndarray:
    """Whether each mean [rows] times some number of episodes is whole."""
    totals = means[:, None] * np.arange(1, MOST_EPISODES + 1)
    off = np.abs(totals - np.rint(totals))
    return np.any(off <= ROUNDING * (np.abs(totals) + 1), axis=1)


def unit_of(finals: pl.DataFrame) -> float:
    """The unit of a task's costs: 1 if they are counted, as far as its runs show; 0 if any number
    may be a cost.
    """
    shown = finals["whole"].drop_nulls()
    return COUNTED if len(shown) and shown.all() else 0.0


def unit_of_limits(unit: float, highest: float) -> float:
    """The unit of limits on a frontier whose `highest` cost is known.

    None (0) where mean costs stay below a few units: then they tell how likely a unit of cost is,
    and a limit of 0.1 means something.
    """
    return unit if highest >= FEW * unit else 0.0


def standard_error(costs: np.ndarray) -> float:
    """Of the mean cost at a lambda, pooled over the lambdas of costs [lambdas, seeds]; NaN: no run.
    0: not known.
    """
    seeds = np.isfinite(costs).sum(axis=1)
    several = seeds > 1
    if not several.any():
        return 0.0
    variances = np.nanvar(costs[several], axis=1, ddof=1)
    of_means = variances / seeds[several]
    return float(np.sqrt(of_means.mean()))
