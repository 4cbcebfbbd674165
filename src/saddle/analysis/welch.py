"""Whether two means differ, when of both only mean, SD and count are known; and of many such
questions, which answers survive. Tests hold both to SciPy and statsmodels.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy.special import stdtr

SURE = 0.05
"""A p-value below this tells two means apart."""


class Sample(NamedTuple):
    """What is known of some seeds."""

    mean: float
    sd: float | None
    """With n - 1; None of one seed."""
    seeds: int


class Welch(NamedTuple):
    """A test that two means are equal, whatever the variances."""

    t: float
    """The first mean minus the second, in standard errors of that difference."""
    degrees: float
    """Of freedom, by Welch and Satterthwaite."""
    p: float
    """Of a difference at least as large in either direction, if the means are equal."""


def welch(first: Sample, second: Sample) -> Welch | None:
    """Welch's t-test. None where a sample has no SD, or where nothing varies."""
    if first.sd is None or second.sd is None:
        return None
    errors = [sample.sd**2 / sample.seeds for sample in (first, second) if sample.sd is not None]
    variance = sum(errors)
    if variance == 0:
        return None
    t = (first.mean - second.mean) / math.sqrt(variance)
    counts = (first.seeds - 1, second.seeds - 1)
    shares = [error / variance for error in errors]
    degrees = 1 / sum(share**2 / count for share, count in zip(shares, counts, strict=True))
    return Welch(t, degrees, float(2 * stdtr(degrees, -abs(t))))


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected for their number by Holm's method, in the order given.

    However the tests depend on each other, the chance of any corrected value below 0.05 is at most
    5 % if every hypothesis is true.
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    corrected = [0.0] * len(values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[i]))
        corrected[i] = largest
    return corrected
