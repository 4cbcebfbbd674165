"""Kill a running study again and again, resume it each time, and compare with one that ran through.

    python benchmarks/chaos.py [--kills 10] [--epochs 60] [--study FILE|PRESET] [--seed 0]

A real study (by default Circle1 with small nets: 12 runs) is started with `saddle study run
--resume`, killed with SIGKILL at a random moment after it has saved something new, and so on; then
it is let through. Its metrics, runs and policies must equal those of an uninterrupted study bit by
bit. Exits with 1 when they do not.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import saddle
from saddle.study.store import Study

PLAN = """
name = "chaos"
tasks = ["SafetyPointCircle1-v0"]
seeds = 2
steps = {steps}
members = 6
[learner]
layout = "wide"
hidden = [32, 32]
steps_per_epoch = 2000
passes = 4
batch = 500
[chunk]
epochs = 3
share = 1.0
[[stages]]
name = "sweep"
lambdas = [0.1, 1.0, 10.0]
[[stages]]
name = "compare"
lambda_star = "sweep"
limits = [25]
rules = [{{ rule = "ga" }}, {{ rule = "pid" }}]
"""


def command(study: str, out: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "saddle",
        "study",
        "run",
        study,
        "--out",
        str(out),
        "--resume",
        "--json",
    ]


def saves(out: Path) -> int:
    """Grows with everything that the study saves."""
    return (
        sum(file.stat().st_mtime_ns for file in (out / "units").glob("*.json"))
        if out.exists()
        else 0
    )


def kill_once(
    study: str, out: Path, dice: random.Random, longest: float, environment: dict[str, str]
) -> bool:
    """Start, wait for a save, wait a random while, kill. False when it finished before that."""
    before = saves(out)
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen(command(study, out), stdout=nowhere, env=environment)
        while saves(out) == before and process.poll() is None:
            time.sleep(0.01)
        time.sleep(dice.uniform(0, longest))
        process.kill()
        return process.wait() != 0


def differences(whole: Study, killed: Study) -> list[str]:
    found = []
    if not killed.metrics.equals(whole.metrics, null_equal=True):
        found.append("metrics")
    if not killed.metrics.select("run", "epoch").is_unique().all():
        found.append("an epoch is there twice")
    if not killed.runs.equals(whole.runs, null_equal=True):
        found.append("runs")
    for run in whole.runs["run"]:
        one, two = (study.policy_folder(run) / "policy.npz" for study in (whole, killed))
        if one.read_bytes() != two.read_bytes():
            found.append(f"policy of {run}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument(
        "--epochs", type=int, default=60, help="of each run, unless --study is given"
    )
    parser.add_argument("--study", help="a study file or preset instead")
    parser.add_argument(
        "--longest", type=float, default=3.0, help="seconds from a save to the kill, at most"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "chaos.toml"
        file.write_text(PLAN.format(steps=options.epochs * 2000))
        study = options.study or str(file)
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled")}
        began = time.perf_counter()
        done = subprocess.run(
            command(study, folder / "whole"), env=environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            print(done.stdout[-2000:], done.stderr, file=sys.stderr)
            return 1
        through = time.perf_counter() - began
        kills = sum(
            kill_once(study, folder / "killed", dice, options.longest, environment)
            for _ in range(options.kills)
        )
        subprocess.run(
            command(study, folder / "killed"),
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        whole, killed = saddle.open_study(folder / "whole"), saddle.open_study(folder / "killed")
        found = differences(whole, killed)
        facts = {
            "runs": whole.runs.height,
            "rows": whole.metrics.height,
            "kills": kills,
            "seconds_through": through,
        }
        print(json.dumps({**facts, "differences": found}, indent=2))
    return 1 if found or kills < options.kills else 0


if __name__ == "__main__":
    sys.exit(main())
