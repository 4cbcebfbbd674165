"""Rules over all tasks and limits of a study, after Agarwal et al. (2021): interquartile means with
a stratified bootstrap, performance profiles and probabilities of improvement.

What is a stratum there, a task, is a task at one limit here.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from saddle.analysis.bootstrap import interquartile_mean
from saddle.analysis.findings import (
    Aggregate,
    Curve,
    Findings,
    Improvement,
    RuleScore,
    Score,
    ScoreName,
    Seed,
    TaskFindings,
)
from saddle.analysis.scores import normalised_gaps, normalised_violations
from saddle.analysis.stratified import (
    draw_strata,
    improvement,
    replicate_improvements,
    replicate_iqms,
    same_scores,
    stratified_interval,
)
from saddle.analysis.summary import estimate, numbers
from saddle.analysis.text import percent
from saddle.analysis.welch import holm
from saddle.multipliers import label, place

FEWEST_RULES = 2
FEWEST_STRATA = 2
"""At fewer the map, or the comparison, has said it all."""

TAUS = 101
"""Points of a performance profile."""
OUTLYING = 0.01
"""Share of runs that profiles do not reach to at an end, so that one that diverged does not stretch
them.
"""

Stratum = tuple[str, float]
"""Task and limit."""
Scores = Mapping[Stratum, np.ndarray]
"""Of a rule, the score of each run [runs], NaN where it has none; by task and limit."""
Runs = dict[str, dict[Stratum, list[Seed]]]
"""Of each rule, its runs by task and limit."""


def aggregates(findings: Findings) -> list[Aggregate]:
    """The rules of each algorithm that has two or more at two tasks or limits or more.

    Tasks with several constraints are left out: a run that keeps one limit may break another.
    """
    found = []
    usable = [part for part in findings.tasks if part.frontier and part.constraint is None]
    for algorithm in dict.fromkeys(part.algorithm for part in usable):
        parts = [part for part in usable if part.algorithm == algorithm]
        runs = _runs(parts)
        strata = {stratum for own in runs.values() for stratum in own}
        if len(runs) >= FEWEST_RULES and len(strata) >= FEWEST_STRATA:
            found.append(_aggregate(algorithm, parts, runs, findings.options))
    return found


def _runs(parts: Sequence[TaskFindings]) -> Runs:
    """The runs behind every cell of the comparisons, rules in the order in which they are shown."""
    runs: Runs = {}
    for part in parts:
        cells = {(cell.rule, cell.limit) for cell in part.comparison}
        for seed in part.scatter:
            if seed.limit is not None and (seed.rule, seed.limit) in cells:
                own = runs.setdefault(seed.rule, {})
                own.setdefault((part.task, seed.limit), []).append(seed)
    return {rule: runs[rule] for rule in sorted(runs, key=lambda rule: (place(rule), rule))}


def _aggregate(
    algorithm: str, parts: Sequence[TaskFindings], runs: Runs, options: Mapping
) -> Aggregate:
    by_task = {part.task: part for part in parts}
    gaps = {}
    violations = {}
    for rule, own in runs.items():
        gaps[rule] = {at: normalised_gaps(by_task[at[0]], seeds) for at, seeds in own.items()}
        violations[rule] = {at: normalised_violations(seeds, at[1]) for at, seeds in own.items()}
    return Aggregate(
        algorithm,
        tuple(by_task),
        score_rules("gap", gaps, options),
        score_rules("violation", violations, options),
        options["level"],
    )


def score_rules(
    name: ScoreName, scores: Mapping[str, Scores], options: Mapping, fewest: int = FEWEST_STRATA
) -> Score:
    """All rules by one score, over the tasks and limits at which each of them has it; nothing if
    these are fewer than `fewest`.
    """
    sign = 1.0 if name == "gap" else -1.0  # within, higher is better
    everywhere = sorted({stratum for own in scores.values() for stratum in own})
    common = [at for at in everywhere if all(_has(own, at) for own in scores.values())]
    left_out = len(everywhere) - len(common)
    if len(common) < fewest:
        words = "no comparison over limits: every rule has a score at fewer than two pairs"
        return Score(name, len(common), left_out, (), (), (), words)
    strata = {rule: [_finite(sign * own[at]) for at in common] for rule, own in scores.items()}
    rng = np.random.default_rng(options["seed"] + 2)
    counts = {rule: draw_strata(rng, options["replicates"], own) for rule, own in strata.items()}
    taus = _taus(name, np.concatenate([run for own in strata.values() for run in own]))
    rules = []
    for rule, own in strata.items():
        missing = sum(np.isnan(scores[rule][at]).sum() for at in common)
        rules.append(_rule(rule, own, counts[rule], int(missing), sign, taus, options["level"]))
    pairs = _improvements(strata, counts, options["level"])
    shown = tuple(float(tau) for tau in taus)
    found = Score(name, len(common), left_out, shown, tuple(rules), tuple(pairs), "")
    return _with_words(found, 1 - options["level"])


def _has(own: Scores, at: Stratum) -> bool:
    return at in own and bool(np.isfinite(own[at]).any())


def _finite(values: np.ndarray) -> np.ndarray:
    """Sorted, so that what is drawn does not depend on the order of runs."""
    return np.sort(values[np.isfinite(values)])


def _taus(name: ScoreName, signed: np.ndarray) -> np.ndarray:
    """The grid of the profiles; of violations it begins at 0, where the share is that of runs
    within the limit.
    """
    if name == "violation":
        ends = 0.0, float(np.quantile(-signed, 1 - OUTLYING))
    else:
        ends = float(np.quantile(signed, OUTLYING)), float(np.quantile(signed, 1 - OUTLYING))
    return np.unique(np.linspace(*ends, TAUS))


def _rule(
    rule: str,
    strata: Sequence[np.ndarray],
    counts: np.ndarray,
    missing: int,
    sign: float,
    taus: np.ndarray,
    level: float,
) -> RuleScore:
    """A rule's interquartile mean and profile from its signed scores."""
    values = np.concatenate(strata)
    size = len(values), len(strata), level
    iqm = interquartile_mean(values)
    ends = stratified_interval(iqm, replicate_iqms(values, counts), *size)
    lo, hi = sorted(sign * float(end) for end in ends)
    if sign < 0:
        lo = float(np.maximum(lo, 0.0))  # no violation is below 0
    reached = (values[:, None] >= sign * taus).astype(float)
    share = reached.mean(0)
    low, high = stratified_interval(share, counts @ reached / len(values), *size)
    band = numbers(np.clip(low, 0, 1)), numbers(np.clip(high, 0, 1))
    centre = sign * iqm + 0.0  # no minus before a 0
    return RuleScore(
        rule, len(values), missing, estimate(centre, lo, hi), Curve(numbers(share), *band)
    )


def _improvements(
    strata: Mapping[str, Sequence[np.ndarray]], counts: Mapping[str, np.ndarray], level: float
) -> list[Improvement]:
    """Every two rules, p-values corrected over all pairs that have one."""
    pairs = list(itertools.combinations(strata, 2))
    values = [same_scores(strata[a], strata[b]) for a, b in pairs]
    corrected = iter(holm([p for p in values if p is not None]))
    found = []
    for (a, b), p in zip(pairs, values, strict=True):
        probability = improvement(strata[a], strata[b])
        drawn = replicate_improvements(strata[a], strata[b], counts[a], counts[b])
        runs = counts[a].shape[1] + counts[b].shape[1]
        lo, hi = stratified_interval(probability, drawn, runs, 2 * len(strata[a]), level)
        ends = float(np.clip(lo, 0, 1)), float(np.clip(hi, 0, 1))
        own = None if p is None else next(corrected)
        found.append(Improvement(a, b, estimate(probability, *ends), p, own))
    return found


def _with_words(score: Score, sure: float) -> Score:
    """Which rule is first by interquartile mean, and what of that the runs decide."""
    better = max if score.name == "gap" else min
    first = better(score.rules, key=_middle)
    beaten = score.better_than(first.rule, sure)
    lost = [one.rule for one in score.rules if first.rule in score.better_than(one.rule, sure)]
    rest = [one.rule for one in score.rules if one.rule not in (first.rule, *beaten, *lost)]
    told = [f"{label(first.rule)} is first, {percent(first.iqm, 1)}"]
    for words, rules in (
        ("better than", beaten),
        ("not decided against", rest),
        ("though more often worse than", lost),
    ):
        if rules:
            told.append(f"{words} {', '.join(map(label, rules))}")
    if score.left_out:
        told.append(f"{score.left_out} left out, where some rule has no score")
    words = f"{score.name} over {score.strata} pairs of task and limit: {'; '.join(told)}"
    return dataclasses.replace(score, words=words)


def _middle(found: RuleScore) -> float:
    assert found.iqm.value is not None
    return found.iqm.value
