"""How a run kept its limit while it was trained, not only at the end."""

import polars as pl

from saddle.analysis.constraints import OVER_TRAINING, column

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
    there = metrics.collect_schema().names()
    limits = compared.select("run", pl.col(names["limit"]).cast(pl.Float64).alias("limit"))
    logged = [
        pl.col(names[name]).alias(name) if names[name] in there else pl.lit(None).alias(name)
        for name in LOGGED
    ]
    episodes = pl.col("episodes") if "episodes" in there else pl.lit(None).alias("episodes")
    rows = metrics.select("run", "epoch", episodes, pl.col(names["cost"]).alias("cost"), *logged)
    told = (
        rows.join(limits.drop_nulls().lazy(), on="run")
        .group_by("run")
        .agg(_of_a_run(final_share))
        .collect()
    )
    return told.rename({name: column(name, constraint) for name in OVER_TRAINING})


def _of_a_run(final_share: float) -> list[pl.Expr]:
    limit = pl.col("limit")
    epoch = pl.col("epoch").cast(pl.Int64)
    length = epoch.max() - epoch.min() + 1
    cost = _number("cost")
    smooth = pl.coalesce(_number("window_cost"), cost)
    there = smooth.is_not_null()
    outside = epoch.filter((smooth - limit).abs() > BAND * limit).max()
    settled = pl.when(outside.is_null()).then(epoch.filter(there).min()).otherwise(outside + 1)
    never = settled > epoch.filter(there).max()
    was_within = epoch.filter(smooth <= limit).min()
    late = there & (2 * (epoch - epoch.min()) >= length)
    final = epoch > epoch.max() - (final_share * length - 1e-9).ceil().clip(lower_bound=1)
    counted = pl.col("episodes_above").is_not_null()
    finished = pl.col("episodes").filter(counted).cast(pl.Int64).sum()
    return [
        (cost > limit).mean().alias("epochs_above"),
        pl.when(finished > 0)
        .then(pl.col("episodes_above").cast(pl.Int64).sum() / finished)
        .alias("shares_above"),
        (cost - limit).clip(lower_bound=0).sum().alias("excess"),
        pl.when(~never & (limit.first() > 0))
        .then(settled - epoch.min())
        .cast(pl.Float64)
        .alias("settled_after"),
        (smooth - limit).filter(epoch >= was_within).max().clip(lower_bound=0).alias("overshoot"),
        _about_a_line(smooth.filter(late), epoch.filter(late)).alias("oscillation"),
        _number("window_cvar").filter(final).mean().alias("tail_cost"),
    ]


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64).fill_nan(None)


def _about_a_line(values: pl.Expr, places: pl.Expr) -> pl.Expr:
    """Standard deviation of values around the straight line that fits them best."""
    places = places.cast(pl.Float64)
    explained = pl.cov(values, places) ** 2 / places.var()
    return (values.var() - explained).clip(lower_bound=0).sqrt()
