"""`saddle tasks`: every task on one line."""

import dataclasses
import json
from typing import Any, NamedTuple

from saddle.console import console
from saddle.errors import SaddleError
from saddle.tables import Column, print_table
from saddle.tasks import TaskSpec, names, registry


class Listed(NamedTuple):
    """A task, or why it cannot be had."""

    name: str
    origin: str
    spec: TaskSpec | None
    problem: str


def listed() -> list[Listed]:
    """Every task, Saddle's own in the published order first. One that is broken does not hide the
    others.
    """
    found = []
    for name in names():
        origin = registry.entry(name).origin
        try:
            found.append(Listed(name, origin, registry.spec_of(name), ""))
        except SaddleError as error:
            found.append(Listed(name, origin, None, str(error)))
    return found


def tasks(as_json: bool) -> None:
    """Print the tasks as a table or as JSON."""
    found = listed()
    if as_json:
        print(json.dumps([_facts(task) for task in found], indent=2))
    else:
        _print(found)


def _facts(task: Listed) -> dict[str, Any]:
    """A task as plain values: its name here, where it comes from, and its spec, or why there is
    none.
    """
    known: dict[str, Any] = (
        {"error": task.problem} if task.spec is None else dataclasses.asdict(task.spec)
    )
    return {**known, "name": task.name, "from": task.origin}


def _print(found: list[Listed]) -> None:
    columns = [
        Column("task", identifies=True),
        Column("obs", right=True),
        Column("action", right=True),
        Column("steps", right=True),
        Column("published limits", right=True),
        Column("a step costs 1 when the robot is", wraps=True),
    ]
    strangers = any(task.origin != registry.OURS for task in found)
    if strangers:
        columns.insert(1, Column("from"))
    rows = []
    for task in found:
        cells = _cells(task)
        if strangers:
            cells.insert(1, task.origin)
        rows.append(cells)
    print_table(console(), columns, rows)


def _cells(task: Listed) -> list[str]:
    if task.spec is None:
        return [task.name, "-", "-", "-", "-", task.problem]
    spec = task.spec
    limits = ", ".join(f"{limit:g}" for limit in spec.limits) or "-"
    words = spec.summary or ", ".join(spec.constraints)
    return [
        task.name,
        str(spec.obs_dim),
        str(spec.action_dim),
        str(spec.episode_length),
        limits,
        words,
    ]
