"""Do two versions of Saddle compute the same, bit by bit, on this machine?

    python benchmarks/same_results.py record FILE     # with the one version
    python benchmarks/same_results.py compare FILE    # with the other

Small seeded trainings on a CPU: a point task and a velocity task, both layouts, all rules, and a
study with lambda*. Only the stores' Parquet files are read, so the versions may differ in anything
else. A version that changes a result on purpose says so in its commit, and records anew.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

SIZES = (
    "--learner.steps-per-epoch",
    "2000",
    "--learner.hidden",
    "16",
    "16",
    "--learner.passes",
    "3",
    "--learner.batch",
    "500",
)
RULES = {
    "fixed": ("--multiplier:fixed", "--multiplier.init", "0.7"),
    "ga": ("--multiplier:ga", "--limit", "10"),
    "plain-ga": ("--multiplier:ga", "--multiplier.optimizer", "plain", "--limit", "10"),
    "pid": (
        "--multiplier:pid",
        "--multiplier.kp",
        "0.01",
        "--multiplier.kd",
        "0.01",
        "--limit",
        "10",
    ),
}
TASKS = ("SafetyPointGoal1-v0", "SafetyHopperVelocity-v1")
LAYOUTS = ("study", "wide")
STUDY = """
tasks = ["SafetyPointCircle1-v0"]
seeds = 2
steps = 8000

[learner]
steps_per_epoch = 2000
hidden = [16, 16]
passes = 3
batch = 500

[[stages]]
name = "sweep"
lambdas = [0.1, 1.0, 10.0]

[[stages]]
name = "compare"
limits = [10, 25]
lambda_star = "sweep"
rules = [{ rule = "ga" }, { rule = "pid" }]
"""


def saddle(*words: str) -> None:
    """Run a command; its output is shown only if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "saddle", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(
            f"saddle {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )


def trainings(folder: Path) -> dict[str, Path]:
    """Every training's store, by its name."""
    stores: dict[str, Path] = {}
    for task in TASKS:
        for layout in LAYOUTS:
            for rule, words in RULES.items():
                name = f"{task}-{layout}-{rule}"
                print(name, flush=True)
                stores[name] = folder / name
                options = (
                    "--seeds",
                    "2",
                    "--steps",
                    "6000",
                    "--learner.layout",
                    layout,
                    "--out",
                    str(stores[name]),
                )
                saddle("train", task, *words, *options, *SIZES)
    print("study", flush=True)
    file = folder / "study.toml"
    file.write_text(STUDY)
    stores["study"] = folder / "study"
    saddle("study", "run", str(file), "--out", str(stores["study"]))
    return stores


def digest(store: Path) -> dict[str, str]:
    """A number for each metric of all runs and epochs. Names of runs do not count, their order by
    settings does.
    """
    runs = pl.read_parquet(store / "runs" / "*.parquet", missing_columns="insert")
    metrics = pl.read_parquet(store / "metrics" / "*" / "*.parquet", missing_columns="insert")
    keys = ["stage", "rule", "limit", "lambda", "seed"]
    order = runs.sort(keys).with_row_index("place").select("run", "place")
    table = metrics.join(order, on="run").sort("place", "epoch")
    found = {}
    for column in sorted(table.columns):
        if column in ("run", "place"):
            continue
        found[column] = hashlib.sha256(repr(table[column].to_list()).encode()).hexdigest()[:16]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stores = trainings(Path(folder))
        found = {name: digest(store) for name, store in stores.items()}
    if options.what == "record":
        options.file.write_text(json.dumps(found, indent=1))
        return 0
    before = json.loads(options.file.read_text())
    differ = 0
    for name, columns in before.items():
        other = [column for column in columns if found[name].get(column) != columns[column]]
        differ += bool(other)
        print(f"{name}: {'differs in ' + ', '.join(other) if other else 'the same'}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
