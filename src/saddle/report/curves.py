"""Training curves: mean and SD over seeds of lambda, return and cost, along env steps."""

import polars as pl

from saddle.analysis.constraints import further, seen_by
from saddle.analysis.settings import name_settings
from saddle.analysis.sweep import IS_COMPARISON

POINTS = 250  # a curve at most; a column's width shows no more


def training_curves(
    runs: pl.DataFrame, metrics: pl.DataFrame | pl.LazyFrame, constraint: int | None = None
) -> pl.DataFrame:
    """One row per task, algorithm, constraint, limits, rule and bin of epochs: steps, and mean and
    SD over seeds of each quantity; of one of several constraints, or of all.

    `limit` is the constraint's own, `limits` are those of all. Each run is averaged within a bin
    first, so that a run with more rows does not count more.
    """
    metrics = metrics.lazy()
    count = 1 + len(further(metrics.collect_schema().names(), "cost"))
    chosen = range(count) if constraint is None else (constraint,)
    return pl.concat([_curves(runs, metrics, one) for one in chosen])


def _curves(runs: pl.DataFrame, metrics: pl.LazyFrame, constraint: int) -> pl.DataFrame:
    limits = pl.concat_list(["limit", *further(runs.columns, "limit")]).list.drop_nulls()
    named = name_settings(runs).with_columns(limits=limits, constraint=pl.lit(constraint))
    seen = seen_by(named.lazy(), constraint).collect()
    metrics = seen_by(metrics, constraint)
    usable = seen.filter(
        IS_COMPARISON & (pl.col("status") != "failed") & (pl.col("limits").list.len() > constraint)
    )
    keys = ["task", "algorithm", "constraint", "limit", "limits", "rule"]
    epochs = metrics.select(pl.col("epoch").max()).collect().item()
    width = max(-(-((epochs or 0) + 1) // POINTS), 1)
    quantities = ("lambda", "return", "cost")
    per_run = (
        metrics.select("run", "env_steps", *quantities, bin=pl.col("epoch") // width)
        .join(usable.lazy().select("run", *keys), on="run", how="inner")
        .group_by(*keys, "run", "bin")
        .agg(
            pl.col("env_steps").max(),
            *(pl.col(name).cast(pl.Float64).fill_nan(None).mean() for name in quantities),
        )
    )
    spread = [pl.col(name).mean().alias(f"{name}_mean") for name in quantities]
    spread += [pl.col(name).std().fill_null(0.0).alias(f"{name}_sd") for name in quantities]
    return (
        per_run.group_by(*keys, "bin")
        .agg(pl.col("env_steps").median().alias("steps"), *spread)
        .sort(*keys, "bin")
        .collect()
    )
