"""From learning curves to one return and one cost per run, and to statistics over the seeds of a
group.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from saddle.analysis.bootstrap import interquartile_mean, mean_interval
from saddle.analysis.constraints import CAME_C, SAID_C, column, further, names, present
from saddle.analysis.dials import spread_out
from saddle.analysis.epochs import epochs_in, is_last
from saddle.analysis.findings import Estimate, RunCounts, Statistics, Violation
from saddle.analysis.options import Options
from saddle.analysis.over_training import over_training
from saddle.analysis.resolution import whole_costs
from saddle.analysis.settings import name_settings
from saddle.analysis.settled import gain
from saddle.analysis.sweep import IS_COMPARISON
from saddle.errors import SaddleError
from saddle.words import counted

RUN_COLUMNS = (
    "run",
    "stage",
    "task",
    "algorithm",
    "rule",
    "lambda",
    "limit",
    "seed",
    "steps",
    "status",
)
SAID_R, CAME_R = "start_q_r", "start_mc_r"
CRITICS = (SAID_R, CAME_R, SAID_C, CAME_C)
"""What critics said of episodes as these began, and what they came to, in studies that log it."""


RUNS_AT_ONCE = 1000
"""Whose metrics are read together: some hundred megabytes of runs of full length."""


class Finals(NamedTuple):
    """One row per run that counts: the columns of runs, and what is found of its last epochs.

    That is return, cost, what each gained over the last tenth of training (return_gain, cost_gain),
    window, found, env_steps, whole and constraints; of runs that were trained at a limit the
    columns of over_training; and what critics said (`CRITICS`), if they did. `constraints` is how
    many the run has, and `called` what they are called, empty where that is not known. Of further
    constraints there are cost_1, cost_gain_1, lambda_1, limit_1, whole_1 and so on; the lists
    `costs`, `lambdas` and `limits` hold those of all, null where the first is.
    """

    frame: pl.DataFrame
    counts: RunCounts
    notes: list[str]


def final_values(
    runs: pl.DataFrame, metrics: pl.DataFrame | pl.LazyFrame, options: Options
) -> Finals:
    """Mean return and cost of each run over the final share of its training; a run with a dial
    counts once, and has a row for each stratum of its multipliers.
    """
    runs, metrics = spread_out(runs, metrics)
    columns = metrics.collect_schema().names()
    _need(runs.columns, RUN_COLUMNS, "runs")
    _need(columns, ("run", "epoch", "env_steps", "return", "cost"), "metrics")
    costs = ["cost", *further(columns, "cost")]
    usable = pl.col("status") != "failed" if options.unfinished else pl.col("status") == "done"
    named = _every_constraint(_called(name_settings(runs)), len(costs))
    critics = critic_columns(columns)
    finals = _in_shares(named.filter(usable), metrics, costs, critics, options)
    joined = named.filter(usable).join(finals, on="run", how="left", maintain_order="left")
    finite = [
        pl.col(cost).is_finite() | (pl.col("constraints") <= i) for i, cost in enumerate(costs)
    ]
    good = _listed(joined.filter(pl.col("return").is_finite(), *finite), len(costs))
    counts = RunCounts(
        total=runs["trained"].n_unique(),
        used=good["trained"].n_unique(),
        failed=_trained(runs, pl.col("status") == "failed"),
        unfinished=0
        if options.unfinished
        else _trained(runs, ~pl.col("status").is_in(["failed", "done"])),
        without_values=joined["trained"].n_unique() - good["trained"].n_unique(),
    )
    return Finals(good, counts, _notes(good, counts))


def _in_shares(
    runs: pl.DataFrame,
    metrics: pl.LazyFrame,
    costs: list[str],
    critics: list[str],
    options: Options,
) -> pl.DataFrame:
    """What is found of each run's metrics, a share of the runs at a time: a large study's metrics
    are never in memory as a whole.
    """
    shares = []
    for share in runs.iter_slices(RUNS_AT_ONCE):
        own = metrics.filter(pl.col("run").is_in(share["run"].to_list()))
        shares.append(_of_runs(share, own, costs, critics, options))
    if not shares:
        return _of_runs(runs, metrics.limit(0), costs, critics, options)
    return pl.concat(shares)


def _of_runs(
    runs: pl.DataFrame,
    metrics: pl.LazyFrame,
    costs: list[str],
    critics: list[str],
    options: Options,
) -> pl.DataFrame:
    """A row for each run: its last epochs, whether its costs are whole numbers, and how it kept its
    limit while it was trained.
    """
    found = _tails(metrics, costs, critics, options.final_share)
    compared = runs.filter(IS_COMPARISON)
    for i, cost in enumerate(costs):
        whole = whole_costs(metrics, cost).rename({"whole": column("whole", i)})
        kept = over_training(compared, metrics, i, options.final_share)
        found = found.join(whole, on="run", how="left").join(kept, on="run", how="left")
    return found


def _trained(runs: pl.DataFrame, which: pl.Expr) -> int:
    """How many runs were trained of those."""
    return runs.filter(which)["trained"].n_unique()


def _every_constraint(runs: pl.DataFrame, count: int) -> pl.DataFrame:
    """The columns that are needed of the runs, with a lambda and a limit for each of `count`
    constraints.

    Stores that were written before there could be a lambda for each have one, which is for all.
    """
    added = []
    for i in range(1, count):
        limit, lam = column("limit", i), column("lambda", i)
        if limit not in runs.columns:
            added.append(pl.lit(None, pl.Float64).alias(limit))
        if lam in runs.columns:
            added.append(pl.coalesce(lam, "lambda"))
        else:
            added.append(pl.col("lambda").alias(lam))
    further_names = [column(name, i) for i in range(1, count) for name in ("lambda", "limit")]
    return runs.with_columns(added).select(*RUN_COLUMNS, *further_names, "called", "trained")


def _listed(finals: pl.DataFrame, count: int) -> pl.DataFrame:
    """Add the lists of what there is once for each of a run's constraints."""
    lists = []
    for name in ("cost", "lambda", "limit"):
        entries = pl.concat_list([column(name, i) for i in range(count)])
        own = entries.list.head(pl.col("constraints"))
        lists.append(pl.when(pl.col(name).is_not_null()).then(own).alias(f"{name}s"))
    return finals.with_columns(lists)


def _called(runs: pl.DataFrame) -> pl.DataFrame:
    """Add the names of each run's constraints."""
    texts = runs["params"] if "params" in runs.columns else [None] * runs.height
    called = [names(text) for text in texts]
    return runs.with_columns(pl.Series("called", called, pl.List(pl.String)))


def critic_columns(columns: Sequence[str]) -> list[str]:
    """Those of the columns that hold what critics said and what episodes came to."""
    return present(columns, CRITICS)


def _tails(
    metrics: pl.LazyFrame, costs: list[str], others: list[str], share: float
) -> pl.DataFrame:
    """Per run: means over its last epochs, how many epochs that should be, and how many were found.

    costs: columns with the cost of each constraint, null in runs that do not have that many;
    `constraints` is how many a run has. others: columns whose means are wanted too, over those of
    the epochs that have a number.
    """
    last = is_last(share)

    def mean(name: str) -> pl.Expr:
        return pl.col(name).cast(pl.Float64).fill_nan(None).filter(last).mean()

    has = [pl.col(name).is_not_null().any() for name in costs[1:]]
    return (
        metrics.group_by("run")
        .agg(
            mean("return").alias("return"),
            gain("return").alias("return_gain"),
            *(mean(name).alias(name) for name in (*costs, *others)),
            *(gain(cost).alias(column("cost_gain", i)) for i, cost in enumerate(costs)),
            epochs_in(share).cast(pl.Int64).alias("window"),
            last.sum().cast(pl.Int64).alias("found"),
            pl.col("env_steps").max(),
            pl.sum_horizontal(pl.lit(1), *has).alias("constraints"),
        )
        .collect()
    )


def _need(columns: list[str], wanted: tuple[str, ...], table: str) -> None:
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise SaddleError(
            f"the {table} table lacks {', '.join(missing)}; is this a study that saddle wrote?"
        )


def _notes(good: pl.DataFrame, counts: RunCounts) -> list[str]:
    notes = []
    if counts.failed:
        notes.append(
            f"{counts.failed} of {counted(counts.total, 'run')} failed; what failed is left out."
        )
    if counts.unfinished:
        notes.append(
            f"{counts.unfinished} of {counted(counts.total, 'run')} not finished; what is not "
            f"finished is left out, unless asked for (--unfinished, or unfinished=True)."
        )
    if counts.without_values:
        have = counted(counts.without_values, "run has", "runs have")
        notes.append(
            f"{have} no finite return or cost at the end of training, and no place in what "
            f"follows. "
            "If training diverged there, the rest looks better than it was."
        )
    gaps = good.filter(pl.col("found") != pl.col("window"))
    if gaps.height:
        notes.append(
            f"{counted(gaps.height, 'run lacks', 'runs lack')} epochs at the end of training, or "
            f"some are there twice; "
            "values are means over the rows that are there."
        )
    short = good.filter(pl.col("env_steps") < 0.99 * pl.col("steps"))
    if short.height:
        end = counted(short.height, "run ends before its", "runs end before their")
        notes.append(f"{end} planned number of env steps; what is there counts.")
    if not good.height:
        notes.append("No run has final values, so nothing can be concluded.")
    return notes


def statistics(returns: np.ndarray, costs: np.ndarray, level: float) -> Statistics:
    """Mean with its t-interval, SD (n - 1) and interquartile mean of both. One seed has no SD and
    no interval.
    """
    return Statistics(
        len(returns),
        mean_estimate(returns, level),
        _sd(returns),
        interquartile_mean(returns),
        cost_estimate(costs, level),
        _sd(costs),
        interquartile_mean(costs),
    )


def mean_estimate(values: np.ndarray, level: float) -> Estimate:
    """A mean over seeds with its t-interval."""
    return estimate(values.mean(), *mean_interval(values, level))


def cost_estimate(costs: np.ndarray, level: float) -> Estimate:
    """A mean cost over seeds with its t-interval."""
    return cost_within(mean_estimate(costs, level), costs)


def cost_within(found: Estimate, costs: np.ndarray) -> Estimate:
    """A mean cost, estimated from these costs. Costs that are never negative have no mean below
    0.
    """
    if found.lo is None or costs.min() < 0:
        return found
    return dataclasses.replace(found, lo=max(found.lo, 0.0))


def estimate(value: float, lo: float, hi: float) -> Estimate:
    """An estimate whose ends are None where they are not finite."""
    return Estimate(number(value), number(lo), number(hi))


def number(value: float) -> float | None:
    """A plain float, or None when it is not finite."""
    return float(value) if np.isfinite(value) else None


def numbers(values: np.ndarray) -> tuple[float | None, ...]:
    """Plain floats, None where not finite."""
    return tuple(number(value) for value in values)


def violation(costs: np.ndarray, limit: float, elsewhere: np.ndarray | bool = False) -> Violation:
    """How these seeds' final costs stand to a limit; `elsewhere` [seeds] are those that violate
    another one.
    """
    normalised = float((np.maximum(costs - limit, 0) / limit).mean()) if limit > 0 else None
    return Violation(limit, float(((costs > limit) | elsewhere).mean()), normalised)


def _sd(values: np.ndarray) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None
