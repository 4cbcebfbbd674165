"""Simulated studies as directories."""

import polars as pl

from saddle.study.columns import runs_frame, typed_metrics
from saddle.study.writer import create, manifest, write_chunk, write_runs


def store(path, runs: pl.DataFrame, metrics: pl.DataFrame, plan=None, name="made"):
    """Write the two tables as a study; a unit's metrics are one chunk."""

    def fill(folder):
        for (unit,), rows in runs.group_by(["unit"], maintain_order=True):
            write_runs(folder, str(unit), runs_frame(rows.to_dicts()))
            own = metrics.filter(pl.col("run").is_in(rows["run"].to_list()))
            if own.height:
                write_chunk(folder, str(unit), 0, int(own["epoch"].max()) + 1, typed_metrics(own))  # pyright: ignore

    create(path, manifest(name, "highest", plan or {}), fill)
    return path
