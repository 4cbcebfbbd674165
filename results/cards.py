"""`python results/cards.py [--reference PYTHON] [NAME ...]`: a card for each policy in policies/.

Plays every policy here, and with --reference also in the task's own package, Safety-Gymnasium,
which that other Python has. A card that is there keeps what it says of the reference unless that is
played.
"""

import argparse
import contextlib
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scipy.stats import t as student

import saddle
from saddle.analysis.published import comparison_limits
from saddle.files import write_json
from saddle.study.names import short

RESULTS = Path(__file__).resolve().parent
COMMITS = {
    "circle1": "d17c287",
    "circle1-dial": "d3e81bc",
    "goal1-dial": "d3e81bc",
    "halfcheetah-dial": "d3e81bc",
    "goal1": "d17c287",
    "halfcheetah": "7123ac5",
}
EPISODES = 100
SEARCH_SEED = 1  # of the worlds in which a dial is set; what it does there is played in others
REFERENCE = "Safety-Gymnasium 1.0.0"
REFERENCE_EPISODES = 16


def card(folder: Path, python: str | None) -> dict[str, Any]:
    """Of the policy in this folder, named STUDY-RUN, or as its study where that has a dial."""
    if (RESULTS / folder.name).is_dir():
        study, run = folder.name, "conditioned-dial-s200"
    else:
        study, _, run = folder.name.partition("-")
        run = f"{run}-s0"
    task = json.loads((folder / "policy.json").read_text())["task"]
    runs = saddle.open_study(RESULTS / study).runs
    (row,) = runs.filter(runs["run"] == f"{short(task)}-{run}").to_dicts()
    old = folder / "card.json"
    before = json.loads(old.read_text())["settings"] if old.exists() else []
    places = [(row["lambda"], row["limit"])]
    if row["rule"] == "dial":
        places = list(dialled(folder, comparison_limits(task)))
    settings = []
    for k, (multiplier, limit) in enumerate(places):
        dial = multiplier if row["rule"] == "dial" else None
        verified = before[k]["verified"] if k < len(before) else None
        if python is not None:
            source = f"gym:{task}?import=unbounded&cost=six&python={python}"
            with contextlib.chdir(RESULTS):  # where the other Python finds unbounded.py
                scores = played(folder, REFERENCE_EPISODES, dial, source)
            verified = {"where": REFERENCE, "episodes": REFERENCE_EPISODES, **scores}
        here = played(folder, EPISODES, dial)
        settings.append({"multiplier": multiplier, "limit": limit, **here, "verified": verified})
    return {
        "task": task,
        "rule": row["rule"],
        "seed": row["seed"],
        "env_steps": row["steps"],
        "study": study,
        "commit": COMMITS[study],
        "episodes": EPISODES,
        "settings": settings,
    }


def dialled(folder: Path, limits: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Lambda and limit, of those limits that the policy's dial can keep; of limits with the same
    lambda the first.
    """
    told = set()
    for found in saddle.dial(folder, limits, seed=SEARCH_SEED):
        lam = float(f"{found.multipliers[0]:.4g}")
        if found.verdict in ("kept", "does not bind") and lam not in told:
            told.add(lam)
            yield lam, found.limits[0]


def played(
    folder: Path, episodes: int, dial: float | None, task: str | None = None
) -> dict[str, dict[str, list[float]]]:
    """Mean return and cost by its mean and as trained, with 95 % intervals."""
    found = {}
    multipliers = () if dial is None else (dial,)
    for score in saddle.evaluate(folder, episodes=episodes, task=task, multipliers=multipliers):
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
