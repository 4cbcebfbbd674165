"""The parity table as data: errors and agreements of one task, each held against what we claim."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from saddle.parity import events, regimes, tolerances
from saddle.parity.agreement import Agreement
from saddle.parity.compare import Outcome, Precision, errors
from saddle.parity.golden import Golden
from saddle.parity.tolerances import Bounds, Criterion

PERCENTILES = (50, 90, 99, 100)
_REWARD_SLACK = {"float32": 1e-5, "float64": 1e-12}


@dataclass(frozen=True)
class Line:
    """Errors of one quantity over the rows of one regime."""

    regime: str
    quantity: str
    rows: int
    percentiles: tuple[float, ...]  # of the error, at PERCENTILES
    # The column we stand by: "exact" or, in float64, "double"; "" where nothing is asked
    claimed: str
    bounds: Bounds  # of that column
    reached: str  # the best column whose bounds hold, or "none"
    passed: bool


@dataclass(frozen=True)
class Report:
    """Everything about one task."""

    task: str
    precision: Precision
    rows: int
    left_out: int  # rows that are in no line, since rounding decides them
    lines: tuple[Line, ...]
    agreements: tuple[Agreement, ...]
    engine: str = "jax"
    # What is the matter with the rows that were left out
    why: str = "a contact switches within 1e-6 m"

    @property
    def passed(self) -> bool:
        """Every claim holds."""
        return all(line.passed for line in self.lines) and all(a.passed for a in self.agreements)

    def as_dict(self) -> dict[str, Any]:
        """For JSON. An infinite error (our state was not finite) becomes null."""
        found: dict[str, Any] = asdict(self) | {"passed": self.passed}
        for line, data in zip(self.lines, found["lines"], strict=True):
            finite = (value if math.isfinite(value) else None for value in line.percentiles)
            data["percentiles"] = dict(zip(map(str, PERCENTILES), finite, strict=True))
            data["bounds"] = [bound._asdict() for bound in line.bounds]
        for agreement, data in zip(self.agreements, found["agreements"], strict=True):
            data["passed"] = agreement.passed
        return found


def judge(golden: Golden, out: Outcome, precision: Precision) -> Report:
    """Every criterion and every shown quantity of the task, regime by regime."""
    found = errors(golden, out)
    kept = ~events.switching(golden)
    lines = []
    for regime, rows in regimes.masks(golden).items():
        for quantity in tolerances.quantities(golden.task, regime):
            values = found[quantity][rows & kept] if quantity in found else np.zeros(0)
            values = values[~np.isnan(values)]
            if len(values):
                criterion = tolerances.criterion(golden.task, regime, quantity)
                lines.append(line(criterion, regime, quantity, values, precision))
    counted = events.agreements(golden, out, found, _REWARD_SLACK[precision])
    return Report(
        golden.task, precision, golden.rows, int((~kept).sum()), tuple(lines), tuple(counted)
    )


def line(
    criterion: Criterion | None,
    regime: str,
    quantity: str,
    values: np.ndarray,
    precision: Precision,
) -> Line:
    """The errors `values` [n] of one quantity, held against a criterion if there is one."""
    # The smallest error that so many rows do not exceed: no interpolation, so that an infinite one
    # stays infinite.
    percentiles = tuple(float(p) for p in np.percentile(values, PERCENTILES, method="inverted_cdf"))
    columns = _columns(criterion, precision)
    if not columns:
        return Line(regime, quantity, len(values), percentiles, "", (), "", True)
    name = "double" if "double" in columns else "exact"
    holds = {name: all(bound.holds(values) for bound in bounds) for name, bounds in columns.items()}
    reached = next((name for name, held in holds.items() if held and columns[name]), "none")
    return Line(
        regime, quantity, len(values), percentiles, name, columns[name], reached, passed=holds[name]
    )


def _columns(found: Criterion | None, precision: Precision) -> dict[str, Bounds]:
    """The columns that apply, best first."""
    if found is None:
        return {}
    if precision == "float64" and found.double is not None:
        return {"double": found.double}
    return {
        "exact": found.exact,
        "reduced": found.exact if found.reduced is None else found.reduced,
    }
