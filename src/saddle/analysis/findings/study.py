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
from saddle.analysis.findings.values import IF_ANY

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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class RunCounts:
    """How many runs there are and how many count."""

    total: int
    used: int
    failed: int
    unfinished: int
    without_values: int


@dataclass(frozen=True)
class Findings:
    """Everything about a study."""

    options: dict[str, Any]
    runs: RunCounts
    tasks: tuple[TaskFindings, ...]
    notes: tuple[str, ...]
    schema: int = SCHEMA
    joint: tuple[JointLambda, ...] = field(default=(), metadata=IF_ANY)
    """lambda* of tasks with several constraints, found together, for each set of limits."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; names lose the trailing underscore that Python's keywords force on them."""
        return plain_values(self)

    def to_json(self, indent: int | None = None) -> str:
        """The findings as JSON, without NaN or infinity."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)


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
