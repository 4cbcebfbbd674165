"""The columns of a study's two tables, and frames made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from saddle.multipliers import Fixed, Rule, each_lambda

RUNS: dict[str, Any] = {
    "run": pl.String,
    "unit": pl.String,
    "stage": pl.String,
    "task": pl.String,
    "algorithm": pl.String,
    "rule": pl.String,
    "lambda": pl.Float64,
    "limit": pl.Float64,
    "seed": pl.Int64,
    "steps": pl.Int64,
    "params": pl.String,
    "status": pl.String,
    "reason": pl.String,
}
"""One row per run. With several constraints `lambda_1`, ... and `limit_1`, ... follow."""

METRICS: dict[str, Any] = {
    "run": pl.String,
    "epoch": pl.Int32,
    "env_steps": pl.Int64,
    "return": pl.Float32,
    "cost": pl.Float32,
    "length": pl.Float32,
    "episodes": pl.Int32,
    "window_return": pl.Float32,
    "window_cost": pl.Float32,
    "window_length": pl.Float32,
    "lambda": pl.Float32,
}
"""One row per run and epoch. What the learner logs follows, and with several constraints `cost_1`,
`lambda_1`, ...
"""

NOT_STORED = ("failed",)  # goes into the runs table, as status and reason


def lambda_columns(rule: Rule | None, count: int) -> dict[str, float | None]:
    """What the runs table holds of a fixed rule's lambda, of each of `count` constraints; nothing
    of other rules.
    """
    lambdas = each_lambda(rule.init, count) if isinstance(rule, Fixed) else (None,) * count
    return {f"lambda_{i}" if i else "lambda": value for i, value in enumerate(lambdas)}


def runs_frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of the runs table, with every column of the contract, typed. Lambdas and limits of
    further constraints are kept.
    """
    further = sorted({key for row in rows for key in row if key not in RUNS})
    schema = {**RUNS, **dict.fromkeys(further, pl.Float64)}
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in schema}, schema=schema)


def metrics_frame(
    runs: Sequence[str], start: int, rows: Sequence[Mapping[str, np.ndarray]]
) -> pl.DataFrame:
    """The table of consecutive epochs of one unit, run by run.

    `rows` has one mapping per epoch, the first being epoch `start`; its arrays are [members] or
    [members, m]. A column of the contract that was not logged is NaN, or null where it counts
    something.
    """
    members = len(runs)
    epochs = len(rows)
    stacked = {
        name: np.stack([row[name] for row in rows], 1) for name in rows[0] if name not in NOT_STORED
    }
    columns: dict[str, Any] = {
        "run": np.repeat(np.asarray(runs, object), epochs),
        "epoch": np.tile(np.arange(start, start + epochs), members),
    }
    for name, values in stacked.items():  # [members, epochs] or [members, epochs, m]
        for i, column in enumerate(np.moveaxis(np.atleast_3d(values), 2, 0)):
            columns[name if i == 0 else f"{name}_{i}"] = column.reshape(-1)
    return typed_metrics(pl.DataFrame(columns))


def typed_metrics(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with all columns of the contract, in order and typed; further ones follow."""
    missing = [name for name in METRICS if name not in frame.columns]
    frame = frame.with_columns(
        pl.lit(float("nan") if METRICS[name].is_float() else None, METRICS[name]).alias(name)
        for name in missing
    )
    further = [name for name in frame.columns if name not in METRICS]
    return frame.select(
        *(pl.col(name).cast(kind) for name, kind in METRICS.items()),
        *(pl.col(name).cast(_further_kind(name, frame.schema[name])) for name in further),
    )


def _further_kind(name: str, kind: Any) -> Any:
    """`cost_1` is like `cost`; text, which only imports have, stays text; whole numbers are int32,
    others float32.
    """
    if kind == pl.String:
        return kind
    like, _, number = name.rpartition("_")
    if number.isdecimal() and like in METRICS:
        return METRICS[like]
    return pl.Int32 if kind.is_integer() else pl.Float32
