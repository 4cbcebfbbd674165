"""Runs whose policy takes lambda as an input, spread out as the sweep that they are.

Such a run logs its episodes in strata of lambda: in every epoch each stratum's multipliers, its
number of episodes, and their mean return and costs. Each stratum becomes a run of its own at a
fixed lambda, so that all that is known about sweeps applies.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from saddle.analysis import findings as f
from saddle.analysis.constraints import column, further
from saddle.multipliers.fixed import Fixed

LAMBDA, RETURN, COST, EPISODES = "dial_lambda", "dial_return", "dial_cost", "dial_episodes"
LOGGED = (LAMBDA, RETURN, COST, EPISODES)
SEEN_IN_TRAINING = (
    "Policies with a dial are seen here as they were trained: every return and cost has the noise "
    "of exploration in it, and lambda* is of the means of all seeds. 'saddle dial' plays each as "
    "it ended, by its mean action, and finds its own setting for a limit. So it may keep limits "
    "that are not reachable here."
)
BY_MEAN_ACTION = "by its mean action the policy may keep it ('saddle dial')"

Told = TypeVar("Told", f.LimitFinding, f.JointMultiplier)


def spread_out(
    runs: pl.DataFrame, metrics: pl.DataFrame | pl.LazyFrame
) -> tuple[pl.DataFrame, pl.LazyFrame]:
    """Runs and metrics with every stratum as a run `RUN@LAMBDA`; `trained` names the run that it
    belongs to. Other runs, and what is spread out already, stay as they are.
    """
    metrics = metrics.lazy()
    columns = metrics.collect_schema().names()
    if "trained" not in runs.columns:
        runs = runs.with_columns(pl.col("run").alias("trained"))
    if RETURN not in columns:
        return runs, metrics
    strata = _strata(metrics, columns)
    if strata.is_empty():
        return runs, metrics
    lambdas = [name for name in strata.columns if name.startswith("lambda")]
    dials = runs.filter(pl.col("run").is_in(strata["run"].to_list()))
    others = runs.filter(~pl.col("run").is_in(strata["run"].to_list()))
    known = dials.drop(*(name for name in lambdas if name in dials.columns))
    spread = (
        known.join(strata, on="run", maintain_order="left")
        .with_columns(pl.col("name").alias("run"), pl.lit(Fixed.name).alias("rule"))
        .drop("name", "stratum")
    )
    parts = [_metrics_of(metrics, strata, place) for place in strata["stratum"].unique().sort()]
    logged = [name for name in columns if name.startswith(LOGGED)]
    rest = metrics.filter(~pl.col("run").is_in(strata["run"].to_list())).drop(logged)
    return (
        pl.concat([others, spread], how="diagonal"),
        pl.concat([rest, *parts], how="diagonal"),
    )


def notes(finals: pl.DataFrame) -> list[str]:
    """What to know of runs that were spread out, where some were."""
    return [SEEN_IN_TRAINING] if _are_spread_out(finals) else []


def with_noise(found: Sequence[Told], finals: pl.DataFrame) -> tuple[Told, ...]:
    """What was found of these runs at limits. Where they were spread out, a limit that is not
    reached says that noise is a part of that.
    """
    if not _are_spread_out(finals):
        return tuple(found)
    return tuple(map(_with_noise, found))


def _with_noise(found: Told) -> Told:
    if found.status != "always above":
        return found
    return replace(found, reason=f"{found.reason}; {BY_MEAN_ACTION}")


def _are_spread_out(finals: pl.DataFrame) -> bool:
    is_stratum = finals["run"] != finals["trained"]
    return bool(is_stratum.any())


def _strata(metrics: pl.LazyFrame, columns: list[str]) -> pl.DataFrame:
    """A row for each stratum of each run: run, stratum, name, lambda, lambda_1 ..."""
    returns = [RETURN, *further(columns, RETURN)]
    lambdas = [LAMBDA, *further(columns, LAMBDA)]
    there = (
        metrics.filter(pl.col(RETURN).is_not_null())
        .group_by("run", maintain_order=True)
        .agg(
            pl.sum_horizontal(pl.col(name).is_not_null().any() for name in returns).alias("strata"),
            pl.concat_list(pl.col(name).drop_nulls().first() for name in lambdas).alias("values"),
        )
        .collect()
    )
    rows = []
    for run, count, values in there.iter_rows():
        known = [float(f"{value:.4g}") for value in values if value is not None]
        constraints = len(known) // count
        for stratum in range(count):
            own = known[stratum * constraints : (stratum + 1) * constraints]
            row = {"run": run, "stratum": stratum, "name": f"{run}@{'_'.join(map(str, own))}"}
            rows.append(row | {column("lambda", i): value for i, value in enumerate(own)})
    return pl.DataFrame(rows)


def _metrics_of(metrics: pl.LazyFrame, strata: pl.DataFrame, stratum: int) -> pl.LazyFrame:
    """The learning curves of one stratum of all runs that have it, under their names."""
    here = strata.filter(pl.col("stratum") == stratum)
    lambdas = [name for name in here.columns if name.startswith("lambda")]
    parts = []
    for (constraints,), own in here.group_by(
        pl.sum_horizontal(pl.col(name).is_not_null() for name in lambdas), maintain_order=True
    ):
        costs = {}
        for i in range(int(constraints)):
            costs[column("cost", i)] = pl.col(column(COST, stratum * int(constraints) + i))
        names = own.lazy().select("run", "name", *lambdas)
        curves = (
            metrics.join(names, on="run", maintain_order="left")
            .select(
                pl.col("name").alias("run"),
                "epoch",
                "env_steps",
                pl.col(column(RETURN, stratum)).alias("return"),
                pl.col(column(EPISODES, stratum)).alias("episodes"),
                *(pl.col(name).cast(pl.Float32) for name in lambdas),
                **costs,
            )
            .with_columns(
                pl.col("return").alias("window_return"),
                *(pl.col(name).alias(f"window_{name}") for name in costs),
            )
        )
        parts.append(curves)
    return pl.concat(parts, how="diagonal")
