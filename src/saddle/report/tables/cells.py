"""What cells of a table say of a finding, as words and as numbers."""

from collections.abc import Sequence
from typing import Any

from saddle.analysis.constraints import title
from saddle.analysis.findings import Estimate, TaskFindings
from saddle.analysis.text import lambdas, plain
from saddle.multipliers import label
from saddle.report.style import heading


def head(part: TaskFindings, first: bool, which: str) -> tuple[str, str]:
    """How a row begins: task and learner, in the first of their rows alone; limit or lambda."""
    name = f"{heading(part)} ({part.algorithm})" if first else ""
    return name, which


def whose(part: TaskFindings) -> dict[str, Any]:
    """Task and algorithm, and the constraint where there are several."""
    own: dict[str, Any] = {"task": part.task, "algorithm": part.algorithm}
    if part.constraint:
        own["constraint"] = title(part.constraint)
    return own


def rule_at(rule: str, lambda_: float | None, others: Sequence[float] = ()) -> str:
    """A rule's label, and the lambda that it is fixed at; of several constraints, their lambdas."""
    if lambda_ is None:
        return label(rule)
    return f"{label(rule)} = {lambdas(lambda_, others)}"


def spread(mean: float | None, sd: float | None) -> str:
    """Mean and SD, with as many digits as the mean's size asks for."""
    if mean is None:
        return ""
    digits = 2
    if abs(mean) >= 100:
        digits = 1
    if abs(mean) >= 1000:
        digits = 0
    if sd is None:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {sd:.{digits}f}"


def ranged(found: Estimate) -> str:
    """A number and its interval, as far as they are known."""
    if found.value is None:
        return ""
    if found.lo is None and found.hi is None:
        return plain(found.value)
    lo = "…" if found.lo is None else plain(found.lo)
    hi = "…" if found.hi is None else plain(found.hi)
    return f"{plain(found.value)} [{lo}, {hi}]"


def percent(found: Estimate) -> str:
    """A share and its interval; nothing where either is not known."""
    if found.value is None or found.lo is None or found.hi is None:
        return ""
    return f"{found.value:z.0%} [{found.lo:z.0%}, {found.hi:z.0%}]"


def ends(name: str, found: Estimate) -> dict[str, float | None]:
    """The numbers of an estimate, by their columns."""
    return {name: found.value, f"{name}_lo": found.lo, f"{name}_hi": found.hi}
