"""Every figure and table of a study, written to a folder."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from saddle import references
from saddle.analysis import Findings, TaskFindings, constraints
from saddle.analysis.aggregates import aggregates
from saddle.analysis.rules_map import is_map, rules_map
from saddle.errors import SaddleError
from saddle.report import (
    figures_aggregates,
    figures_algorithms,
    figures_map,
    figures_rules,
    figures_sweep,
    style,
)
from saddle.report.tables import tables

Drawing = tuple[str, Callable[[], Figure]]


def write_all(findings: Findings, curves: pl.DataFrame, out: Path) -> list[Path]:
    """Draw and save every figure, and write every table. Returns the files."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SaddleError(f"cannot write to {out}: {error.strerror or error}") from None
    files: list[Path] = []
    with style.styled():
        for name, draw in drawings(findings, curves):
            files += style.save(draw(), out, name)
    for table in tables(findings):
        files += table.write(out)
    return files


def drawings(findings: Findings, curves: pl.DataFrame) -> Iterator[Drawing]:
    """Name and drawing of every figure that the findings have data for."""
    swept = [part for part in findings.tasks if part.frontier]
    names = [_name(part, findings) for part in findings.tasks]
    level = findings.options["level"]
    for part, name in zip(findings.tasks, names, strict=True):
        yield from _of_task(part, name, curves)
        if is_map(part):
            yield f"map-{name}", lambda part=part: figures_map.heat(rules_map(part, level))
    for one in aggregates(findings):
        if one.gap.rules or one.violation.rules:
            yield f"scores-{one.algorithm}", lambda one=one: figures_aggregates.profiles(one)
    for algorithm in dict.fromkeys(part.algorithm for part in swept):
        parts = [part for part in swept if part.algorithm == algorithm]
        if len(parts) > 1:
            yield f"frontiers-{algorithm}", lambda parts=parts: figures_sweep.grid(parts)
    for task, constraint in dict.fromkeys((part.task, part.constraint) for part in swept):
        parts = [part for part in swept if (part.task, part.constraint) == (task, constraint)]
        if len(parts) > 1:
            name = f"algorithms-{references.file_name(task)}{constraints.file_name(constraint)}"
            yield name, lambda parts=parts: figures_algorithms.overlay(parts)


def _of_task(part: TaskFindings, name: str, curves: pl.DataFrame) -> Iterator[Drawing]:
    if part.frontier:
        yield f"frontier-{name}", lambda: figures_sweep.frontier(part)
        yield f"profile-{name}", lambda: figures_sweep.profile(part)
        yield f"seeds-{name}", lambda: figures_sweep.seeds(part)
    if part.slope:
        yield f"slope-{name}", lambda: figures_sweep.slope(part)
    if part.comparison:
        yield f"rules-{name}", lambda: figures_rules.zoom(part)
    heading, own = style.heading(part), curves.filter(_is_of(part))
    for (limit,), rows in own.group_by(["limit"], maintain_order=True):
        draw = partial(figures_rules.training, heading, float(limit), rows)
        yield f"training-{name}-{limit:g}", draw


def _is_of(part: TaskFindings) -> pl.Expr:
    """Whether a training curve is of this task, algorithm and constraint, at the same limits of the
    others.
    """
    index = part.constraint.index if part.constraint else 0
    others = [one.limit for one in part.constraint.others] if part.constraint else []
    return (
        (pl.col("task") == part.task)
        & (pl.col("algorithm") == part.algorithm)
        & (pl.col("constraint") == index)
        & constraints.at_others("limits", part.constraint, others)
    )


def _name(part: TaskFindings, findings: Findings) -> str:
    alone = len({other.algorithm for other in findings.tasks}) == 1
    task = references.file_name(part.task) + constraints.file_name(part.constraint)
    return task if alone else f"{task}-{part.algorithm}"
