"""Our comparison beside the published one."""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

from saddle.analysis.compare import mark
from saddle.analysis.findings import Cell, Findings
from saddle.analysis.published import SEEDS, steps_beside_published, table
from saddle.config import PUBLISHED_STEPS
from saddle.words import counted


@dataclass(frozen=True)
class Agreement:
    """One cell of both tables. z: our mean minus the published one, in standard errors of that
    difference.
    """

    task: str
    algorithm: str
    limit: float
    rule: str
    seeds: int
    return_: float
    return_sd: float | None
    published_return: float
    published_return_sd: float
    return_z: float | None
    cost: float
    cost_sd: float | None
    published_cost: float
    published_cost_sd: float
    cost_z: float | None
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
class Comparison:
    """Every cell that both tables have, and what is missing."""

    cells: tuple[Agreement, ...]
    notes: tuple[str, ...]

    def to_json(self, indent: int | None = None) -> str:
        """As JSON."""
        plain = {"cells": [cell.to_dict() for cell in self.cells], "notes": self.notes}
        return json.dumps(plain, indent=indent, allow_nan=False)


def z_score(
    mean: float, sd: float | None, n: int, other: float, other_sd: float, other_n: int = SEEDS
) -> float | None:
    """Difference of two means in its standard error (Welch). None without an SD, or where nothing
    varies.
    """
    if sd is None:
        return None
    error = math.sqrt(sd**2 / n + other_sd**2 / other_n)
    return (mean - other) / error if error > 0 else None


def compare_with_published(findings: Findings) -> Comparison:
    """Put the findings' cells beside the published cells of the same task, limit and rule."""
    known = {}
    for row in mark(table()).iter_rows(named=True):
        known[row["task"], row["limit"], row["rule"]] = row
    cells = []
    seen = set()
    for part in findings.tasks:
        for cell in part.comparison:
            key = (part.task, cell.limit, cell.rule)
            if key in known:
                seen.add(key)
                cells.append(_cell(part.task, part.algorithm, cell, known[key]))
    return Comparison(tuple(cells), tuple(_notes(len(known), len(seen), cells)))


def _cell(task: str, algorithm: str, ours: Cell, theirs: dict[str, Any]) -> Agreement:
    mean, cost = ours.return_.value, ours.cost.value
    assert mean is not None and cost is not None  # a cell has at least one finite seed
    return_z = z_score(mean, ours.return_sd, ours.seeds, theirs["return_mean"], theirs["return_sd"])
    cost_z = z_score(cost, ours.cost_sd, ours.seeds, theirs["cost_mean"], theirs["cost_sd"])
    return Agreement(
        task=task,
        algorithm=algorithm,
        limit=ours.limit,
        rule=ours.rule,
        seeds=ours.seeds,
        return_=mean,
        return_sd=ours.return_sd,
        published_return=theirs["return_mean"],
        published_return_sd=theirs["return_sd"],
        return_z=return_z,
        cost=cost,
        cost_sd=ours.cost_sd,
        published_cost=theirs["cost_mean"],
        published_cost_sd=theirs["cost_sd"],
        cost_z=cost_z,
        mark=mark_of(ours.best, ours.violated),
        published_mark=mark_of(theirs["best"], theirs["violated"]),
        env_steps=ours.env_steps,
        published_env_steps=PUBLISHED_STEPS,
    )


def mark_of(best: bool, violated: bool) -> str:
    """The mark of a cell."""
    if best:
        return "best"
    return "violated" if violated else ""


def _notes(published: int, shared: int, cells: list[Agreement]) -> list[str]:
    if not shared:
        return [
            "The study and the published table have no cell in common: no task, limit and rule is "
            "in both."
        ]
    notes = (
        [f"{shared} of the {published} published cells are in this study."]
        if shared < published
        else []
    )
    notes.append(steps_beside_published([cell.env_steps for cell in cells]))
    blind = sum(cell.return_z is None or cell.cost_z is None for cell in cells)
    if blind:
        notes.append(
            f"{counted(blind, 'cell has', 'cells have')} no z-score: one seed, or nothing varies."
        )
    scores = [z for cell in cells for z in (cell.return_z, cell.cost_z) if z is not None]
    if scores:
        near = sum(abs(z) < 2 for z in scores)
        notes.append(
            f"{near} of {len(scores)} z-scores lie within 2; about 95 % would if both drew from "
            f"the same runs."
        )
    few = min(cell.seeds for cell in cells)
    if few < 5:
        notes.append(
            f"Some cells have only {counted(few, 'seed')}: their z-scores overstate how sure a "
            f"difference is."
        )
    return notes
