"""How good is one policy with a dial, beside policies at fixed multipliers?

    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 20
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --set rsi_ema=0.9 passes=4
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --sweep 9
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --save default.json
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --set batch=250 --beside default.json

Trains what `saddle frontier` trains on this machine, with other settings where --set says so, and
plays it for fresh episodes as trained, with its noise. All seeds are one population. Prints for
each seed, and for all together: the hypervolume at nine multipliers from 0.1 to 10; R, the best
return among those that keep each limit ('-': none does); D, the return where `saddle dial` sets it
for each limit; and how that keeps the limits: 'misses' are limits that no setting keeps, 'over'
mean costs that lie above the limit by more than their 95 % interval. --beside compares with what
--save kept of another run, seed by seed: the mean difference, its standard error, and the p-value
of a paired t-test.
"""

import argparse
import ast
import dataclasses
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from saddle import tasks
from saddle.analysis.frontier import hypervolume, trace
from saddle.config import Member
from saddle.dial_search import search
from saddle.learners import LearnerSettings
from saddle.multipliers import Fixed
from saddle.policies import DialPolicy, NetworkPolicy, of_arrays
from saddle.population import Population
from saddle.rollouts import Player
from saddle.study.frontier import EPOCHS, machine_learner, sized

LAMBDAS = tuple(float(value) for value in np.geomspace(0.1, 10, 9))
PLAYED_SEED = 1234
"""Of the worlds in which frontiers are judged."""


def trained(task: str, settings: LearnerSettings, members: list[Member], epochs: int) -> list:
    """The policies of the members."""
    population = Population(task, settings, members, epochs * settings.steps_per_epoch)
    state = population.init()
    for _ in range(population.epochs):
        state, _ = population.epoch(state)
    facts = population.policy_facts()
    return [of_arrays(population.policy(state, i), facts) for i in range(len(members))]


def frontier(policies: list[NetworkPolicy], episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean cost and return of each policy in the same worlds."""
    player = Player(policies[0].task, policies[0].form, episodes)
    totals = player.play([(one.weights, True) for one in policies], PLAYED_SEED)
    return totals[:, :, 2].mean(1), totals[:, :, 0].mean(1)


def best_return(costs: np.ndarray, returns: np.ndarray, limit: float) -> float:
    """Among policies that keep the limit; NaN where none does."""
    kept = returns[costs <= limit]
    return float(kept.max()) if kept.size else np.nan


class Dialled(NamedTuple):
    """What a search for the settings that keep some limits comes to."""

    returns: list[float]  # of fresh episodes, NaN where no setting keeps the limit
    missed: int
    over: int


def dialled(policy: DialPolicy, limits: list[float], episodes: int) -> Dialled:
    """The returns at the limits, how many no setting keeps, and how many are exceeded."""
    missed = over = 0
    returns = []
    for found in search("", policy, [(limit,) for limit in limits], episodes, as_trained=True):
        (cost,) = found.costs
        assert cost.lo is not None
        kept = found.verdict in ("kept", "does not bind")
        value = found.returns.value
        returns.append(value if kept and value is not None else np.nan)
        missed += not kept
        over += found.verdict == "kept" and cost.lo > found.limits[0]
    return Dialled(returns, missed, over)


def judged(
    policies: list[NetworkPolicy], limits: list[float], episodes: int
) -> tuple[float, list[float]]:
    """Hypervolume of these policies, and the best return at each limit."""
    costs, returns = frontier(policies, episodes)
    volume = hypervolume(trace(costs, returns), (200.0, 0.0))
    return volume, [best_return(costs, returns, limit) for limit in limits]


def setting(text: str) -> Any:
    """What --set gives a setting: a number or the like as Python writes it, else a word."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        return text


def words(values: list[float]) -> str:
    """Returns at the limits."""
    return "  ".join("-" if np.isnan(value) else f"{value:.1f}" for value in values)


def compare(rows: dict[int, list[float]], beside: dict[int, list[float]], names: list[str]) -> None:
    """Print the differences of what both runs have for the same seeds."""
    seeds = sorted(rows.keys() & beside.keys())
    ours = np.array([rows[seed] for seed in seeds], float)
    theirs = np.array([beside[seed] for seed in seeds], float)
    for name, change in zip(names, (ours - theirs).T, strict=True):
        known = change[~np.isnan(change)]
        if known.size < 2:
            continue
        error = known.std(ddof=1) / np.sqrt(known.size)
        _, p_value = stats.ttest_1samp(known, 0.0)
        print(f"  {name}: {known.mean():+.1f} ± {error:.1f} (p {p_value:.2f}, {known.size} seeds)")


def main() -> None:
    """Train, play and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--sweep", type=int, help="fixed multipliers instead of a dial")
    parser.add_argument("--steps", type=float, help="of each run")
    parser.add_argument("--limits", type=float, nargs="+", default=[10, 25, 50, 100])
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--save", type=Path, help="keep every seed's numbers in this file")
    parser.add_argument("--beside", type=Path, help="a file that --save wrote")
    given = parser.parse_args()

    method = "sweep" if given.sweep else "dial"
    settings = sized(machine_learner(method), tasks.spec_of(given.task).episode_length)
    pairs = (pair.split("=", 1) for pair in given.set)
    settings = dataclasses.replace(settings, **{k: setting(v) for k, v in pairs})
    epochs = EPOCHS[method]
    if given.steps:
        epochs = int(given.steps) // settings.steps_per_epoch
    rules = [settings.usual_rule()]
    if given.sweep:
        rules = [Fixed(float(lam)) for lam in np.geomspace(0.1, 10, given.sweep)]
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    members = [Member(seed, rule) for seed in seeds for rule in rules]

    began = time.monotonic()
    every = trained(given.task, settings, members, epochs)
    seconds = time.monotonic() - began
    rows: dict[int, list[float]] = {}
    kept = []
    for place, seed in enumerate(seeds):
        policies = every[place * len(rules) : (place + 1) * len(rules)]
        found = Dialled([np.nan] * len(given.limits), 0, 0)
        if not given.sweep:
            (policy,) = policies
            found = dialled(policy, given.limits, given.episodes)
            policies = [policy.at(lam) for lam in LAMBDAS]
        volume, best = judged(policies, given.limits, given.episodes)
        rows[seed] = [volume, *best, *found.returns]
        kept.append((found.missed, found.over))
        print(
            f"seed {seed}: hv {volume:.0f}  R {words(best)}  D {words(found.returns)}  "
            f"misses {found.missed}  over {found.over}",
            flush=True,
        )

    names = ["hv"]
    names += [f"{kind}({limit:g})" for kind in "RD" for limit in given.limits]
    table = np.array(list(rows.values()))
    missed, over = np.sum(kept, 0)
    steps = epochs * settings.steps_per_epoch * len(rules)
    print(
        f"{given.task} {method} {' '.join(given.set)}: {given.seeds} seeds of {steps:.3g} steps, "
        f"{seconds / given.seeds:.0f} s each; of {len(table) * len(given.limits)} limits "
        f"{missed} missed, {over} over"
    )
    for name, column in zip(names, table.T, strict=True):
        known = column[~np.isnan(column)]
        lost = f" ({column.size - known.size} without)" if known.size < column.size else ""
        if known.size > 1:
            print(f"  {name}: {known.mean():.1f} ± {known.std(ddof=1):.1f}{lost}")
    if given.save:
        given.save.write_text(json.dumps(rows))
    if given.beside:
        beside = {int(seed): row for seed, row in json.loads(given.beside.read_text()).items()}
        compare(rows, beside, names)


if __name__ == "__main__":
    main()
