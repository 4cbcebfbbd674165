"""Runs and training curves of each group of a sweep and of each cell of a comparison."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from saddle.analysis import TaskFindings, constraints
from saddle.analysis.sweep import IS_COMPARISON, IS_SWEEP
from saddle.multipliers.fixed import Fixed
from saddle.report.page.curves import QUANTITIES, binned, pack
from saddle.report.page.shown import shown

Axis = list[float | None]
"""Env steps at the end of each bin; None where no run got so far."""


def series(found: TaskFindings, finals: pl.DataFrame, metrics: pl.DataFrame) -> dict[str, Any]:
    """Groups of the sweep, then cells of the comparison, in their order; those that were logged
    alike share an axis.
    """
    names = finals["run"].to_list()
    place = {name: i for i, name in enumerate(names)}
    steps, values = binned(names, metrics)
    axes: list[Axis] = []
    members = []
    for member in _members(found, finals):
        at = [place[name] for name in member.runs["run"]]
        axis = _axis(steps[at])
        if axis not in axes:
            axes.append(axis)
        own = {
            "rule": member.rule,
            "lambda": member.lambda_,
            "others": member.others,
            "limit": member.limit,
            "axis": axes.index(axis),
            "runs": list(member.runs.select("run", "seed", "return", "cost").iter_rows()),
            "curves": {name: pack(values[at, :, i]) for i, name in enumerate(QUANTITIES)},
        }
        members.append(shown(own))
    return {"series": members, "axes": shown(axes)}


class _Member(NamedTuple):
    """A group or a cell, and the final values of its runs."""

    rule: str
    lambda_: float | None
    others: tuple[float, ...]
    """The lambdas of the other constraints."""
    limit: float | None
    runs: pl.DataFrame


def _members(found: TaskFindings, finals: pl.DataFrame) -> Iterator[_Member]:
    swept = finals.filter(IS_SWEEP)
    for group in found.groups:
        same_others = constraints.at_others("lambdas", found.constraint, group.others)
        runs = swept.filter(pl.col("lambda") == group.lambda_, same_others)
        yield _Member(Fixed.name, group.lambda_, group.others, None, runs)
    limits = [one.limit for one in found.constraint.others] if found.constraint else []
    same_limits = constraints.at_others("limits", found.constraint, limits)
    compared = finals.filter(IS_COMPARISON).filter(same_limits)
    for cell in found.comparison:
        runs = compared.filter(pl.col("rule") == cell.rule, pl.col("limit") == cell.limit)
        yield _Member(cell.rule, cell.lambda_, (), cell.limit, runs)


def _axis(steps: Float[np.ndarray, "runs bins"]) -> Axis:
    """Env steps of each bin, from those runs that reached it."""
    reached = np.isfinite(steps)
    highest = np.where(reached, steps, -np.inf).max(axis=0)
    return [float(step) if np.isfinite(step) else None for step in highest]
