"""The analysis at every limit that a page answers: plain ones, those trained at, those
recommended.
"""

from dataclasses import replace

import polars as pl

from saddle.analysis import Findings, Options, TaskFindings, analyze, constraints
from saddle.analysis.assemble import look_again
from saddle.analysis.published import comparison_limits
from saddle.analysis.published import recommended_limits as published_recommendations
from saddle.analysis.sweep import IS_COMPARISON, IS_SWEEP
from saddle.report.page.ladder import ladder


def answers(
    runs: pl.DataFrame, metrics: pl.DataFrame, finals: pl.DataFrame, options: Options
) -> Findings:
    """Findings of one task's runs; `options.limits` are answered beside the others."""
    if (finals["constraints"] > 1).any():
        return _of_several(runs, metrics, options)
    wanted = _limits(str(runs["task"][0]), finals, options)
    findings = analyze(runs, metrics, replace(options, limits=tuple(sorted(wanted))))
    advised = {advice.limit for part in findings.tasks for advice in part.recommended}
    missing = tuple(advised - wanted)
    if not missing:
        return findings
    return _joined(findings, analyze(runs, metrics, replace(options, limits=missing)))


def asked(part: TaskFindings, options: Options) -> list[float]:
    """The limits of `options` that this part is about, in the order in which they were asked for.

    One constraint of several is asked about where the others keep the limits of its view.
    """
    view = part.constraint
    if view is None:
        return _alone(options, part.task)
    called = (view.name, *(other.name for other in view.others))
    found = []
    for limits in constraints.limit_sets(options.limits, part.task, called):
        others = constraints.without(limits, view.index)
        if others == constraints.kept_by_others(view):
            found.append(limits[view.index])
    return found


def _alone(options: Options, task: str) -> list[float]:
    """The limits that were asked for of a task with one constraint."""
    sets = constraints.limit_sets(options.limits, task, ("cost",))
    return [limit for (limit,) in sets]


def _limits(task: str, finals: pl.DataFrame, options: Options) -> set[float]:
    """The limits that are known before the analysis recommends any."""
    limits = set(_alone(options, task))
    limits |= set(finals.filter(IS_COMPARISON)["limit"].unique().to_list())
    limits |= {*comparison_limits(task), *published_recommendations(task)}
    swept = finals.filter(IS_SWEEP).group_by("algorithm", "lambda", maintain_order=True)
    means = swept.agg(pl.col("cost").mean())["cost"].to_numpy()
    if len(means) > 1:
        limits |= set(ladder(float(means.max())))
    return limits


def _of_several(runs: pl.DataFrame, metrics: pl.DataFrame, options: Options) -> Findings:
    """The same for each of several constraints, while the others keep their limits."""
    findings = analyze(runs, metrics, options)
    parts = []
    for part in findings.tasks:
        costs = [group.cost.value or 0.0 for group in part.groups]
        wanted = {finding.limit for finding in part.limits}
        wanted |= {advice.limit for advice in part.recommended}
        if len(costs) > 1:
            wanted |= set(ladder(max(costs)))
        parts.append(look_again(runs, metrics, part, sorted(wanted), options))
    return replace(findings, tasks=tuple(parts))


def _joined(findings: Findings, more: Findings) -> Findings:
    """Findings with the limits of both."""
    tasks: list[TaskFindings] = []
    for part, other in zip(findings.tasks, more.tasks, strict=True):
        limits = sorted((*part.limits, *other.limits), key=lambda found: found.limit)
        tasks.append(replace(part, limits=tuple(limits)))
    return replace(findings, tasks=tuple(tasks))
