"""`saddle tasks`: every task on one line."""

import dataclasses
import json
from typing import Any

from saddle.console import console
from saddle.tables import Column, print_table
from saddle.tasks import make, names


def facts() -> list[dict[str, Any]]:
    """The spec of every task as plain values, in the published order."""
    return [dataclasses.asdict(make(name).spec) for name in names()]


def show(as_json: bool) -> None:
    """Print the tasks as a table or as JSON."""
    if as_json:
        print(json.dumps(facts(), indent=2))
    else:
        _print()


def _print() -> None:
    columns = (
        Column("task", identifies=True),
        Column("obs", right=True),
        Column("action", right=True),
        Column("steps", right=True),
        Column("published limits", right=True),
        Column("a step costs 1 when the robot is", wraps=True),
    )
    rows = []
    for name in names():
        spec = make(name).spec
        sizes = (str(size) for size in (spec.obs_dim, spec.action_dim, spec.episode_length))
        limits = ", ".join(f"{limit:g}" for limit in spec.limits)
        rows.append((spec.name, *sizes, limits, spec.summary))
    print_table(console(), columns, rows)
