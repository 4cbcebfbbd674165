"""What is decided in a study that adds seeds until that is known: its runs, as groups of seeds,
compared look by look (`sequential`).

All of it follows from the manifest and the runs that are done, so that whoever looks, and whenever,
finds the same.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from saddle.analysis.assemble import analyze
from saddle.analysis.findings import (
    LimitDecision,
    PairDecision,
    RuleDecision,
    Seed,
    TaskDecisions,
    TaskFindings,
)
from saddle.analysis.options import Options
from saddle.analysis.scores import level_gaps
from saddle.analysis.sequential import Comparison, Group, Looks, compare, mean_excess
from saddle.errors import SaddleError
from saddle.multipliers import label, place
from saddle.study.sequential import Design, ScoreOf, design_of
from saddle.words import counted

if TYPE_CHECKING:
    from saddle.study import Study

MOST_NAMED = 3
"""Rules that beat another, in a sentence."""


class Family(NamedTuple):
    """The rules of a task at a limit."""

    part: TaskFindings
    limit: float
    found: Comparison
    runs: dict[str, list[str]]
    """Names of each rule's runs."""


def decisions(study: "Study") -> tuple[TaskDecisions, ...]:
    """What is decided in a study; nothing where no seeds are added."""
    design = design_of(study.manifest)
    if design is None:
        return ()
    with study.reading():
        found = families(study.runs, study.scan_metrics(), design)
    told = []
    for part in dict.fromkeys(id(family.part) for family in found):
        own = [family for family in found if id(family.part) == part]
        told.append(_of_task(own, design))
    return tuple(told)


def sampling_notes(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """That parts of a merged study had seeds added, where nothing can be decided any more."""
    merged = (manifest.get("plan") or {}).get("merged", ())
    if not any(plan.get("until_decided") for plan in merged):
        return ()
    return (
        "Parts of this study had seeds added until decided: how many there are depends on what "
        "they showed, which no interval or p-value here knows.",
    )


def families(runs: pl.DataFrame, metrics: pl.LazyFrame, design: Design) -> list[Family]:
    """Every task's rules at every limit, looked at as often as groups of seeds are complete."""
    seen = complete_groups(runs, design)
    if seen == 0:
        return []
    parts = [part for part in analyze(runs, metrics, Options()).tasks if part.comparison]
    places = [(part, limit) for part in parts for limit in _limits(part)]
    error = design.wish.error
    if design.wish.error_over == "study":
        error /= len(places)
    looks = Looks(design.looks, error)
    return [_family(part, limit, design, looks, seen) for part, limit in places]


def complete_groups(runs: pl.DataFrame, design: Design) -> int:
    """How many groups of seeds have come to their end, failed runs included."""
    over = pl.col("status").is_in(["done", "failed"])
    for count, seeds in enumerate(design.groups):
        own = runs.filter(pl.col("seed").is_in(list(seeds)))
        if own.is_empty() or not own.select(over.all()).item():
            return count
    return len(design.groups)


def _limits(part: TaskFindings) -> list[float]:
    """Limits at which the task has two rules or more."""
    rules: dict[float, set[str]] = {}
    for cell in part.comparison:
        rules.setdefault(cell.limit, set()).add(cell.rule)
    return sorted(limit for limit, own in rules.items() if len(own) > 1)


def _family(part: TaskFindings, limit: float, design: Design, looks: Looks, seen: int) -> Family:
    rules = [cell.rule for cell in part.comparison if cell.limit == limit]
    groups: dict[str, list[Group]] = {}
    names: dict[str, list[str]] = {}
    for rule in rules:
        own = [seed for seed in part.scatter if seed.limit == limit and seed.rule == rule]
        names[rule] = [seed.run for seed in own]
        groups[rule] = [
            _group(part, limit, [seed for seed in own if seed.seed in seeds], design.wish.score)
            for seeds in design.groups[:seen]
        ]
    return Family(part, limit, compare(groups, looks, seen), names)


def _group(part: TaskFindings, limit: float, seeds: Sequence[Seed], score: ScoreOf) -> Group:
    costs = np.array([seed.cost for seed in seeds])
    excess = costs - limit
    if score == "return":
        return Group(np.array([seed.return_ for seed in seeds]), excess)
    if score == "violation":
        return Group(-np.maximum(excess, 0.0), excess)
    if part.frontier is None:
        raise SaddleError(
            f"{part.task} has no frontier to measure gaps from: fewer than two of its fixed "
            f"lambdas came to a result; compare by another score: return or violation"
        )
    return Group(level_gaps(part, seeds), excess)


def _of_task(families: Sequence[Family], design: Design) -> TaskDecisions:
    first = families[0]
    looks = first.found.looks
    return TaskDecisions(
        first.part.task,
        first.part.algorithm,
        design.wish.score,
        looks.error,
        looks.seeds,
        first.found.seen,
        tuple(_of_limit(family) for family in families),
        _sampled(design, looks),
    )


def _sampled(design: Design, looks: Looks) -> str:
    """That the number of seeds was not given."""
    where = "the whole study" if design.wish.error_over == "study" else "each task and limit"
    return (
        f"Seeds were added until decided, {looks.seeds[0]} to {looks.seeds[-1]} of a rule at a "
        f"limit, by {design.wish.score}: how many there are depends on what they showed, which "
        f"intervals and p-values elsewhere do not know. Below, the chance of telling apart any "
        f"two equal rules is at most {design.wish.error:.3g} for {where}."
    )


def _of_limit(family: Family) -> LimitDecision:
    found = family.found
    shown = sorted(found.rules, key=lambda rule: (place(rule), rule))
    use = [rule for rule in shown if rule in found.use]
    more = {rule for pair in found.open for rule in pair}
    if found.seen == len(found.looks.seeds):
        more = set()
    rules = [_rule(family, rule, use, more) for rule in shown]
    pairs = [
        PairDecision(*pair, state.better, state.seeds, state.difference, min(1.0, state.corrected))
        for pair, state in found.pairs.items()
    ]
    return LimitDecision(
        family.limit,
        tuple(rules),
        tuple(pairs),
        tuple(use),
        len(use) == 1,
        tuple(rule for rule in shown if rule in more),
        _words(found, rules, bool(more)),
    )


def _rule(family: Family, rule: str, use: list[str], more: set[str]) -> RuleDecision:
    state = family.found.rules[rule]
    standing = "beaten"
    if state.above_at is not None:
        standing = "above the limit"
    elif rule in use:
        standing = "to use"
    stopped = None if rule in more else state.stopped_at
    seeds = len(family.runs[rule])
    excess = mean_excess(family.found, rule)
    return RuleDecision(rule, seeds, standing, tuple(state.beaten_by), excess, stopped)


def _words(found: Comparison, rules: Sequence[RuleDecision], more: bool) -> str:
    """What is decided at a limit, and what is not."""
    use = [rule for rule in rules if rule.standing == "to use"]
    names = ", ".join(label(rule.rule) for rule in use)
    seeds = found.looks.seeds[found.seen - 1]
    if not use:
        words = ["no rule keeps the limit"]
    elif len(use) == 1:
        after = max((rule.at for rule in rules if rule.at is not None), default=seeds)
        words = [f"use {names}, decided after {counted(after, 'seed')}"]
    elif more:
        words = [f"open after {counted(seeds, 'seed')} between {names}"]
    elif seeds == found.looks.seeds[-1]:
        words = [f"not decided between {names} after {counted(seeds, 'seed')}, the most"]
    else:
        words = [f"not decided between {names}: what beat them is above the limit"]
    unsure = [label(rule.rule) for rule in use if rule.excess is not None and rule.excess > 0]
    if unsure:
        words.append(f"mean cost above the limit, perhaps by chance: {', '.join(unsure)}")
    out = [rule for rule in rules if rule.standing == "above the limit"]
    kept = {rule.rule for rule in rules} - {rule.rule for rule in out}
    beaten = [
        f"{label(rule.rule)} by {_named([one for one in rule.beaten_by if one in kept])} "
        f"(after {rule.at})"
        for rule in rules
        if rule.standing == "beaten"
    ]
    if beaten:
        words.append(f"beaten: {', '.join(beaten)}")
    if out:
        above = [f"{label(rule.rule)} (after {rule.at})" for rule in out]
        words.append(f"above the limit: {', '.join(above)}")
    return "; ".join(words)


def _named(rules: Sequence[str]) -> str:
    """The rules, or how many they are."""
    if len(rules) > MOST_NAMED:
        return f"{len(rules)} rules"
    return ", ".join(map(label, rules))
