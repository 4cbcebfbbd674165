"""Everything that was found about a study, task by task, and its JSON."""

import dataclasses
import json
import math
from dataclasses import dataclass, field
from typing import Any

from saddle.analysis.findings.critics import CriticBias
from saddle.analysis.findings.limits import Cell, LimitFinding, Pair
from saddle.analysis.findings.several import Constraint, JointLambda
from saddle.analysis.findings.sweep import (
    Frontier,
    Group,
    Profile,
    PublishedLimit,
    Recommendation,
    Regime,
    Slope,
)
from saddle.analysis.findings.until_decided import TaskDecisions
from saddle.analysis.findings.values import IF_ANY
from saddle.errors import SaddleError

SCHEMA = 1


@dataclass(frozen=True)
class Seed:
    """One run's final values."""

    run: str
    rule: str
    lambda_: float | None
    limit: float | None
    seed: int
    return_: float
    cost: float


@dataclass(frozen=True, repr=False)
class TaskFindings:
    """Everything about one task under one algorithm; with several constraints, about one of them
    while the others keep their limits.
    """

    task: str
    algorithm: str
    groups: tuple[Group, ...]
    profile: Profile | None
    frontier: Frontier | None
    slope: Slope | None
    regimes: tuple[Regime, ...]
    recommended: tuple[Recommendation, ...]
    published_limits: tuple[PublishedLimit, ...]
    limits: tuple[LimitFinding, ...]
    comparison: tuple[Cell, ...]
    pairs: tuple[Pair, ...]
    scatter: tuple[Seed, ...]
    notes: tuple[str, ...]
    """What cannot be concluded here, and why."""
    constraint: Constraint | None = field(default=None, metadata=IF_ANY)
    """The one that was looked at, where there are several."""
    critics: tuple[CriticBias, ...] = field(default=(), metadata=IF_ANY)
    """Of learners that log what their critics say as an episode begins."""

    def __repr__(self) -> str:
        named = _described(self)
        return f"TaskFindings({named}: {len(self.groups)} lambdas, {len(self.limits)} limits)"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from saddle.analysis.html import task_html

        return task_html(self)


@dataclass(frozen=True)
class RunCounts:
    """How many runs there are and how many count."""

    total: int
    used: int
    failed: int
    unfinished: int
    without_values: int


@dataclass(frozen=True, repr=False)
class Findings:
    """Everything about a study."""

    options: dict[str, Any]
    runs: RunCounts
    tasks: tuple[TaskFindings, ...]
    notes: tuple[str, ...]
    schema: int = SCHEMA
    joint: tuple[JointLambda, ...] = field(default=(), metadata=IF_ANY)
    """lambda* of tasks with several constraints, found together, for each set of limits."""
    until_decided: tuple[TaskDecisions, ...] = field(default=(), metadata=IF_ANY)
    """Of a study to which seeds are added until it is decided which rule to use."""

    def task(
        self,
        name: str | None = None,
        *,
        algorithm: str | None = None,
        constraint: str | None = None,
    ) -> TaskFindings:
        """What was found about one task: the only one, or the one that name, algorithm and the
        constraint's name tell apart from the others.
        """
        wanted = {"task": name, "algorithm": algorithm, "constraint": constraint}
        told = {key: value for key, value in wanted.items() if value is not None}
        found = [part for part in self.tasks if told.items() <= _identity(part).items()]
        if len(found) == 1:
            return found[0]
        there = "; ".join(_described(part) for part in found or self.tasks) or "no task"
        asked = ", ".join(f"{key} {value!r}" for key, value in told.items())
        if not found:
            raise SaddleError(f"nothing was found about {asked or 'any task'}; there is {there}")
        raise SaddleError(f"task() has to be told which of these is meant: {there}")

    def __repr__(self) -> str:
        parts = "; ".join(_described(part) for part in self.tasks)
        return f"Findings({self.runs.used} of {self.runs.total} runs: {parts})"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from saddle.analysis.html import findings_html

        return findings_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; names lose the trailing underscore that Python's keywords force on them."""
        return plain_values(self)

    def to_json(self, indent: int | None = None) -> str:
        """The findings as JSON, without NaN or infinity."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)


def _identity(part: TaskFindings) -> dict[str, str]:
    """What tells a part of the findings from the others."""
    names = {"task": part.task, "algorithm": part.algorithm}
    if part.constraint is not None:
        names["constraint"] = part.constraint.name
    return names


def _described(part: TaskFindings) -> str:
    return ", ".join(f"{key} {value!r}" for key, value in _identity(part).items())


def plain_values(value: Any) -> Any:
    """Findings, or a part of them, as plain values."""
    if dataclasses.is_dataclass(value):
        plain = {}
        for one in dataclasses.fields(value):
            found = getattr(value, one.name)
            if found or one.metadata != IF_ANY:
                plain[one.name.rstrip("_")] = plain_values(found)
        return plain
    if isinstance(value, tuple | list):
        return [plain_values(item) for item in value]
    if isinstance(value, dict):
        return {key: plain_values(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"findings hold {value}; what cannot be known must be None")
    return value
