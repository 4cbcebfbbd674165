"""How flat a rule's return and violation are over its settings, each swept one at a time."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from saddle.analysis.aggregates import Scores, score_rules
from saddle.analysis.findings import (
    Findings,
    RuleScore,
    Score,
    Seed,
    Sensitivity,
    SettingValue,
    TaskFindings,
)
from saddle.analysis.scores import normalised_gaps, normalised_violations
from saddle.analysis.stratified import same_scores
from saddle.analysis.welch import holm
from saddle.errors import SaddleError
from saddle.multipliers import Rule, rule_to_dict
from saddle.study.params import rule_fields

Settings = Mapping[str, float]


def sensitivities(findings: Findings, runs: pl.DataFrame, rule: Rule) -> list[Sensitivity]:
    """Each swept setting of a rule, from a study of one task that has fixed lambdas too."""
    part = findings.task()
    if part.frontier is None or not np.ptp(np.array(part.frontier.return_.value, float)):
        raise SaddleError(
            "the fixed lambdas of this study span no return, so no gap to their frontier can be "
            "told; train in another directory with more steps"
        )
    default = {key: value for key, value in rule.numbers().items() if isinstance(value, float)}
    own = _settings(runs, rule_to_dict(rule)["rule"], default)
    found = []
    for name, value in default.items():
        by_value = _by_value(part, own, name, default)
        if len(by_value) > 1:
            found.append(_sensitivity(name, value, by_value, part, findings.options))
    return found


def _settings(runs: pl.DataFrame, rule: str, default: Settings) -> dict[str, Settings]:
    """Of each run of the rule, its fractional settings."""
    found = {}
    for run, params in zip(runs["run"], runs["params"], strict=True):
        fields = rule_fields(params)
        if fields.get("rule") == rule:
            found[run] = {key: float(np.ravel(fields[key])[0]) for key in default}
    return found


def _by_value(
    part: TaskFindings, own: Mapping[str, Settings], name: str, default: Settings
) -> dict[float, list[Seed]]:
    """Runs by the value of one setting, all others at their defaults; values rising."""
    others = {key: value for key, value in default.items() if key != name}
    found: dict[float, list[Seed]] = {}
    for seed in part.scatter:
        settings = own.get(seed.run)
        if settings is None or seed.limit is None:
            continue
        if all(settings[key] == value for key, value in others.items()):
            found.setdefault(settings[name], []).append(seed)
    return dict(sorted(found.items()))


def _sensitivity(
    name: str,
    default: float,
    by_value: Mapping[float, list[Seed]],
    part: TaskFindings,
    options: Mapping[str, Any],
) -> Sensitivity:
    gaps: dict[str, Scores] = {}
    violations: dict[str, Scores] = {}
    for value, seeds in by_value.items():
        by_limit: dict[tuple[str, float], list[Seed]] = {}
        for seed in seeds:
            if seed.limit is not None:
                by_limit.setdefault((part.task, seed.limit), []).append(seed)
        gaps[str(value)] = {at: normalised_gaps(part, some) for at, some in by_limit.items()}
        violations[str(value)] = {
            at: normalised_violations(some, at[1]) for at, some in by_limit.items()
        }
    gap = score_rules("gap", gaps, options, fewest=1)
    violation = score_rules("violation", violations, options, fewest=1)
    values = list(by_value)
    decades = math.log10(values[-1] / values[0])
    if not gap.rules or not violation.rules:
        words = f"{name}: at no limit has every value a gap and a violation"
        return Sensitivity(name, default, (), decades, None, words)
    sure = 1 - options["level"]
    poorer, dearer = _worse(gap, sure), _worse(violation, sure)
    shown = []
    for value, one, other in zip(values, gap.rules, violation.rules, strict=True):
        worse = str(value) in poorer, str(value) in dearer
        shown.append(SettingValue(value, other.runs, one.iqm, other.iqm, *worse))
    good = np.array([not (one.less_return or one.violates_more) for one in shown])
    flat = share_of_decades(values, good)
    if not good.any():
        words = f"{name}: no value has both the best return and the least violation"
    elif flat < 1 or _can_tell(gaps, options):
        words = f"{name}: flat over {flat:.0%} of {decades:.1f} decades"
    else:
        words = f"{name}: no value can be told from another with so few runs"
        return Sensitivity(name, default, tuple(shown), decades, None, words)
    return Sensitivity(name, default, tuple(shown), decades, flat, words)


def _worse(score: Score, sure: float) -> set[str]:
    """The values that score worse than the best: its pairs with all others, corrected by Holm's
    method.
    """
    pick = max if score.name == "gap" else min
    best = pick(score.rules, key=_middle).rule
    pairs = []
    for pair in score.improvements:
        if best in (pair.first, pair.second) and pair.p is not None:
            pairs.append(pair)
    found = set()
    corrected = holm([pair.p for pair in pairs if pair.p is not None])
    for pair, p in zip(pairs, corrected, strict=True):
        value = pair.probability.value or 0.0
        if p <= sure:
            found.add(pair.second if value > 0.5 else pair.first)
    return found - {best}


def _middle(found: RuleScore) -> float:
    return found.iqm.value or 0.0


def _can_tell(scores: Mapping[str, Scores], options: Mapping[str, Any]) -> bool:
    """Whether the runs would tell two values apart of which every run of one beats all of the
    other.
    """
    sizes = [len(runs) for runs in next(iter(scores.values())).values()]
    low = [np.arange(size, dtype=float) for size in sizes]
    high = [own + len(own) for own in low]
    p = same_scores(low, high)
    return p is not None and p * (len(scores) - 1) <= 1 - options["level"]


def share_of_decades(values: Sequence[float], good: np.ndarray) -> float:
    """Share of the range, in its logarithm, that belongs to good values [values]: each has what is
    nearer to it than to any other.
    """
    places = np.log10(values)
    between = (places[1:] + places[:-1]) / 2
    ends = np.concatenate([places[:1], between, places[-1:]])
    return float((np.diff(ends) * good).sum() / (places[-1] - places[0]))
