"""Rules compared over all tasks and limits of a study."""

from dataclasses import dataclass
from typing import Literal

from saddle.analysis.findings.values import Curve, Estimate

ScoreName = Literal["gap", "violation"]


@dataclass(frozen=True)
class RuleScore:
    """One rule's runs at all tasks and limits, by one score."""

    rule: str
    runs: int
    """That have the score."""
    without: int
    """Runs that have none: their cost is below all of the frontier's."""
    iqm: Estimate
    """Interquartile mean of the score over runs."""
    profile: Curve
    """Share of runs whose score is at least as good as each of the score's `taus`."""


@dataclass(frozen=True)
class Improvement:
    """Whether a run of one rule has a better score than one of another at the same task and
    limit.
    """

    first: str
    second: str
    probability: Estimate
    """That the first has the better score, ties half: mean over tasks and limits."""
    p: float | None
    """Of a probability at least as far from a half, if the two rules score alike; None where all
    runs of each task and limit have the same score.
    """
    p_holm: float | None
    """Corrected for the number of pairs."""


@dataclass(frozen=True)
class Score:
    """All rules by one score of their runs."""

    name: ScoreName
    """gap: return minus the frontier's at the run's own cost, as a share of the frontier's span of
    return; higher is better. violation: how far the cost is above the limit, as a share of the
    limit; lower is better.
    """
    strata: int
    """Tasks and limits at which every rule has runs with this score."""
    left_out: int
    """Other tasks and limits, at which some rule has none."""
    taus: tuple[float, ...]
    """The grid of the performance profiles, rising."""
    rules: tuple[RuleScore, ...]
    improvements: tuple[Improvement, ...]
    words: str

    def better_than(self, rule: str, sure: float) -> tuple[str, ...]:
        """The rules that this one beats with a corrected p-value of at most `sure`."""
        found = []
        for pair in self.improvements:
            value = pair.probability.value
            if pair.p_holm is None or pair.p_holm > sure or value is None:
                continue
            winner, loser = (pair.first, pair.second) if value > 0.5 else (pair.second, pair.first)
            if winner == rule:
                found.append(loser)
        return tuple(found)


@dataclass(frozen=True)
class Aggregate:
    """The rules of an algorithm over all tasks and limits."""

    algorithm: str
    tasks: tuple[str, ...]
    gap: Score
    violation: Score
    level: float
    """Of intervals; two rules differ where a corrected p-value is at most one minus this."""
