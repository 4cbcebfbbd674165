"""How good is one policy with a dial, beside policies at fixed multipliers?

    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 20
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --set rsi_ema=0.9 passes=4
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --sweep 9
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --save default.json
    python benchmarks/dial.py SafetyPointCircle1-v0 --seeds 6 --set batch=250 --beside default.json
    python benchmarks/dial.py --study S
    python benchmarks/dial.py --study results/circle1

Trains what `saddle frontier` trains on this machine, with other settings where --set says so, and
plays it for fresh episodes as trained, with its noise. All seeds are one population. Prints for
each seed, and for all together: the hypervolume at nine multipliers from 0.1 to 10; R, the best
return among those that keep each limit ('-': none does); D, the return where `saddle dial` sets it
for each limit; and how that keeps the limits: 'misses' are limits that no setting keeps, 'over'
mean costs that lie above the limit by more than their 95 % interval. --beside compares with what
--save kept of another run, seed by seed: the mean difference, its standard error, and the p-value
of a paired t-test.

With --study nothing is trained: a study's policies with a dial are played, and of a study without
them, hypervolume and R are those of its fixed multipliers over the last 5 % of training.
"""

import argparse
import ast
import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from saddle import tasks
from saddle.analysis import Options
from saddle.analysis.frontier import hypervolume, trace
from saddle.analysis.summary import final_values
from saddle.analysis.sweep import IS_SWEEP
from saddle.config import Member
from saddle.dial_search import search
from saddle.learners import LearnerSettings
from saddle.multipliers import Fixed
from saddle.policies import DialPolicy, NetworkPolicy, network, of_arrays
from saddle.population import Population
from saddle.rollouts import Player
from saddle.study.frontier import EPOCHS, machine_learner, sized
from saddle.study.store import Study

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


class Judged(NamedTuple):
    """What a seed's policies are worth."""

    volume: float
    """Hypervolume."""
    best: list[float]
    """R at each limit."""
    dial: Dialled

    @classmethod
    def of(cls, costs: np.ndarray, returns: np.ndarray, limits: list[float]) -> "Judged":
        """From the mean cost and return of each policy, none of which has a dial."""
        volume = hypervolume(trace(costs, returns), (200.0, 0.0))
        best = [best_return(costs, returns, limit) for limit in limits]
        return cls(volume, best, Dialled([np.nan] * len(limits), 0, 0))

    @property
    def row(self) -> list[float]:
        """All its numbers."""
        return [self.volume, *self.best, *self.dial.returns]


def judged_dial(policy: DialPolicy, limits: list[float], episodes: int) -> Judged:
    """By playing it at nine settings, and where a search sets it for each limit."""
    settings = [policy.at(lam) for lam in LAMBDAS]
    found = Judged.of(*frontier(settings, episodes), limits)
    return found._replace(dial=dialled(policy, limits, episodes))


def judged_study(path: Path, limits: list[float], episodes: int) -> Iterator[tuple[int, Judged]]:
    """Every seed of a study."""
    study = Study(path)
    dials = study.runs.filter(rule="dial").sort("seed")
    for run, seed in dials.select("run", "seed").iter_rows():
        policy = network(study.policy_folder(run))
        assert isinstance(policy, DialPolicy)
        yield seed, judged_dial(policy, limits, episodes)
    if dials.height:
        return
    finals = final_values(study.runs, study.scan_metrics(), Options()).frame.filter(IS_SWEEP)
    for (seed,), own in finals.sort("seed").group_by("seed", maintain_order=True):
        yield seed, Judged.of(own["cost"].to_numpy(), own["return"].to_numpy(), limits)


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


def judged_training(given: argparse.Namespace) -> Iterator[tuple[int, Judged]]:
    """Train what the arguments say, and judge every seed."""
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
    seconds = (time.monotonic() - began) / given.seeds
    steps = epochs * settings.steps_per_epoch * len(rules)
    print(f"{steps:.3g} env steps and {seconds:.0f} s a seed")
    for place, seed in enumerate(seeds):
        policies = every[place * len(rules) : (place + 1) * len(rules)]
        if given.sweep:
            yield seed, Judged.of(*frontier(policies, given.episodes), given.limits)
        else:
            yield seed, judged_dial(policies[0], given.limits, given.episodes)


def main() -> None:
    """Train or read, play and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("task", nargs="?")
    what.add_argument("--study", type=Path, help="a study that has been trained")
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

    every = judged_training(given)
    if given.study:
        every = judged_study(given.study, given.limits, given.episodes)
    rows: dict[int, list[float]] = {}
    missed = over = 0
    for seed, found in every:
        rows[seed] = found.row
        missed += found.dial.missed
        over += found.dial.over
        print(
            f"seed {seed}: hv {found.volume:.0f}  R {words(found.best)}  "
            f"D {words(found.dial.returns)}  misses {found.dial.missed}  over {found.dial.over}",
            flush=True,
        )

    asked = len(rows) * len(given.limits)
    print(
        f"{given.study or given.task} {' '.join(given.set)}: {len(rows)} seeds; "
        f"of {asked} limits {missed} missed, {over} over"
    )
    names = ["hv"]
    names += [f"{kind}({limit:g})" for kind in "RD" for limit in given.limits]
    for name, column in zip(names, np.array(list(rows.values())).T, strict=True):
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
