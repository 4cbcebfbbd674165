"""Whether the error holds when seeds are added until rules are told apart, and what that saves.

python benchmarks/until_decided.py                      # all of it, on one core
python benchmarks/until_decided.py --studies 200        # a glance
"""

import argparse
import math
from collections.abc import Sequence

import numpy as np

from saddle.analysis import simulate_sequential as made_up
from saddle.analysis.sequential import Looks
from saddle.analysis.simulate_sequential import LAWS, Law

DEALS = 10_000
"""Fewer than usual: the smallest p-value that decides anything here is 0.05 / 45 / 5."""

SEQUENTIAL = Looks((3, 6, 9, 12, 15), 0.05, DEALS)
FIXED = Looks((15,), 0.05, DEALS)
"""The same at most, looked at once."""


LONE = {3: [2.0, 0.0, 0.0], 10: [2.0, -2.0, *[0.0] * 8]}
"""By how much rules differ where some are equal: one is ahead, and of ten one is behind."""


def errors(law: Law, shifts: Sequence[float], shared: float, studies: int) -> str:
    """Shares of studies in which equal rules were told apart: corrected, and not."""
    rng = np.random.default_rng(0)
    corrected = 0
    uncorrected = 0
    for _ in range(studies):
        study = made_up.made(rng, law, shifts, SEQUENTIAL.seeds[-1], shared)
        corrected += made_up.errs(study, study.compared(SEQUENTIAL))
        uncorrected += made_up.errs_uncorrected(study, SEQUENTIAL)
    return f"{100 * corrected / studies:.1f} % | {100 * uncorrected / studies:.1f} %"


def power(shifts: Sequence[float], looks: Looks, studies: int) -> str:
    """Share of studies that find the best rule, and the seeds that a rule gets."""
    rng = np.random.default_rng(0)
    found = []
    seeds = []
    for _ in range(studies):
        study = made_up.made(rng, LAWS["normal"], shifts, looks.seeds[-1])
        compared = study.compared(looks)
        found.append(made_up.finds_best(study, compared))
        seeds.append(made_up.mean_seeds(compared))
    return f"{100 * np.mean(found):.0f} % | {np.mean(seeds):.1f}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    noise = 100 * math.sqrt(0.05 * 0.95 / studies)
    print(f"{studies} studies each; a share of 5 % has a standard error of {noise:.2f} points")
    print("| rules | truth | law | shared | error | uncorrected |")
    for rules in LONE:
        equal = [0.0] * rules
        for name, law in LAWS.items():
            print(f"| {rules} | equal | {name} | 0 | {errors(law, equal, 0, studies)} |")
        cells = errors(LAWS["normal"], equal, 0.5, studies)
        print(f"| {rules} | equal | normal | 0.5 | {cells} |", flush=True)
        for name in ("normal", "failing"):
            cells = errors(LAWS[name], LONE[rules], 0, studies)
            print(f"| {rules} | some equal | {name} | 0 | {cells} |", flush=True)
    fewer = studies // 4
    noise = 50 / math.sqrt(fewer)
    print(f"{fewer} studies each; a share of 50 % has a standard error of {noise:.1f} points")
    print("| rules | ahead by | until decided: found | seeds | 15 seeds: found | seeds |")
    for rules in LONE:
        for by in (1.0, 1.5, 2.0, 3.0):
            shifts = [by, *[0.0] * (rules - 1)]
            cells = [power(shifts, looks, fewer) for looks in (SEQUENTIAL, FIXED)]
            print(f"| {rules} | {by:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
