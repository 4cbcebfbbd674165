"""Training curves: mean and SD over seeds of lambda, return and cost, along env steps."""

import polars as pl

from saddle.analysis.assemble import IS_COMPARISON
from saddle.analysis.constraints import seen_by
from saddle.analysis.settings import name_settings

POINTS = 250  # a curve at most; a column's width shows no more


def training_curves(
    runs: pl.DataFrame, metrics: pl.DataFrame | pl.LazyFrame, constraint: int = 0
) -> pl.DataFrame:
    """One row per task, algorithm, limit, rule and bin of epochs: steps, and mean and SD over seeds
    of each quantity.

    Each run is averaged within a bin first, so that a run with more rows does not count more.
    """
    runs = seen_by(runs.lazy(), constraint).collect()
    metrics = seen_by(metrics.lazy(), constraint)
    usable = name_settings(runs).filter(IS_COMPARISON & (pl.col("status") != "failed"))
    keys = ["task", "algorithm", "limit", "rule"]
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
