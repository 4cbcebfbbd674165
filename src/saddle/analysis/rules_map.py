"""A map of rules: which one to use at which limit, and what the seeds do not decide.

Rules are compared by their gap: return minus the frontier's return at the same cost, so that a rule
gains nothing by costing more. Whether it keeps the limit is a question of its own.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from saddle.analysis.constraints import title
from saddle.analysis.findings import (
    Cell,
    Constraint,
    Findings,
    Keeps,
    Kind,
    MapCell,
    MapLimit,
    TaskFindings,
    TaskMap,
)
from saddle.analysis.geometry import kind_at
from saddle.analysis.scores import gaps
from saddle.analysis.summary import estimate
from saddle.analysis.text import text
from saddle.analysis.violating import share_interval
from saddle.analysis.welch import Sample, holm, welch
from saddle.errors import SaddleError
from saddle.multipliers import label

FEWEST_RULES = 2
FEWEST_LIMITS = 3
"""A comparison of fewer is no map."""

Gaps = dict[str, np.ndarray]
"""Of each rule, the gap of each seed [seeds]."""


def is_map(part: TaskFindings) -> bool:
    """Whether a task's comparison has enough rules and limits for a map."""
    rules = {cell.rule for cell in part.comparison}
    limits = {cell.limit for cell in part.comparison}
    return len(rules) >= FEWEST_RULES and len(limits) >= FEWEST_LIMITS and bool(part.frontier)


def maps(findings: Findings) -> list[TaskMap]:
    """The map of each task whose findings make one."""
    level = findings.options["level"]
    return [rules_map(part, level) for part in findings.tasks if is_map(part)]


def maps_of_study(findings: Findings, study: str) -> list[TaskMap]:
    """The same; a study without any is refused."""
    found = maps(findings)
    if not found:
        raise SaddleError(
            f"{study} makes no map: that takes a sweep of fixed lambdas and {FEWEST_RULES} rules "
            f"or more at {FEWEST_LIMITS} limits or more, all done; 'saddle study run rules-map "
            f"--out DIR' trains one"
        )
    return found


def rules_map(part: TaskFindings, level: float) -> TaskMap:
    """The map of a task."""
    rules = tuple(dict.fromkeys(cell.rule for cell in part.comparison))
    cells: list[MapCell] = []
    limits: list[MapLimit] = []
    for limit in sorted({cell.limit for cell in part.comparison}):
        here = [cell for cell in part.comparison if cell.limit == limit]
        own = _cells(part, here, level)
        cells += own
        limits.append(_limit(limit, kind_at(part.regimes, limit), own))
    name = title(part.constraint)
    words = _over_limits(limits, len(rules))
    return TaskMap(
        part.task, part.algorithm, name, rules, tuple(limits), tuple(cells), tuple(words)
    )


def _cells(part: TaskFindings, here: Sequence[Cell], level: float) -> list[MapCell]:
    """The rules at one limit, each with those that it loses to."""
    keeps: dict[str, Keeps] = {cell.rule: _keeps(part.constraint, cell) for cell in here}
    by_rule = {cell.rule: _gaps(part, cell) for cell in here}
    beaten = _beaten({rule: own for rule, own in by_rule.items() if keeps[rule] != "broken"}, level)
    found = []
    for cell in here:
        broke = round(cell.violation.share * cell.seeds)
        ends = share_interval(broke, cell.seeds, level)
        found.append(
            MapCell(
                rule=cell.rule,
                limit=cell.limit,
                seeds=cell.seeds,
                gap=cell.gap,
                gap_normalised=cell.gap_normalised,
                violating=estimate(cell.violation.share, *ends),
                cost=cell.cost,
                keeps=keeps[cell.rule],
                loses_to=tuple(beaten.get(cell.rule, ())),
            )
        )
    return found


def _keeps(constraint: Constraint | None, cell: Cell) -> Keeps:
    """Whether the interval of every mean cost lies on one side of its limit: broken is what surely
    breaks any, kept what surely breaks none.
    """
    costs = [(cell.cost, cell.limit)]
    if constraint is not None:
        for other, cost in zip(constraint.others, cell.other_costs, strict=True):
            if other.limit is not None:
                costs.append((cost, other.limit))
    if any(cost.lo is not None and cost.lo > limit for cost, limit in costs):
        return "broken"
    if all(cost.hi is not None and cost.hi <= limit for cost, limit in costs):
        return "kept"
    return "undecided"


def _gaps(part: TaskFindings, cell: Cell) -> np.ndarray:
    """The gap of each seed of a cell that has one."""
    seeds = [s for s in part.scatter if s.rule == cell.rule and s.limit == cell.limit]
    found = gaps(part, seeds)
    return found[np.isfinite(found)]


def _beaten(gaps: Gaps, level: float) -> dict[str, list[str]]:
    """Of each rule those whose gap is higher: by Welch's t-test, with Holm's correction over all
    pairs of rules at the limit.
    """
    pairs = []
    for a, b in itertools.combinations(gaps, 2):
        if min(len(gaps[a]), len(gaps[b])) > 1:
            test = welch(_sample(gaps[a]), _sample(gaps[b]))
            if test is not None:
                pairs.append((a, b, test))
    beaten: dict[str, list[str]] = {}
    for (a, b, test), p in zip(pairs, holm([test.p for *_, test in pairs]), strict=True):
        if p <= 1 - level:
            worse, better = (b, a) if test.t > 0 else (a, b)
            beaten.setdefault(worse, []).append(better)
    return beaten


def _sample(gaps: np.ndarray) -> Sample:
    return Sample(float(gaps.mean()), float(gaps.std(ddof=1)), len(gaps))


def _limit(limit: float, regime: Kind | None, cells: Sequence[MapCell]) -> MapLimit:
    broken = [cell for cell in cells if cell.keeps == "broken"]
    use = [cell for cell in cells if cell.keeps != "broken" and not cell.loses_to]
    names = tuple(cell.rule for cell in use)
    beaten = [cell for cell in cells if cell.loses_to]
    words = [_choice(use, len(cells))]
    if beaten:
        told = [f"{label(cell.rule)} ({text(cell.gap)})" for cell in beaten]
        words.append(f"less return at its cost: {', '.join(told)}")
    if broken:
        words.append(f"above the limit: {', '.join(label(cell.rule) for cell in broken)}")
    unsure = [label(cell.rule) for cell in use if cell.keeps == "undecided"]
    if len(unsure) > 1 and len(unsure) == len(use):
        words.append("of none of them it is decided whether the mean cost keeps the limit")
    elif unsure:
        words.append(f"not decided whether the mean cost keeps the limit: {', '.join(unsure)}")
    return MapLimit(limit, regime, names, len(use) == 1, "; ".join(words))


def _choice(use: Sequence[MapCell], rules: int) -> str:
    """Which rule to use of so many, as far as that is decided."""
    if not use:
        return "no rule keeps the limit"
    if len(use) == 1:
        return f"use {label(use[0].rule)}, gap {text(use[0].gap)}"
    known = [cell for cell in use if cell.gap.value is not None]
    best = max(known, key=_gap_of, default=None)
    told = f"any of the {rules} rules"
    if len(use) < rules:
        told = ", ".join(label(cell.rule) for cell in use)
    first = f"; {label(best.rule)} is ahead, gap {text(best.gap)}" if best else ""
    return f"not decided between {told}{first}"


def _gap_of(cell: MapCell) -> float:
    return cell.gap.value if cell.gap.value is not None else -np.inf


def _over_limits(limits: Sequence[MapLimit], rules: int) -> list[str]:
    """What holds of so many rules at all limits of a regime, and how much is decided."""
    words = []
    kinds = list(dict.fromkeys(limit.regime for limit in limits))
    for kind in kinds:
        own = [limit for limit in limits if limit.regime == kind]
        common = [rule for rule in own[0].use if all(rule in limit.use for limit in own)]
        at = ", ".join(f"{limit.limit:g}" for limit in own)
        where = f"{kind or 'regime not known'} limits ({at})"
        if len(common) == rules:
            words.append(f"{where}: none of the {rules} rules is beaten")
        elif common:
            words.append(f"{where}: nothing beats {', '.join(map(label, common))}")
        else:
            words.append(f"{where}: no rule is unbeaten at all of them")
    open_ = [f"{limit.limit:g}" for limit in limits if not limit.decided]
    if open_:
        words.append(f"not decided at {', '.join(open_)}: more seeds would tell")
    return words
