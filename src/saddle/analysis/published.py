"""The published figures, as shipped in `data/`."""

import functools
from importlib import resources

import polars as pl

SEEDS = 10  # behind every cell of the published table


@functools.cache
def table() -> pl.DataFrame:
    """The published comparison: task, limit, rule, return_mean, return_sd, cost_mean, cost_sd."""
    return _read("table1.csv").rename({"cost_limit": "limit", "method": "rule"})


@functools.cache
def recommended_limits() -> dict[str, tuple[float, ...]]:
    """The cost limits that the published study recommends, per task."""
    rows = _read("recommended_limits.csv").iter_rows()
    return {task: tuple(float(limit) for limit in str(limits).split(";")) for task, limits in rows}


def comparison_limits(task: str) -> tuple[float, ...]:
    """The cost limits at which the published study compares rules on this task; none for a task that it does not have."""
    return tuple(table().filter(pl.col("task") == task)["limit"].unique().sort())


def _read(name: str) -> pl.DataFrame:
    return pl.read_csv((resources.files("saddle.analysis") / "data" / name).read_bytes())
