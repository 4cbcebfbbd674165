"""`python results/cards.py [--reference PYTHON] [NAME ...]`: a card for each policy in policies/.

Plays every policy here, and with --reference also in the task's own package, Safety-Gymnasium,
which that other Python has. A card that is there keeps what it says of the reference unless that is
played.
"""

import argparse
import contextlib
import json
import math
from pathlib import Path
from typing import Any

from scipy.stats import t as student

import saddle
from saddle.files import write_json
from saddle.study.names import short

RESULTS = Path(__file__).resolve().parent
COMMITS = {"circle1": "d17c287", "goal1": "d17c287", "halfcheetah": "7123ac5"}
EPISODES = 100
REFERENCE = "Safety-Gymnasium 1.0.0"
REFERENCE_EPISODES = 16


def card(folder: Path, python: str | None) -> dict[str, Any]:
    """Of the policy in this folder, named STUDY-RUN."""
    name, _, run = folder.name.partition("-")
    task = json.loads((folder / "policy.json").read_text())["task"]
    study = saddle.open_study(RESULTS / name)
    (row,) = study.runs.filter(study.runs["run"] == f"{short(task)}-{run}-s0").to_dicts()
    old = folder / "card.json"
    verified = json.loads(old.read_text())["verified"] if old.exists() else None
    if python is not None:
        source = f"gym:{task}?import=unbounded&cost=six&python={python}"
        with contextlib.chdir(RESULTS):  # where the other Python finds unbounded.py
            scores = played(folder, REFERENCE_EPISODES, source)
        verified = {"where": REFERENCE, "episodes": REFERENCE_EPISODES, **scores}
    return {
        "task": task,
        "rule": row["rule"],
        "multiplier": row["lambda"],
        "limit": row["limit"],
        "seed": row["seed"],
        "env_steps": row["steps"],
        "study": name,
        "commit": COMMITS[name],
        "episodes": EPISODES,
        **played(folder, EPISODES, None),
        "verified": verified,
    }


def played(folder: Path, episodes: int, task: str | None) -> dict[str, dict[str, list[float]]]:
    """Mean return and cost by its mean and as trained, with 95 % intervals."""
    found = {}
    for score in saddle.evaluate(folder, episodes=episodes, task=task):
        found[score.mode] = {
            "return": interval(score.return_mean, score.return_sd, episodes),
            "cost": interval(score.cost_mean, score.cost_sd, episodes),
        }
    return found


def interval(mean: float, sd: float, count: int) -> list[float]:
    """The mean and the ends of its t-interval, in five digits."""
    half = student.ppf(0.975, count - 1) * sd / math.sqrt(count)
    return [float(f"{value:.5g}") for value in (mean, mean - half, mean + half)]


def main() -> None:
    """Write the cards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--reference", metavar="PYTHON")
    asked = parser.parse_args()
    folders = sorted(path.parent for path in RESULTS.glob("policies/*/policy.json"))
    for folder in folders:
        if not asked.names or folder.name in asked.names:
            write_json(folder / "card.json", card(folder, asked.reference))
            print(folder.name, flush=True)


if __name__ == "__main__":
    main()
