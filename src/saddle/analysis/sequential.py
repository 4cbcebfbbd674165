"""Rules at a limit compared while seeds are added: who is told apart from whom, after how many.

Each pair is looked at after every group of seeds. A look spends a share of the error that is known
before any run, and the shares of all looks add up to 1; so the smallest p-value over its share is
a p-value itself (Bonferroni), whenever somebody stops. Pairs are then corrected for their number
(`step_down`). No more is needed for the error to hold, however rules or looks depend on each other:
a comparison that is left early can only be one decision less.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from saddle.analysis.permutation import MOST_DEALS, p_values, smallest_p
from saddle.analysis.step_down import shaffer
from saddle.analysis.welch import holm

SPENDING = 2
"""The share of the error that n of at most N seeds may have spent is (n / N) to this power. With
less, clear differences are told sooner and small ones less often; with more the other way round.
"""

FEWEST = 2
"""Seeds of which anything is told."""

PairOf = tuple[str, str]


class Group(NamedTuple):
    """What a group of a rule's seeds came to; runs that failed are not among them."""

    scores: np.ndarray
    """Higher is better. [seeds]"""
    excess: np.ndarray
    """Cost above the limit, negative below it. [seeds]"""


@dataclass(frozen=True)
class Looks:
    """When rules are looked at, and what a look may spend."""

    seeds: tuple[int, ...]
    """Of each rule at each look, rising; the last is the most there are."""
    error: float
    """Chance of telling apart any two equal rules."""
    most_deals: int = MOST_DEALS

    def spent(self, seeds: int) -> float:
        """Share of the error that is spent up to so many seeds."""
        return (seeds / self.seeds[-1]) ** SPENDING

    def shares(self, rules: int) -> tuple[float, ...]:
        """Share of each look at pairs of so many rules.

        A look at so few seeds that no p-value could be small enough spends nothing, and the next
        one has its share as well.
        """
        pairs = rules * (rules - 1) // 2
        found = []
        before = 0.0
        for seeds in self.seeds:
            share = self.spent(seeds) - before
            if smallest_p(seeds, seeds, self.most_deals) > self.error / max(1, pairs) * share:
                share = 0.0
            before += share
            found.append(share)
        return tuple(found)


@dataclass
class PairState:
    """What is known of two rules."""

    smallest: float = 1.0
    """p-value over the looks so far, corrected for their number."""
    corrected: float = 1.0
    """For the number of pairs too."""
    better: str | None = None
    seeds: int = 0
    """At which they were told apart, or last looked at."""
    difference: float | None = None
    """Mean score of the first minus that of the second, then."""
    clearest: float = 0.0
    """The difference at the look whose p-value was the smallest."""


@dataclass
class RuleState:
    """What is known of a rule."""

    above: float = 1.0
    """p-value of its mean cost not being above the limit, corrected."""
    smallest_above: float = 1.0
    above_at: int | None = None
    """Seeds at which its cost was told to be above the limit."""
    beaten_by: list[str] = field(default_factory=list)
    stopped_at: int | None = None
    """Seeds after which it gets no more; None while it does."""


@dataclass
class Comparison:
    """The rules at a limit, look by look."""

    looks: Looks
    groups: Mapping[str, Sequence[Group]]
    """Of each rule those that it was given."""
    rules: dict[str, RuleState]
    pairs: dict[PairOf, PairState]
    seen: int = 0
    """Looks so far."""

    @property
    def running(self) -> list[str]:
        """Rules that would get more seeds."""
        return [rule for rule, state in self.rules.items() if state.stopped_at is None]

    @property
    def open(self) -> list[PairOf]:
        """Pairs that are not told apart, of two rules that would get more seeds."""
        running = set(self.running)
        undecided = [pair for pair, state in self.pairs.items() if state.better is None]
        return [pair for pair in undecided if running.issuperset(pair)]

    @property
    def use(self) -> list[str]:
        """Rules that are not above the limit, nor beaten by one that is not."""
        kept = {rule for rule, state in self.rules.items() if state.above_at is None}
        return [rule for rule in self.rules if rule in kept and not self.beaten(rule, kept)]

    def beaten(self, rule: str, kept: set[str]) -> bool:
        """Whether one of those that keep the limit is better."""
        return not kept.isdisjoint(self.rules[rule].beaten_by)


def compare(groups: Mapping[str, Sequence[Group]], looks: Looks, seen: int) -> Comparison:
    """Look so many times at rules, each with the groups of seeds that it was given."""
    rules = sorted(groups)
    found = Comparison(
        looks,
        groups,
        {rule: RuleState() for rule in rules},
        {pair: PairState() for pair in itertools.combinations(rules, 2)},
    )
    for _ in range(seen):
        _look(found)
    return found


def _look(found: Comparison) -> None:
    """One more look at all rules."""
    seeds = found.looks.seeds[found.seen]
    before = found.looks.spent(found.looks.seeds[found.seen - 1]) if found.seen else 0.0
    pair_share = found.looks.shares(len(found.rules))[found.seen]
    found.seen += 1
    _look_at_costs(found, seeds, found.looks.spent(seeds) - before)
    if pair_share > 0:
        _look_at_pairs(found, seeds, pair_share)
    _stop(found, seeds)


def _look_at_costs(found: Comparison, seeds: int, share: float) -> None:
    """Whose mean cost is above the limit: by a t-test, with Holm's correction over rules."""
    for rule in found.running:
        state = found.rules[rule]
        p = _p_above(_so_far(found, rule).excess)
        state.smallest_above = min(state.smallest_above, p / share)
    corrected = holm([state.smallest_above for state in found.rules.values()])
    for state, p in zip(found.rules.values(), corrected, strict=True):
        state.above = p
        if state.above_at is None and p <= found.looks.error:
            state.above_at = seeds


def _p_above(excess: np.ndarray) -> float:
    """One-sided: of so much excess, if its mean is 0 or less."""
    if len(excess) < FEWEST:
        return 1.0
    mean = excess.mean()
    error = excess.std(ddof=1) / np.sqrt(len(excess))
    if error == 0:
        return 0.0 if mean > 0 else 1.0
    return float(stdtr(len(excess) - 1, -mean / error))


def _look_at_pairs(found: Comparison, seeds: int, share: float) -> None:
    """Which rules differ: by permutation tests, corrected for all looks and pairs."""
    sizes: dict[tuple[int, int], list[PairOf]] = {}
    for pair in found.open:
        a, b = (len(_so_far(found, rule).scores) for rule in pair)
        if min(a, b) >= FEWEST:
            sizes.setdefault((a, b), []).append(pair)
    for pairs in sizes.values():
        first = np.stack([_so_far(found, a).scores for a, _ in pairs])
        second = np.stack([_so_far(found, b).scores for _, b in pairs])
        values = p_values(first, second, found.looks.most_deals)
        differences = first.mean(axis=1) - second.mean(axis=1)
        for pair, p, difference in zip(pairs, values, differences, strict=True):
            state = found.pairs[pair]
            state.difference = float(difference)
            if p / share < state.smallest:
                state.smallest = float(p) / share
                state.clearest = state.difference
            state.seeds = seeds
    _decide(found)


def _decide(found: Comparison) -> None:
    """Which pairs are told apart by now."""
    states = list(found.pairs.values())
    corrected = shaffer([state.smallest for state in states], len(found.rules))
    for (first, second), p in zip(found.pairs, corrected, strict=True):
        state = found.pairs[first, second]
        state.corrected = p
        if state.better is None and p <= found.looks.error:
            state.better = first if state.clearest > 0 else second
            worse = second if state.clearest > 0 else first
            found.rules[worse].beaten_by.append(state.better)


def _stop(found: Comparison, seeds: int) -> None:
    """Rules that are above the limit, or beaten, get no more seeds; nor do those that are left
    without anybody to be compared with.
    """
    kept = {rule for rule, state in found.rules.items() if state.above_at is None}
    for rule in found.running:
        if rule not in kept or found.beaten(rule, kept):
            found.rules[rule].stopped_at = seeds
    compared = {rule for pair in found.open for rule in pair}
    for rule in found.running:
        if rule not in compared:
            found.rules[rule].stopped_at = seeds


def mean_excess(found: Comparison, rule: str) -> float | None:
    """Mean cost above the limit, of all seeds so far."""
    excess = _so_far(found, rule).excess
    return float(excess.mean()) if len(excess) else None


def _so_far(found: Comparison, rule: str) -> Group:
    """All of a rule's seeds, up to the look at hand."""
    own = found.groups[rule][: found.seen]
    scores = [group.scores for group in own]
    excess = [group.excess for group in own]
    return Group(np.concatenate(scores), np.concatenate(excess))
