"""Time and memory of the analysis and of all figures on a generated study of full size.

    python benchmarks/analysis.py [--dir DIR] [--epochs 1750]

Writes 8 tasks x (25 lambdas + 3 rules x 2 limits) x 10 seeds = 2480 runs as Parquet files of the
store's columns, one per task, then runs each part in its own process and prints wall seconds, CPU
seconds and peak memory.
"""

import argparse
import dataclasses
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

PARTS = ("analyze", "figures")


def generate(out: Path, epochs: int) -> None:
    from saddle.analysis.published import comparison_limits, table
    from saddle.analysis.simulate import TRUTHS, simulate

    names = table()["task"].unique(maintain_order=True)
    runs = []
    for i, task in enumerate(names):
        truth = dataclasses.replace(
            TRUTHS[i % len(TRUTHS)], task=task, limits=comparison_limits(task)
        )
        rows, metrics = simulate([truth], np.random.default_rng(i), epochs=epochs)
        named = (task + "-" + pl.col("run")).alias("run")
        runs.append(rows.with_columns(named))
        metrics.with_columns(named).write_parquet(out / f"metrics-{i}.parquet")
    pl.concat(runs).write_parquet(out / "runs.parquet")


def measure(part: str, out: Path) -> dict[str, float]:
    began = time.perf_counter()
    from saddle.analysis import analyze
    from saddle.report.curves import training_curves
    from saddle.report.write import write_all

    runs, metrics = (
        pl.read_parquet(out / "runs.parquet"),
        pl.scan_parquet(out / "metrics-*.parquet"),
    )
    findings = analyze(runs, metrics)
    files = 0
    if part == "figures":
        files = len(write_all(findings, training_curves(runs, metrics), out / "figures"))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "runs": findings.runs.used,
        "files": files,
        "wall_s": round(time.perf_counter() - began, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_gb": round(usage.ru_maxrss / 2**20, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--dir", type=Path, help="folder for the generated study (default: a temporary one)"
    )
    parser.add_argument("--epochs", type=int, default=1750)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        print(json.dumps(measure(args.part, args.dir)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        out = args.dir or Path(temporary)
        out.mkdir(parents=True, exist_ok=True)
        generate(out, args.epochs)
        for part in PARTS:
            command = [sys.executable, __file__, "--part", part, "--dir", str(out)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            print(part, done.stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
