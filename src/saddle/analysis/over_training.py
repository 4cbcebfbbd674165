"""How a run kept its limit while it was trained, not only at the end."""

import polars as pl

from saddle.analysis.constraints import OVER_TRAINING, column
from saddle.analysis.epochs import epoch, is_last, length

BAND = 0.2
"""Of the limit, to either side: a cost that stays within it has settled."""

LOGGED = ("window_cost", "episodes_above", "window_cvar")
"""Metrics that not every store has."""


def over_training(
    compared: pl.DataFrame, metrics: pl.LazyFrame, constraint: int, final_share: float
) -> pl.DataFrame:
    """One row for each of the runs `compared` that has a limit of this constraint: `run`, and
    OVER_TRAINING of the constraint, null where the metrics do not tell.
    """
    names = {name: column(name, constraint) for name in ("cost", "limit", *LOGGED)}
    limit = pl.col(names["limit"]).cast(pl.Float64).alias("limit")
    limits = compared.select("run", limit).drop_nulls()
    there = metrics.collect_schema().names()
    rows = metrics.select(
        "run",
        "epoch",
        _column_or_null("episodes", "episodes", there),
        pl.col(names["cost"]).alias("cost"),
        *(_column_or_null(names[name], name, there) for name in LOGGED),
    )
    of_runs = rows.join(limits.lazy(), on="run").group_by("run")
    told = of_runs.agg(**_of_a_run(final_share)).collect()
    return told.rename({name: column(name, constraint) for name in OVER_TRAINING})


def _column_or_null(name: str, called: str, there: list[str]) -> pl.Expr:
    """A column that not every table has."""
    known = pl.col(name) if name in there else pl.lit(None)
    return known.alias(called)


def _of_a_run(final_share: float) -> dict[str, pl.Expr]:
    """Every entry of OVER_TRAINING, from a run's rows of metrics: one per epoch."""
    limit = pl.col("limit")
    cost = _number("cost")
    smooth = pl.coalesce(_number("window_cost"), cost)
    known = smooth.is_not_null()
    was_within = epoch.filter(smooth <= limit).min()
    above = (smooth - limit).filter(epoch >= was_within).max()
    late = known & (2 * (epoch - epoch.min()) >= length)
    final = is_last(final_share)
    return {
        "epochs_above": (cost > limit).mean(),
        "shares_above": _episodes_above(),
        "excess": (cost - limit).clip(lower_bound=0).sum(),
        "settled_after": _settled_after(smooth, limit, epoch),
        "overshoot": above.clip(lower_bound=0),
        "oscillation": _about_a_line(smooth.filter(late), epoch.filter(late)),
        "tail_cost": _number("window_cvar").filter(final).mean(),
    }


def _episodes_above() -> pl.Expr:
    """Share of a run's episodes whose cost was above the limit, null where none was counted."""
    above = pl.col("episodes_above")
    counted = above.is_not_null()
    finished = pl.col("episodes").filter(counted).cast(pl.Int64).sum()
    share = above.cast(pl.Int64).sum() / finished
    return pl.when(finished > 0).then(share)


def _settled_after(smooth: pl.Expr, limit: pl.Expr, epoch: pl.Expr) -> pl.Expr:
    """Epochs until the cost stays within BAND of the limit, null where it never does."""
    known = smooth.is_not_null()
    distance = (smooth - limit).abs()
    last_outside = epoch.filter(distance > BAND * limit).max()
    first = epoch.filter(known).min()
    settled = pl.when(last_outside.is_null()).then(first).otherwise(last_outside + 1)
    never = settled > epoch.filter(known).max()
    after = (settled - epoch.min()).cast(pl.Float64)
    return pl.when(~never & (limit.first() > 0)).then(after)


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64).fill_nan(None)


def _about_a_line(values: pl.Expr, places: pl.Expr) -> pl.Expr:
    """Standard deviation of values around the straight line that fits them best."""
    places = places.cast(pl.Float64)
    explained = pl.cov(values, places) ** 2 / places.var()
    return (values.var() - explained).clip(lower_bound=0).sqrt()
