"""`saddle tasks`: every task on one line."""

import dataclasses
import json
from typing import Any

from rich.table import Table

from saddle.console import console
from saddle.tasks import make, names


def facts() -> list[dict[str, Any]]:
    """The spec of every task as plain values, in the study's order."""
    return [dataclasses.asdict(make(name).spec) for name in names()]


def show(as_json: bool) -> None:
    """Print the tasks as a table or as JSON."""
    if as_json:
        print(json.dumps(facts(), indent=2))
    else:
        console().print(_table())


def _table() -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", no_wrap=True)
    for column in ("obs", "action", "steps"):
        table.add_column(column, justify="right")
    table.add_column("a step costs 1 when the robot is")
    table.add_column("limits", justify="right", no_wrap=True)
    for name in names():
        spec = make(name).spec
        limits = ", ".join(f"{limit:g}" for limit in spec.limits)
        sizes = (str(n) for n in (spec.obs_dim, spec.action_dim, spec.episode_length))
        table.add_row(spec.name, *sizes, spec.summary, limits)
    return table
