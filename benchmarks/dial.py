"""How good is one policy with a dial, beside policies at fixed multipliers?

    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 20
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --set rsi_ema=0.9 passes=4
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --sweep 9

Trains what `saddle frontier` trains on this machine, with other settings where --set says so, and
plays it for fresh episodes as trained, with its noise. Prints for each seed, and for all together:
the hypervolume at nine multipliers from 0.1 to 10, the best return among those that keep each
limit ('-': none does), and how the dial keeps the limits: 'misses' are limits that no setting
keeps, 'over' mean costs that lie above the limit by more than their 95 % interval.
"""

import argparse
import ast
import dataclasses
import time

import numpy as np

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


def dialled(policy: DialPolicy, limits: list[float], episodes: int) -> tuple[int, int]:
    """Of the limits: how many no setting keeps, and how many are exceeded."""
    missed = over = 0
    for found in search("", policy, [(limit,) for limit in limits], episodes, as_trained=True):
        (cost,) = found.costs
        assert cost.lo is not None
        missed += found.verdict not in ("kept", "does not bind")
        over += found.verdict == "kept" and cost.lo > found.limits[0]
    return missed, over


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
    given = parser.parse_args()

    method = "sweep" if given.sweep else "dial"
    settings = sized(machine_learner(method), tasks.spec_of(given.task).episode_length)
    pairs = (pair.split("=", 1) for pair in given.set)
    settings = dataclasses.replace(settings, **{k: ast.literal_eval(v) for k, v in pairs})
    epochs = EPOCHS[method]
    if given.steps:
        epochs = int(given.steps) // settings.steps_per_epoch
    rows = []
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        began = time.monotonic()
        missed = over = 0
        if given.sweep:
            lambdas = np.geomspace(0.1, 10, given.sweep)
            members = [Member(seed, Fixed(float(lam))) for lam in lambdas]
            policies = trained(given.task, settings, members, epochs)
        else:
            members = [Member(seed, settings.usual_rule())]
            (policy,) = trained(given.task, settings, members, epochs)
            policies = [policy.at(lam) for lam in LAMBDAS]
        seconds = time.monotonic() - began
        costs, returns = frontier(policies, given.episodes)
        if not given.sweep:
            missed, over = dialled(policy, given.limits, given.episodes)
        volume = hypervolume(trace(costs, returns), (200.0, 0.0))
        best = [best_return(costs, returns, limit) for limit in given.limits]
        rows.append([volume, *best, missed, over, seconds])
        shown = "  ".join("-" if np.isnan(value) else f"{value:.1f}" for value in best)
        print(f"seed {seed}: hv {volume:.0f}  R {shown}  misses {missed}  over {over}", flush=True)
    table = np.array(rows)
    volumes, found = table[:, 0], table[:, 1:-3]
    missed, over, seconds = table[:, -3:].T
    returns = "  ".join(
        f"R({limit:g}) {np.nanmean(own):.1f} (-: {int(np.isnan(own).sum())})"
        for limit, own in zip(given.limits, found.T, strict=True)
    )
    steps = epochs * settings.steps_per_epoch * len(policies if given.sweep else members)
    print(
        f"{given.task} {method} {' '.join(given.set)}: {given.seeds} seeds of {steps:.3g} steps, "
        f"{np.mean(seconds):.0f} s each; hv {volumes.mean():.0f} ± {volumes.std(ddof=1):.0f}; "
        f"{returns}; of {len(table) * len(given.limits)} limits {missed.sum():.0f} missed, "
        f"{over.sum():.0f} over"
    )


if __name__ == "__main__":
    main()
