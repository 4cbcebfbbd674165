"""Our comparison beside the published one."""

import dataclasses
import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from saddle.analysis import dials
from saddle.analysis.compare import mark
from saddle.analysis.findings import Cell, Findings, Group, LimitFinding, TaskFindings
from saddle.analysis.published import SEEDS, steps_beside_published, table
from saddle.analysis.welch import SURE, Sample, Welch, holm, welch
from saddle.config import PUBLISHED_STEPS
from saddle.multipliers.fixed import Fixed
from saddle.words import counted

HERE = 0.02
"""Multipliers that differ by no more than this share are taken for the same setting."""


@dataclass(frozen=True)
class Agreement:
    """One cell of both tables. t: our mean minus the published one, in standard errors of that
    difference; p: of such a difference or a larger one, by Welch's t-test; p_holm: the same,
    corrected for the number of p-values in the comparison.
    """

    task: str
    algorithm: str
    limit: float
    rule: str
    lambda_: float | None
    """Of fixed lambda*: the multiplier that was run."""
    seeds: int
    return_: float
    return_sd: float | None
    published_return: float
    published_return_sd: float
    return_t: float | None
    return_p: float | None
    return_p_holm: float | None
    cost: float
    cost_sd: float | None
    published_cost: float
    published_cost_sd: float
    cost_t: float | None
    cost_p: float | None
    cost_p_holm: float | None
    mark: str
    """'best', 'violated' or ''."""
    published_mark: str
    env_steps: int
    """That each of our runs had, the fewest of them."""
    published_env_steps: int

    def to_dict(self) -> dict[str, Any]:
        """As plain values, by the names that readers know: `return`, not `return_`."""
        facts = dataclasses.asdict(self)
        return {name.rstrip("_"): value for name, value in facts.items()}


@dataclass(frozen=True)
class Overall:
    """All cells together."""

    values: int
    """p-values: two of a cell, of its return and of its cost."""
    below: int
    """Of these, how many lie below 0.05."""
    below_holm: int
    """How many do so after Holm's correction."""
    least_holm: float
    """The smallest corrected p-value: that of the hypothesis that no cell differs at all."""
    median_distance: float
    """Median of |ours - published| in published SDs of a seed."""
    same_marks: int
    """Cells with the published mark: best, violated or neither."""
    cells: int


@dataclass(frozen=True)
class Comparison:
    """Every cell that both tables have, and what is missing."""

    cells: tuple[Agreement, ...]
    overall: Overall | None
    """None where no cell has a p-value."""
    notes: tuple[str, ...]

    def learner(self, cell: Agreement) -> str:
        """The algorithm in brackets, to stand behind a cell's task, where there are several."""
        several = len({one.algorithm for one in self.cells}) > 1
        return f" ({cell.algorithm})" if several else ""

    def to_json(self, indent: int | None = None) -> str:
        """As JSON."""
        plain = {
            "cells": [cell.to_dict() for cell in self.cells],
            "overall": dataclasses.asdict(self.overall) if self.overall else None,
            "notes": self.notes,
        }
        return json.dumps(plain, indent=indent, allow_nan=False)


@dataclass(frozen=True)
class _Row:
    """What was run for a cell of the published table."""

    task: str
    algorithm: str
    limit: float
    rule: str
    lambda_: float | None
    found: Cell | Group
    words: str
    """Of a fixed lambda that stands for lambda*: which, and why. Else empty."""


def compare_with_published(findings: Findings, sweep: Findings | None = None) -> Comparison:
    """Put the findings' cells beside the published cells of the same task, limit and rule.

    Fixed lambda* is the study's own runs at the limit, or else the setting of its sweep that is
    nearest to lambda*, which comes from the profile of `sweep` where that is given. Findings of
    `Options.published` have lambda* as published; then the nearest of all runs with a fixed lambda
    is taken.
    """
    known = {}
    for row in mark(table()).iter_rows(named=True):
        known[row["task"], row["limit"], row["rule"]] = row
    rows = []
    for part in findings.tasks:
        limits = sorted({limit for task, limit, _ in known if task == part.task})
        stars = _stars(sweep or findings, part)
        published = (sweep or findings).options["construction"] == "published"
        rows += [row for limit in limits for row in _rows(part, limit, stars, published)]
    rows = [row for row in rows if (row.task, row.limit, row.rule) in known]
    theirs = [known[row.task, row.limit, row.rule] for row in rows]
    cells = _corrected([_cell(*both) for both in zip(rows, theirs, strict=True)])
    cells = _marked(cells)
    overall = _overall(cells)
    words = [row.words for row in rows if row.words]
    return Comparison(cells, overall, (*_notes(len(known), cells, overall), *words))


def _stars(findings: Findings, part: TaskFindings) -> dict[float, LimitFinding]:
    """What these findings say of each limit of the task: those of the same algorithm, or of the
    only one that they have.
    """
    parts = [one for one in findings.tasks if one.task == part.task]
    same = [one for one in parts if one.algorithm == part.algorithm]
    chosen = same or (parts if len(parts) == 1 else [])
    return {at.limit: at for one in chosen for at in one.limits}


def _rows(
    part: TaskFindings, limit: float, stars: dict[float, LimitFinding], published: bool
) -> Iterable[_Row]:
    """The rules that were run at this limit, and fixed lambda*."""
    own = [cell for cell in part.comparison if cell.limit == limit]
    fixed = _fixed(part, limit, own, stars.get(limit), published)
    if fixed is not None:
        yield fixed
    for cell in own:
        if cell.rule != Fixed.name:
            yield _Row(part.task, part.algorithm, limit, cell.rule, None, cell, "")


def _fixed(
    part: TaskFindings,
    limit: float,
    own: Sequence[Cell],
    star: LimitFinding | None,
    published: bool,
) -> _Row | None:
    """The runs that stand for fixed lambda* at this limit; None where there are none. Settings of a
    policy with a dial do not: nobody trained them at a fixed lambda.
    """
    if dials.SEEN_IN_TRAINING in part.notes:
        return None
    at_limit = next((cell for cell in own if cell.rule == Fixed.name), None)
    wanted = None if star is None else star.train_at
    found: Cell | Group | None = at_limit
    if wanted is not None and (at_limit is None or published or _unreached(star)):
        usable = [group for group in part.groups if group.lambda_ > 0 or wanted == 0]
        candidates: list[Cell | Group] = [*usable]
        if at_limit is not None and at_limit.lambda_ is not None:
            candidates.insert(0, at_limit)
        found = min(candidates, key=lambda one: _away(one, wanted), default=at_limit)
    if found is None:
        return None
    words = ""
    if found is not at_limit and star is not None and wanted is not None:
        words = _stands_for(part.task, star, found, wanted)
    return _Row(part.task, part.algorithm, limit, Fixed.name, found.lambda_, found, words)


def _unreached(star: LimitFinding | None) -> bool:
    """Whether runs "at lambda*" cannot be at it."""
    return star is not None and star.status == "always above"


def _away(found: Cell | Group, wanted: float) -> float:
    """How far its multiplier is from the one that is wanted: in log lambda, where 0 is far from all
    others.
    """
    assert found.lambda_ is not None
    if found.lambda_ == wanted:
        return 0.0
    if found.lambda_ == 0 or wanted == 0:
        return math.inf
    return abs(math.log(found.lambda_ / wanted))


def _stands_for(task: str, star: LimitFinding, found: Cell | Group, wanted: float) -> str:
    """Which runs of the sweep stand in the row of fixed lambda*, and why."""
    here = f"Fixed lambda* of {task} at limit {star.limit:g}"
    runs = f"the runs of the sweep at {found.lambda_:.4g}"
    if star.status != "reached":
        return f"{here}: {star.reason}; the row has {runs}."
    if _away(found, wanted) <= HERE:
        return f"{here} is {wanted:.4g}; the row has {runs}."
    return f"{here} is {wanted:.4g}; the row has {runs}, the nearest that there are."


def _cell(row: _Row, theirs: dict[str, Any]) -> Agreement:
    ours = row.found
    mean, cost = ours.return_.value, ours.cost.value
    assert mean is not None and cost is not None  # a group has at least one finite seed
    of_return = _test(mean, ours.return_sd, ours.seeds, theirs, "return")
    of_cost = _test(cost, ours.cost_sd, ours.seeds, theirs, "cost")
    return Agreement(
        task=row.task,
        algorithm=row.algorithm,
        limit=row.limit,
        rule=row.rule,
        lambda_=row.lambda_,
        seeds=ours.seeds,
        return_=mean,
        return_sd=ours.return_sd,
        published_return=theirs["return_mean"],
        published_return_sd=theirs["return_sd"],
        return_t=of_return.t if of_return else None,
        return_p=of_return.p if of_return else None,
        return_p_holm=None,
        cost=cost,
        cost_sd=ours.cost_sd,
        published_cost=theirs["cost_mean"],
        published_cost_sd=theirs["cost_sd"],
        cost_t=of_cost.t if of_cost else None,
        cost_p=of_cost.p if of_cost else None,
        cost_p_holm=None,
        mark="",
        published_mark=mark_of(theirs["best"], theirs["violated"]),
        env_steps=ours.env_steps,
        published_env_steps=PUBLISHED_STEPS,
    )


def _test(
    mean: float, sd: float | None, seeds: int, theirs: dict[str, Any], quantity: str
) -> Welch | None:
    """Our seeds against the published ones."""
    published = Sample(theirs[f"{quantity}_mean"], theirs[f"{quantity}_sd"], SEEDS)
    return welch(Sample(mean, sd, seeds), published)


def _corrected(cells: Sequence[Agreement]) -> list[Agreement]:
    """The cells with the p-values of returns and costs corrected for all of them together."""
    known = [p for cell in cells for p in (cell.return_p, cell.cost_p) if p is not None]
    corrected = iter(holm(known))
    return [
        dataclasses.replace(
            cell,
            return_p_holm=None if cell.return_p is None else next(corrected),
            cost_p_holm=None if cell.cost_p is None else next(corrected),
        )
        for cell in cells
    ]


def _marked(cells: Sequence[Agreement]) -> tuple[Agreement, ...]:
    """The cells with their marks: among the rows that stand here, which is best."""
    columns = {
        "task": [cell.task for cell in cells],
        "algorithm": [cell.algorithm for cell in cells],
        "limit": [cell.limit for cell in cells],
        "return_mean": [cell.return_ for cell in cells],
        "cost_mean": [cell.cost for cell in cells],
    }
    text = {"task": pl.String, "algorithm": pl.String}
    schema = {name: text.get(name, pl.Float64) for name in columns}
    marks = mark(pl.DataFrame(columns, schema=schema))
    flags = marks.select("best", "violated").iter_rows()
    return tuple(
        dataclasses.replace(cell, mark=mark_of(best, violated))
        for cell, (best, violated) in zip(cells, flags, strict=True)
    )


def mark_of(best: bool, violated: bool) -> str:
    """The mark of a cell."""
    if best:
        return "best"
    return "violated" if violated else ""


def _overall(cells: Sequence[Agreement]) -> Overall | None:
    raw = [p for cell in cells for p in (cell.return_p, cell.cost_p) if p is not None]
    if not raw:
        return None
    both = [(cell.return_p_holm, cell.cost_p_holm) for cell in cells]
    corrected = [p for pair in both for p in pair if p is not None]
    return Overall(
        values=len(raw),
        below=sum(p < SURE for p in raw),
        below_holm=sum(p < SURE for p in corrected),
        least_holm=min(corrected),
        median_distance=statistics.median(
            distance for cell in cells for distance in _distances(cell)
        ),
        same_marks=sum(cell.mark == cell.published_mark for cell in cells),
        cells=len(cells),
    )


def _distances(cell: Agreement) -> Iterable[float]:
    """Of return and cost, in published SDs, where these are not 0."""
    for ours, published, sd in (
        (cell.return_, cell.published_return, cell.published_return_sd),
        (cell.cost, cell.published_cost, cell.published_cost_sd),
    ):
        if sd > 0:
            yield abs(ours - published) / sd


def _notes(published: int, cells: Sequence[Agreement], overall: Overall | None) -> list[str]:
    if not cells:
        return [
            "The study and the published table have no cell in common: no task, limit and rule is "
            "in both."
        ]
    notes = []
    shared = len({(cell.task, cell.limit, cell.rule) for cell in cells})
    if shared < published:
        notes.append(f"{shared} of the {published} published cells are in this study.")
    notes.append(steps_beside_published([cell.env_steps for cell in cells]))
    blind = sum(cell.return_p is None or cell.cost_p is None for cell in cells)
    if blind:
        notes.append(
            f"{counted(blind, 'cell has', 'cells have')} no p-value: one seed, or nothing varies."
        )
    if overall:
        notes += _overall_notes(overall)
    few = min(cell.seeds for cell in cells)
    if few < 5:
        notes.append(
            f"Some cells have only {counted(few, 'seed')}: such a test misses all but large "
            f"differences, so one that is not told apart is not shown to agree."
        )
    return notes


def _overall_notes(overall: Overall) -> list[str]:
    """What all cells together say."""
    many = counted(overall.values, "p-value lies", "p-values lie")
    notes = [
        f"{overall.below} of {many} below {SURE:g}; about 5 % would if both drew from the same "
        f"runs. Corrected for their number (Holm) {overall.below_holm} do, the smallest is "
        f"{overall.least_holm:.2g}."
    ]
    notes.append(
        f"Half of the differences are at most {overall.median_distance:.2g} published SDs of a "
        f"seed. {overall.same_marks} of {counted(overall.cells, 'cell')} have the published mark."
    )
    return notes
