"""Training curves: mean and SD over seeds of lambda, return and cost, along env steps."""

import polars as pl

from saddle.analysis.constraints import further, seen_by
from saddle.analysis.settings import name_settings
from saddle.analysis.sweep import IS_COMPARISON

POINTS = 250  # a curve at most; a column's width shows no more
KEYS = ("task", "algorithm", "constraint", "limit", "limits", "rule")
QUANTITIES = ("lambda", "return", "cost")


def training_curves(
    runs: pl.DataFrame, metrics: pl.DataFrame | pl.LazyFrame, unfinished: bool = False
) -> pl.DataFrame:
    """One row per task, algorithm, constraint, limits, rule and bin of epochs: steps, and mean and
    SD over seeds of each quantity. Of runs that are done, or with `unfinished` of all that did not
    fail.

    `limit` is the constraint's own, `limits` are those of all. Each run is averaged within a bin
    first, so that a run with more rows does not count more.
    """
    metrics = metrics.lazy()
    status = pl.col("status")
    usable = runs.filter(status != "failed" if unfinished else status == "done")
    count = 1 + len(further(metrics.collect_schema().names(), "cost"))
    return pl.concat([_curves(usable, metrics, constraint) for constraint in range(count)])


def _curves(runs: pl.DataFrame, metrics: pl.LazyFrame, constraint: int) -> pl.DataFrame:
    compared = _compared(runs, constraint)
    rows = seen_by(metrics, constraint).select("run", "epoch", "env_steps", *QUANTITIES)
    rows = rows.join(compared.lazy(), on="run", how="inner", maintain_order="left")
    # Studies of other lengths may be merged with these.
    last = pl.col("epoch").max().over("task", "algorithm")
    epochs_of_a_bin = last // POINTS + 1
    rows = rows.with_columns(bin=pl.col("epoch") // epochs_of_a_bin)

    quantities = pl.col(*QUANTITIES)
    # Sums of the same numbers in another order differ in their last bits. Polars keeps the order of
    # a lazy mean where it is told to, but not of a lazy SD: that one is taken of collected rows.
    of_runs = rows.group_by(*KEYS, "run", "bin", maintain_order=True).agg(
        pl.col("env_steps").max(),
        quantities.cast(pl.Float64).fill_nan(None).mean(),
    )
    groups = of_runs.collect().group_by(*KEYS, "bin", maintain_order=True)
    over_seeds = groups.agg(
        pl.col("env_steps").median().alias("steps"),
        quantities.mean().name.suffix("_mean"),
        quantities.std().fill_null(0.0).name.suffix("_sd"),
    )
    return over_seeds.sort(*KEYS, "bin")


def _compared(runs: pl.DataFrame, constraint: int) -> pl.DataFrame:
    """The runs of rules that have a limit of this constraint, and what tells curves apart."""
    limits = pl.concat_list(["limit", *further(runs.columns, "limit")]).list.drop_nulls()
    named = name_settings(runs).with_columns(limits=limits, constraint=pl.lit(constraint))
    seen = seen_by(named.lazy(), constraint).collect()
    has_limit = pl.col("limits").list.len() > constraint
    return seen.filter(IS_COMPARISON & has_limit).select("run", *KEYS)
