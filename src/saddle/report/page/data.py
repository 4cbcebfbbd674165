"""What the page shows of a study, as plain values: findings at every limit of the ladder, runs, and
their curves.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from saddle import multipliers
from saddle.analysis import Findings, Options, TaskFindings, analyze, constraints
from saddle.analysis.assemble import look_again
from saddle.analysis.dials import spread_out
from saddle.analysis.findings.study import plain_values
from saddle.analysis.over_training import LOGGED
from saddle.analysis.published import comparison_limits, steps_beside_published
from saddle.analysis.published import recommended_limits as published_recommendations
from saddle.analysis.rules_map import is_map, rules_map
from saddle.analysis.show_until_decided import decision_lines
from saddle.analysis.summary import critic_columns, final_values
from saddle.analysis.sweep import IS_COMPARISON, IS_SWEEP
from saddle.analysis.text import joint_sentences
from saddle.analysis.until_decided import decisions, sampling_notes
from saddle.config import PUBLISHED_STEPS
from saddle.errors import SaddleError
from saddle.report.page.curves import QUANTITIES, binned, pack
from saddle.report.page.ladder import ladder
from saddle.report.page.reproduce import reproduce
from saddle.study.episodes import DrawnEpisodes, drawn_episodes
from saddle.study.store import Study
from saddle.words import counted

COLUMNS = ("run", "epoch", "env_steps", "episodes", *QUANTITIES)
SHARED = ("cost", "lambda")  # among COLUMNS, and by constraint
SHOWN = (
    "task",
    "algorithm",
    "groups",
    "profile",
    "frontier",
    "regimes",
    "recommended",
    "published_limits",
)
SHOWN += ("limits", "comparison", "pairs", "notes")
NOT_SHOWN = {"violations", "attainment", "crossings"}  # the page does without them, at any depth


def study_data(study: Study, options: Options) -> dict[str, Any]:
    """Everything that the page holds. `options.limits` are answered beside those of the ladder."""
    runs = study.runs
    usable = runs["status"] == "done"
    if options.unfinished:
        usable = runs["status"] != "failed"
    if not usable.any():
        state = (
            f"none of its {counted(runs.height, 'run')} is done"
            if runs.height
            else "it has no runs"
        )
        raise SaddleError(
            f"nothing to report about {study.path} yet: {state}; 'saddle study status' says how "
            f"far it is"
        )
    runs, scan = spread_out(runs, study.scan_metrics())
    there = scan.collect_schema().names()
    others = [column for name in SHARED for column in constraints.further(there, name)]
    others += constraints.present(there, LOGGED)
    metrics = scan.select(*COLUMNS, *others, *critic_columns(there)).collect()
    names = in_order(
        runs["task"].unique(maintain_order=True).to_list(), study.manifest.get("plan") or {}
    )
    parts = [runs.filter(pl.col("task") == task) for task in names]
    drawn = drawn_episodes(study)
    decided = decisions(study)
    # The analysis is numpy, which leaves Python's lock to other threads for most of its time.
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
        tasks = list(pool.map(lambda part: _task(part, metrics, drawn, options), parts))
    for part in [part for task in tasks for part in task["parts"]]:
        own = [one for one in decided if (one.task, one.algorithm) == _program(part)]
        part["notes"] += sampling_notes(study.manifest)
        part["notes"] += [line for one in own for line in decision_lines(one)]
    counts = [task["counts"] for task in tasks]
    return {
        "study": {key: value for key, value in study.manifest.items() if key != "schema"},
        "counts": {key: sum(count[key] for count in counts) for key in counts[0]},
        "options": _shown(vars(replace(options, limits=()))),
        "reproduce": reproduce(study.manifest),
        "rules": multipliers.labels(),
        "tasks": [part for task in tasks for part in task["parts"]],
    }


def _program(part: dict[str, Any]) -> tuple[str, str]:
    return part["task"], part["algorithm"]


def in_order(tasks: list[str], plan: dict[str, Any]) -> list[str]:
    """The tasks in the order in which the plan names them; a merged study has its parts' plans one
    after the other.
    """
    named = _planned(plan)
    return sorted(tasks, key=lambda task: named.index(task) if task in named else len(named))


def _planned(plan: dict[str, Any]) -> list[str]:
    parts = plan.get("merged") or [plan]
    if parts == [plan]:
        return list(plan.get("tasks") or ())
    return [task for part in parts for task in _planned(part)]


def _task(
    runs: pl.DataFrame, metrics: pl.DataFrame, drawn: list[DrawnEpisodes], options: Options
) -> dict[str, Any]:
    """Counts, and one part per algorithm; those which episodes were drawn of have them."""
    own = metrics.filter(pl.col("run").is_in(runs["run"].to_list()))
    finals = final_values(runs, own, options).frame
    findings = _answers(runs, own, finals, options)
    parts = []
    for found, plain in zip(findings.tasks, findings.to_dict()["tasks"], strict=True):
        index = found.constraint.index if found.constraint else 0
        rows = finals.filter(pl.col("algorithm") == found.algorithm)
        part = {key: _shown(plain[key]) for key in SHOWN}
        part["critics"] = _shown(plain.get("critics", []))
        part["constraint"] = constraints.title(found.constraint)
        part["published_comparison"] = _shown(comparison_limits(found.task))
        joint = [one for one in findings.joint if one.algorithm == found.algorithm]
        part["together"] = joint_sentences(joint)
        part["map"] = None
        if is_map(found):
            part["map"] = _shown(plain_values(rules_map(found, options.level)))
        own_episodes = [one.episodes for one in drawn if one.run in rows["trained"]]
        part["episodes"] = next(iter(own_episodes), None)
        part["notes"] = [*findings.notes, *_length(found.task, rows), *found.notes]
        seen = constraints.seen_by(rows.lazy(), index).collect()
        parts.append(part | _series(found, seen, constraints.seen_by(own.lazy(), index).collect()))
    return {"counts": vars(findings.runs), "parts": parts}


def _length(task: str, finals: pl.DataFrame) -> list[str]:
    """How long these runs trained beside the published ones, where those had more env steps."""
    steps = [int(count) for count in finals["env_steps"]]
    if not comparison_limits(task) or min(steps) >= 0.99 * PUBLISHED_STEPS:
        return []
    return [steps_beside_published(steps)]


def _answers(
    runs: pl.DataFrame, metrics: pl.DataFrame, finals: pl.DataFrame, options: Options
) -> Findings:
    """The analysis at every limit that the page answers: plain ones, those trained at, those
    recommended.
    """
    if (finals["constraints"] > 1).any():
        return _answers_of_several(runs, metrics, options)
    task = str(runs["task"][0])
    trained = finals.filter(IS_COMPARISON)["limit"].unique().to_list()
    means = (
        finals.filter(IS_SWEEP).group_by("algorithm", "lambda").agg(pl.col("cost").mean())["cost"]
    )
    asked = [limit for (limit,) in constraints.limit_sets(options.limits, task, ("cost",))]
    wanted = {*asked, *trained, *comparison_limits(task), *published_recommendations(task)}
    wanted |= set(ladder(float(means.to_numpy().max()))) if len(means) > 1 else set()
    findings = analyze(runs, metrics, replace(options, limits=tuple(sorted(wanted))))
    missing = {advice.limit for part in findings.tasks for advice in part.recommended} - wanted
    return (
        _joined(findings, analyze(runs, metrics, replace(options, limits=tuple(missing))))
        if missing
        else findings
    )


def _answers_of_several(runs: pl.DataFrame, metrics: pl.DataFrame, options: Options) -> Findings:
    """The same for each of several constraints, while the others keep their limits."""
    findings = analyze(runs, metrics, options)
    parts = []
    for part in findings.tasks:
        costs = [group.cost.value or 0.0 for group in part.groups]
        wanted = {finding.limit for finding in part.limits}
        wanted |= set(ladder(max(costs))) if len(costs) > 1 else set()
        wanted |= {advice.limit for advice in part.recommended}
        found = look_again(runs, metrics, part, sorted(wanted), options)
        parts.append(found)
    return replace(findings, tasks=tuple(parts))


def _joined(findings: Findings, more: Findings) -> Findings:
    """Findings with the limits of both."""
    limits = [
        sorted((*a.limits, *b.limits), key=lambda found: found.limit)
        for a, b in zip(findings.tasks, more.tasks, strict=True)
    ]
    tasks = (
        replace(part, limits=tuple(own)) for part, own in zip(findings.tasks, limits, strict=True)
    )
    return replace(findings, tasks=tuple(tasks))


def _series(found: TaskFindings, finals: pl.DataFrame, metrics: pl.DataFrame) -> dict[str, Any]:
    """Runs and curves of each group of the sweep, then of each cell of the comparison, in their
    order.
    """
    names = finals["run"].to_list()
    place = {name: i for i, name in enumerate(names)}
    steps, values = binned(names, metrics)
    axes: list[list[float | None]] = []
    series = []
    for rule, lam, others, limit, rows in _members(found, finals):
        at = [place[name] for name in rows["run"]]
        axis = _axis(steps[at])
        if axis not in axes:
            axes.append(axis)
        curves = {name: pack(values[at, :, i]) for i, name in enumerate(QUANTITIES)}
        runs = list(rows.select("run", "seed", "return", "cost").iter_rows())
        own = {
            "rule": rule,
            "lambda": lam,
            "others": others,
            "limit": limit,
            "axis": axes.index(axis),
            "runs": runs,
            "curves": curves,
        }
        series.append(_shown(own))
    return {"series": series, "axes": _shown(axes)}


def _members(
    found: TaskFindings, finals: pl.DataFrame
) -> Iterator[tuple[str, float | None, tuple[float, ...], float | None, pl.DataFrame]]:
    """Rule, lambda, lambdas of the other constraints, limit and runs of each group and cell."""
    swept = finals.filter(IS_SWEEP)
    compared = finals.filter(IS_COMPARISON)
    others = [one.limit for one in found.constraint.others] if found.constraint else []
    compared = compared.filter(constraints.at_others("limits", found.constraint, others))
    for group in found.groups:
        same = constraints.at_others("lambdas", found.constraint, group.others)
        rows = swept.filter(pl.col("lambda") == group.lambda_, same)
        yield "fixed", group.lambda_, group.others, None, rows
    for cell in found.comparison:
        rows = compared.filter((pl.col("rule") == cell.rule) & (pl.col("limit") == cell.limit))
        yield cell.rule, cell.lambda_, (), cell.limit, rows


def _axis(steps: np.ndarray) -> list[float | None]:
    """Env steps of each bin, from those runs [runs, bins] that reached it."""
    reached = np.isfinite(steps)
    highest = np.where(reached, steps, -np.inf).max(0)
    return [float(step) if np.isfinite(step) else None for step in highest]


def _shown(value: Any) -> Any:
    """Plain values with six digits, whole numbers without a point: half the size, and more than a
    page shows.
    """
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items() if key not in NOT_SHOWN}
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    if isinstance(value, float):
        short = float(f"{value:.6g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    return value
