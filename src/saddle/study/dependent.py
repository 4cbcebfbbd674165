"""Runs that wait for others: lambda* of a limit comes from the frontier of a sweep."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from saddle import config
from saddle.config import Fixed
from saddle.errors import SaddleError
from saddle.study.store import Study
from saddle.study.writer import member_rows

FINAL_SHARE = 0.05  # of training, over which a run's cost is averaged


def waits(frame: pl.DataFrame) -> bool:
    """Whether a unit's runs have no lambda yet."""
    return not frame.filter((pl.col("rule") == "fixed") & pl.col("lambda").is_null()).is_empty()


def ready(study: Study, frame: pl.DataFrame, sweep: Study | None) -> bool:
    """Whether all that the unit waits for is there: the task's sweep runs have ended, here or in another study.

    A run that failed has ended; a unit that broke has not, since a resumed study tries it again.
    """
    source = sweep or study
    needed = _sweep_runs(source, frame)
    broken = any(source.progress(unit).get("state") == "failed" for unit in needed["unit"].unique())
    return not needed.is_empty() and needed["status"].is_in(["done", "failed"]).all() and not broken


def resolve(study: Study, frame: pl.DataFrame, sweep: Study | None) -> pl.DataFrame:
    """The unit's runs, each with the lambda* of its limit."""
    source = sweep or study
    costs = final_costs(source, _sweep_runs(source, frame))
    if sum(at > 0 for at in costs) < 2:
        raise SaddleError(f"lambda* of {frame['task'][0]} needs a sweep of two lambdas or more that did not fail")
    stars = {limit: lambda_star(costs, limit) for limit in frame["limit"].unique().to_list()}
    changes = []
    for params, limit in frame.select("params", "limit").iter_rows():
        rule = config.to_dict(Fixed(stars[limit]))
        changes.append({"lambda": stars[limit], "params": json.dumps({**json.loads(params), "rule": rule})})
    return member_rows(frame, changes)


def final_costs(study: Study, runs: pl.DataFrame) -> dict[float, list[float]]:
    """Each seed's mean cost over the final share of training, by lambda. Failed runs have none."""
    runs = runs.filter(status="done").select("run", pl.col("lambda").alias("at"))
    per_run = (
        study.scan_metrics()
        .select("run", "epoch", "cost")
        .join(runs.lazy(), on="run")
        .with_columns((pl.col("epoch").max() + 1).over("run").alias("epochs"))
        .filter(pl.col("epoch") >= pl.col("epochs") - (FINAL_SHARE * pl.col("epochs")).ceil())
        .group_by("run", "at")
        .agg(pl.col("cost").cast(pl.Float64).drop_nans().mean())
        .drop_nulls()
        .sort("at", "run")
        .collect()
    )
    costs: dict[float, list[float]] = {}
    for at, cost in per_run.select("at", "cost").iter_rows():
        costs.setdefault(at, []).append(cost)
    return costs


def lambda_star(costs: Mapping[float, Sequence[float]], limit: float) -> float:
    """The smallest lambda at which the smoothed cost profile falls to the limit, as `saddle analyze` finds it.

    When the profile never crosses the limit, the end of the sweep that comes nearest: the smallest lambda if the cost
    is below everywhere, the largest if it is above.
    """
    from saddle.analysis.options import Options
    from saddle.analysis.profile import Sweep, crossings, fit, from_axis

    options = Options(replicates=100)  # of which only the estimate is used
    lambdas = np.array(sorted(at for at in costs if at > 0))
    seeds = max(len(costs[at]) for at in lambdas)
    table = np.array([[*costs[at], *[math.nan] * (seeds - len(costs[at]))] for at in lambdas])
    profile = fit(Sweep(lambdas, np.arange(seeds), table, table), options)
    found = crossings(profile.axis, profile.costs.value, limit)
    if len(found):
        return float(from_axis(found[0], options))
    return float(lambdas[0] if profile.costs.value[0] <= limit else lambdas[-1])


def open_sweep(path: Path | None) -> Study | None:
    """The other study that holds the sweep, if one is named."""
    return None if path is None else Study(path)


def _sweep_runs(source: Study, frame: pl.DataFrame) -> pl.DataFrame:
    stage = json.loads(frame["params"][0])["star"]
    return source.runs.filter(pl.col("lambda").is_not_null(), stage=stage, task=frame["task"][0], rule="fixed")
