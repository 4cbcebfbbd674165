"""Tasks with several constraints: an analysis looks at each of them while the others keep their
limits.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from saddle.analysis.findings import Constraint, OtherConstraint
from saddle.errors import SaddleError, did_you_mean
from saddle.tasks.registry import known_spec

OVER_TRAINING = (
    "epochs_above",
    "shares_above",
    "excess",
    "settled_after",
    "overshoot",
    "oscillation",
    "tail_cost",
)
"""What there is of each run that was trained at a limit, and of each of its constraints."""

SAID_C, CAME_C = "start_q_c", "start_mc_c"
"""What cost critics said of episodes as these began, and what they came to."""

BY_CONSTRAINT = (
    "cost",
    "cost_gain",
    "lambda",
    "limit",
    "whole",
    *OVER_TRAINING,
    SAID_C,
    CAME_C,
)
"""Columns that exist once per constraint. The first has the plain name, the others `_1`, `_2`, ...
behind it.
"""

POINT = pl.col("lambdas").cast(pl.List(pl.String)).list.join(" ").alias("point")
"""The lambdas of all constraints as one value, to group runs by."""

ORDINALS = ("first", "second", "third", "fourth")


def further(columns: Sequence[str], name: str) -> list[str]:
    """Those of the columns that hold `name` of the second constraint, the third, and so on."""
    found = [column for column in columns if re.fullmatch(rf"{name}_\d+", column)]
    return sorted(found, key=lambda column: int(column.rpartition("_")[2]))


def present(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Those of the columns that hold one of the names, of the first constraint and of further
    ones.
    """
    found = []
    for name in names:
        if name in columns:
            found += [name, *further(columns, name)]
    return found


def column(name: str, constraint: int) -> str:
    """The column that holds `name` of this constraint."""
    return f"{name}_{constraint}" if constraint else name


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


def called(task: str, count: int, found: Sequence[str]) -> tuple[str, ...]:
    """What a task's `count` constraints are called: as its runs say, as the task is known to say,
    or by their place.
    """
    if len(found) == count:
        return tuple(found)
    spec = known_spec(task)
    if spec is not None and len(spec.constraints) == count:
        return spec.constraints
    return tuple(f"constraint {i}" for i in range(count))


def called_in(finals: pl.DataFrame) -> tuple[str, ...]:
    """The same of the runs of one task: of those with the most constraints."""
    most = finals.row(int(finals["constraints"].arg_max() or 0), named=True)
    return called(most["task"], most["constraints"], most["called"])


@dataclass(frozen=True)
class View:
    """One constraint of a task, and the limits that the others keep meanwhile."""

    index: int
    called: tuple[str, ...]
    """All of the task's constraints."""
    others: tuple[float, ...] = ()
    """Limits of the others, in their order; infinite where there is none."""

    @property
    def places(self) -> tuple[int, ...]:
        """Of the others, among all."""
        return tuple(i for i in range(len(self.called)) if i != self.index)

    def finding(self) -> Constraint | None:
        """As findings say it; nothing where there is one constraint."""
        if len(self.called) < 2:
            return None
        others = []
        for place, limit in zip(self.places, self.others, strict=True):
            known = limit if math.isfinite(limit) else None
            others.append(OtherConstraint(self.called[place], known))
        return Constraint(self.index, self.called[self.index], tuple(others))


def kept_by_others(constraint: Constraint) -> tuple[float, ...]:
    """The limits of a view's other constraints, as `View.others` has them."""
    limits = []
    for other in constraint.others:
        limits.append(math.inf if other.limit is None else other.limit)
    return tuple(limits)


def without(limits: Sequence[float], index: int) -> tuple[float, ...]:
    """The limits of all constraints but one."""
    return (*limits[:index], *limits[index + 1 :])


def views(
    called: tuple[str, ...], limits: Sequence[tuple[float, ...]], chosen: Sequence[int]
) -> list[View]:
    """Each of the `chosen` constraints at each set of the others' limits; without limits, whatever
    the others cost.
    """
    unlimited = (math.inf,) * (len(called) - 1)
    found = []
    for index in chosen:
        sets = dict.fromkeys(without(one, index) for one in limits) or {unlimited: None}
        found += [View(index, called, others) for others in sets]
    return found


def choose(
    wanted: int | str | None, tasks: dict[str, tuple[str, ...]]
) -> dict[str, tuple[int, ...]]:
    """The constraints of each task that are looked at: all, or the one of that place or name.

    tasks: the names of each task's constraints.
    """
    if wanted is None:
        return {task: tuple(range(len(own))) for task, own in tasks.items()}
    if isinstance(wanted, int):
        most = max((len(own) for own in tasks.values()), default=1)
        if wanted >= most:
            raise SaddleError(
                f"there is no constraint {wanted} here: "
                f"the study's tasks have at most {most}, counted from 0"
            )
        return {task: (wanted,) if wanted < len(own) else () for task, own in tasks.items()}
    known = list(dict.fromkeys(name for own in tasks.values() for name in own))
    if wanted not in known:
        hint = did_you_mean(wanted, known) or f"; here is {', '.join(known)}"
        raise SaddleError(f"there is no constraint {wanted!r} here{hint}")
    return {task: (own.index(wanted),) if wanted in own else () for task, own in tasks.items()}


def limit_sets(
    wanted: Sequence[float | tuple[float, ...]], task: str, called: tuple[str, ...]
) -> list[tuple[float, ...]]:
    """The wanted limits, each with one number for each of the task's constraints.

    With one constraint every number is a limit of its own.
    """
    groups = [limit if isinstance(limit, tuple) else (limit,) for limit in wanted]
    if len(called) == 1:
        return [(number,) for group in groups for number in group]
    for group in groups:
        if len(group) != len(called):
            raise SaddleError(
                f"a limit has {len(group)} value(s), but {task} has {len(called)} constraints: "
                f"{', '.join(called)}; give one value for each, in this order"
            )
    return list(dict.fromkeys(groups))


def at_others(
    column: str, constraint: Constraint | None, values: Sequence[float | None]
) -> pl.Expr:
    """Whether the list in a column holds these values of the constraints that a view does not look
    at, None being any; true where there is one constraint.
    """
    if constraint is None:
        return pl.lit(True)
    places = [i for i in range(len(values) + 1) if i != constraint.index]
    wanted = [(i, value) for i, value in zip(places, values, strict=True) if value is not None]
    return pl.all_horizontal(
        pl.lit(True), *(pl.col(column).list.get(i) == value for i, value in wanted)
    )


def ordinal(index: int) -> str:
    """First, second, ..."""
    return ORDINALS[index] if index < len(ORDINALS) else f"{index + 1}th"


def title(constraint: Constraint | None) -> str:
    """A view in a few words: 'hazards (vases at 25)'; empty where there is one constraint."""
    if constraint is None:
        return ""
    held = [f"{one.name} at {one.limit:g}" for one in constraint.others if one.limit is not None]
    return constraint.name + (f" ({', '.join(held)})" if held else "")


def file_name(constraint: Constraint | None) -> str:
    """A view as part of a file's name: '-hazards-at-25'; empty where there is one constraint."""
    if constraint is None:
        return ""
    limits = [f"{one.limit:g}" for one in constraint.others if one.limit is not None]
    held = f"-at-{'-'.join(limits)}" if limits else ""
    return f"-{re.sub(r'[^A-Za-z0-9_.-]+', '-', constraint.name)}{held}"


def note(constraint: Constraint | None) -> list[str]:
    """What to say about a view of a task with several constraints."""
    if constraint is None:
        return []
    count = len(constraint.others) + 1
    which = f"Looked at the {ordinal(constraint.index)} of {count} constraints: {constraint.name}."
    held = [f"{one.name} {one.limit:g}" for one in constraint.others if one.limit is not None]
    if held:
        return [f"{which} The others keep their limits: {', '.join(held)}."]
    free = ", ".join(one.name for one in constraint.others)
    return [f"{which} The others have no limit: {free}."]
