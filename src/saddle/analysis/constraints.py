"""Tasks with several constraints: an analysis looks at one of them, and says which."""

import json
import re
from collections.abc import Sequence

import polars as pl

BY_CONSTRAINT = ("cost", "lambda", "limit")
"""Columns that exist once per constraint. The first has the plain name, the others `_1`, `_2`, ...
behind it.
"""

ORDINALS = ("first", "second", "third", "fourth")


def further(columns: Sequence[str], name: str) -> list[str]:
    """Those of the columns that hold `name` of the second constraint, the third, and so on."""
    return [column for column in columns if re.fullmatch(rf"{name}_\d+", column)]


def seen_by(frame: pl.LazyFrame, constraint: int) -> pl.LazyFrame:
    """The table as if this constraint were the first, where the table has a column of it."""
    if constraint == 0:
        return frame
    columns = frame.collect_schema().names()
    own = [name for name in BY_CONSTRAINT if f"{name}_{constraint}" in columns]
    return frame.with_columns(pl.col(f"{name}_{constraint}").alias(name) for name in own)


def names(params: str | None) -> list[str]:
    """What a run's constraints are called, if its row says so; runs with one constraint do not."""
    try:
        facts = json.loads(params or "{}")
    except ValueError:
        return []
    found = facts.get("constraints") if isinstance(facts, dict) else None
    return [str(name) for name in found] if isinstance(found, list) else []


def notes(count: int, called: Sequence[str], constraint: int) -> list[str]:
    """What to say about a task with `count` constraints of which one was looked at."""
    if count < 2:
        return []
    called = called if len(called) == count else [f"constraint {i}" for i in range(count)]
    which = ORDINALS[constraint] if constraint < len(ORDINALS) else f"{constraint + 1}th"
    others = [f"{name} (--constraint {i})" for i, name in enumerate(called) if i != constraint]
    return [
        f"Looked at the {which} of {count} constraints: {called[constraint]}. "
        "Costs, limits, lambda*, violations and what is best are those of this one; "
        f"not looked at: {', '.join(others)}."
    ]
