"""What the page shows of a study, as plain values: findings at every limit of the ladder, runs, and
their curves.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from saddle import machine, multipliers
from saddle.analysis import Findings, Options, TaskFindings, constraints
from saddle.analysis.dials import spread_out
from saddle.analysis.findings.study import plain_values
from saddle.analysis.over_training import LOGGED
from saddle.analysis.published import comparison_limits, steps_beside_published
from saddle.analysis.rules_map import is_map, rules_map
from saddle.analysis.show_until_decided import decision_lines
from saddle.analysis.summary import critic_columns, final_values
from saddle.analysis.text import joint_sentences
from saddle.analysis.until_decided import decisions, sampling_notes
from saddle.config import PUBLISHED_STEPS
from saddle.errors import SaddleError
from saddle.report.page.answers import answers, asked
from saddle.report.page.curves import QUANTITIES
from saddle.report.page.reproduce import reproduce
from saddle.report.page.series import series
from saddle.report.page.shown import shown
from saddle.study.episodes import DrawnEpisodes, drawn_episodes
from saddle.study.store import Study
from saddle.words import counted

COLUMNS = ("run", "epoch", "env_steps", "episodes", *QUANTITIES)
BY_CONSTRAINT = ("cost", "lambda")  # among COLUMNS
SHOWN = (
    "task",
    "algorithm",
    "groups",
    "profile",
    "frontier",
    "regimes",
    "recommended",
    "published_limits",
    "limits",
    "comparison",
    "pairs",
    "notes",
)


def study_data(study: Study, options: Options) -> dict[str, Any]:
    """Everything that the page holds. `options.limits` are answered beside those of the ladder."""
    _check_usable(study, options)
    runs, scan = spread_out(study.runs, study.scan_metrics())
    metrics = _metrics(scan)
    names = runs["task"].unique(maintain_order=True).to_list()
    ordered = in_order(names, study.manifest.get("plan") or {})
    drawn = drawn_episodes(study)

    def of_task(task: str) -> _OfTask:
        return _OfTask.of(task, runs, metrics, options)

    def told(asked: tuple[_OfTask, Options]) -> dict[str, Any]:
        own, options = asked
        return _task(own, drawn, options)

    # The analysis is numpy, which leaves Python's lock to other threads for most of its time.
    with ThreadPoolExecutor(min(len(ordered), machine.cores_to_use())) as pool:
        every = list(pool.map(of_task, ordered))
        asked, left_out = _asked(every, options)
        tasks = list(pool.map(told, asked))
    parts = [part for task in tasks for part in task["parts"]]
    for part in parts:
        part["notes"] += left_out
    _add_sampling_notes(study, parts)
    counts = [task["counts"] for task in tasks]
    return {
        "study": {key: value for key, value in study.manifest.items() if key != "schema"},
        "counts": {key: sum(count[key] for count in counts) for key in counts[0]},
        "options": shown(vars(replace(options, limits=()))),
        "reproduce": reproduce(study.manifest),
        "rules": multipliers.labels(),
        "tasks": parts,
    }


def _check_usable(study: Study, options: Options) -> None:
    """Some run is done, or as far as the options ask for."""
    status = study.runs["status"]
    usable = status != "failed" if options.unfinished else status == "done"
    if usable.any():
        return
    state = "it has no runs"
    if len(status):
        state = f"none of its {counted(len(status), 'run')} is done"
    raise SaddleError(
        f"nothing to report about {study.path} yet: {state}; 'saddle study status' says how far "
        f"it is"
    )


def _metrics(scan: pl.LazyFrame) -> pl.DataFrame:
    """The columns that the page is made of, as far as they are there."""
    there = scan.collect_schema().names()
    columns = [*COLUMNS]
    for name in BY_CONSTRAINT:
        columns += constraints.further(there, name)
    columns += constraints.present(there, LOGGED)
    columns += critic_columns(there)
    return scan.select(columns).collect()


def _add_sampling_notes(study: Study, parts: list[dict[str, Any]]) -> None:
    """How seeds were added until it was decided which rule to use, where they were."""
    decided = decisions(study)
    for part in parts:
        part["notes"] += sampling_notes(study.manifest)
        for one in decided:
            if (one.task, one.algorithm) == (part["task"], part["algorithm"]):
                part["notes"] += decision_lines(one)


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


class _OfTask(NamedTuple):
    """A task's part of the study."""

    task: str
    runs: pl.DataFrame
    metrics: pl.DataFrame
    finals: pl.DataFrame

    @classmethod
    def of(
        cls, task: str, runs: pl.DataFrame, metrics: pl.DataFrame, options: Options
    ) -> "_OfTask":
        """From the tables of all tasks."""
        own = runs.filter(pl.col("task") == task)
        logged = metrics.filter(pl.col("run").is_in(own["run"].to_list()))
        return cls(task, own, logged, final_values(own, logged, options).frame)

    @property
    def called(self) -> tuple[str, ...]:
        """What its constraints are called."""
        return constraints.called_in(self.finals) if len(self.finals) else ()


def _asked(
    every: list[_OfTask], options: Options
) -> tuple[list[tuple[_OfTask, Options]], list[str]]:
    """The tasks that have the constraint which is asked for, each with its place there; and what to
    say of the others.
    """
    if options.constraint is None:
        return [(own, options) for own in every], []
    chosen = constraints.choose(options.constraint, {own.task: own.called for own in every})
    asked = []
    left_out = []
    for own in every:
        if chosen[own.task]:
            (place,) = chosen[own.task]
            asked.append((own, replace(options, constraint=place)))
        else:
            left_out.append(f"{own.task} has no constraint {options.constraint}: it is left out.")
    return asked, left_out


def _task(of_task: _OfTask, drawn: list[DrawnEpisodes], options: Options) -> dict[str, Any]:
    """Counts, and one part per algorithm; those which episodes were drawn of have them."""
    _, runs, own, finals = of_task
    findings = answers(runs, own, finals, options)
    parts = []
    for found, plain in zip(findings.tasks, findings.to_dict()["tasks"], strict=True):
        index = found.constraint.index if found.constraint else 0
        rows = finals.filter(pl.col("algorithm") == found.algorithm)
        seen = constraints.seen_by(rows.lazy(), index).collect()
        seen_metrics = constraints.seen_by(own.lazy(), index).collect()
        part = _told(findings, found, plain, options)
        part["episodes"] = _episodes(rows, drawn)
        part["notes"] = [*findings.notes, *_length(found.task, rows), *found.notes]
        parts.append(part | series(found, seen, seen_metrics))
    return {"counts": vars(findings.runs), "parts": parts}


def _told(
    findings: Findings, found: TaskFindings, plain: dict[str, Any], options: Options
) -> dict[str, Any]:
    """What the analysis found of a part, which `plain` holds as plain values."""
    part = {key: shown(plain[key]) for key in SHOWN}
    part["critics"] = shown(plain.get("critics", []))
    part["constraint"] = constraints.title(found.constraint)
    part["asked"] = shown(asked(found, options))
    part["published_comparison"] = shown(comparison_limits(found.task))
    joint = [one for one in findings.joint if one.algorithm == found.algorithm]
    part["together"] = joint_sentences(joint)
    part["map"] = None
    if is_map(found):
        part["map"] = shown(plain_values(rules_map(found, options.level)))
    return part


def _episodes(finals: pl.DataFrame, drawn: list[DrawnEpisodes]) -> Any:
    """The episodes that were drawn of any of these runs."""
    for one in drawn:
        if one.run in finals["trained"]:
            return one.episodes
    return None


def _length(task: str, finals: pl.DataFrame) -> list[str]:
    """How long these runs trained beside the published ones, where those had more env steps."""
    steps = [int(count) for count in finals["env_steps"]]
    if not comparison_limits(task) or min(steps) >= 0.99 * PUBLISHED_STEPS:
        return []
    return [steps_beside_published(steps)]
