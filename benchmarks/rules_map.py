"""Time and memory of `saddle map` on a made-up study of full size.

    python benchmarks/rules_map.py [--dir DIR] [--epochs 1750] [--lambdas 25]

Writes a store of 8 tasks x (25 lambdas + 10 rules x 6 limits) x 10 seeds = 6800 runs, of which 4800
make the map, then analyses it in a process of its own and prints wall seconds, CPU seconds and peak
memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

TASKS, LIMITS, SEEDS = 8, 6, 10


def generate(out: Path, epochs: int, lambdas: int) -> None:
    from saddle.study.columns import runs_frame, typed_metrics
    from saddle.study.writer import create, manifest, write_chunk, write_runs

    def fill(folder: Path) -> None:
        for task in range(TASKS):
            for unit, runs, metrics in units(task, epochs, lambdas):
                write_runs(folder, unit, runs_frame(runs.to_dicts()))
                write_chunk(folder, unit, 0, epochs, typed_metrics(metrics))

    create(out, manifest("rules-map", "highest", {}), fill)


def units(task: int, epochs: int, lambdas: int):
    """Name, runs and metrics of a task's sweep, and of its rules at each limit."""
    from saddle.analysis.simulate import TRUTHS, curves_of, row_of, sweep_finals
    from saddle.multipliers import rules

    rng = np.random.default_rng(task)
    truth = TRUTHS[task % len(TRUTHS)]
    name = f"Map{task}-v0"
    values = np.geomspace(0.1, 10, lambdas)
    sweep = [
        row_of(name, "sweep", "fixed", float(lam), None, s) for lam in values for s in range(SEEDS)
    ]
    parts = [(f"{name}-sweep", sweep, sweep_finals(truth, rng, SEEDS, values, 0.5))]
    costs = truth.cost(np.geomspace(0.2, 5, LIMITS))
    kinds = [rule.name for rule in rules().values() if not rule.drawn]
    for limit in costs:
        lam = truth.lambda_star(limit)
        rows = [row_of(name, "map", kind, None, limit, s) for kind in kinds for s in range(SEEDS)]
        for row in rows:
            row["lambda"] = lam if row["rule"] == "fixed" else None
        noise = rng.normal(size=(2, len(rows)))
        own = limit * np.exp(0.2 * noise[0] - 0.02)
        finals = np.stack([truth.gain(own) + noise[1], own, np.full(len(rows), lam)], -1)
        parts.append((f"{name}-{limit:.4g}", rows, finals))
    for unit, rows, finals in parts:
        named = [
            row | {"unit": unit, "run": f"{unit}-{i}", "steps": 20_000 * epochs}
            for i, row in enumerate(rows)
        ]
        runs = pl.DataFrame(named, infer_schema_length=None)
        metrics = curves_of(runs, finals, rng, epochs).with_columns(
            episodes_above=(pl.col("cost") / 50).clip(0, 1).mul(20).cast(pl.Int32),
            window_cvar=pl.col("cost") * 1.5,
        )
        yield unit, runs, metrics


def measure(out: Path) -> dict[str, float]:
    began = time.perf_counter()
    from saddle.analysis import Options
    from saddle.analysis.aggregates import aggregates
    from saddle.analysis.from_store import analyze_store
    from saddle.analysis.rules_map import maps

    findings = analyze_store(out, Options())
    found = maps(findings)
    mapped = time.perf_counter()
    over_all = aggregates(findings)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "runs": findings.runs.used,
        "cells": sum(len(one.cells) for one in found),
        "strata": sum(one.gap.strata for one in over_all),
        "aggregates_s": round(time.perf_counter() - mapped, 2),
        "wall_s": round(time.perf_counter() - began, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_gb": round(usage.ru_maxrss / 2**20, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, help="made if need be (default: a temporary one)")
    parser.add_argument("--epochs", type=int, default=1750)
    parser.add_argument("--lambdas", type=int, default=25)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.dir)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        out = args.dir or Path(temporary) / "study"
        if not out.exists():
            generate(out, args.epochs, args.lambdas)
        command = [sys.executable, __file__, "--measure", "--dir", str(out)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
