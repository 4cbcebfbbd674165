"""Checks of settings, each with the one line that says what is wrong."""

import math
from typing import Any

from saddle.errors import SaddleError


def at_least(settings: Any, field: str, least: float) -> None:
    """Refuse a setting below `least`, or one that is not finite; of several numbers, each."""
    value = getattr(settings, field)
    for number in value if isinstance(value, tuple) else (value,):
        if not math.isfinite(number):
            raise SaddleError(f"{field} is {value}; it must be finite, {least:g} or more")
        if not number >= least:
            raise SaddleError(f"{field} is {value}; it must be {least:g} or more")


def positive(settings: Any, field: str) -> None:
    """Refuse a setting that is not above 0."""
    value = getattr(settings, field)
    if not value > 0:
        raise SaddleError(f"{field} is {value}; it must be positive")


def positive_and_finite(settings: Any, field: str) -> None:
    """Refuse a setting that is not above 0, or not finite."""
    positive(settings, field)
    at_least(settings, field, 0.0)


def not_below(settings: Any, field: str, other: str) -> None:
    """Refuse a setting below another one, or one that is not finite."""
    value, least = getattr(settings, field), getattr(settings, other)
    if not value >= least or not math.isfinite(value):
        raise SaddleError(f"{field} is {value}; it must be {other} ({least:g}) or more")


def layers(settings: Any, field: str) -> None:
    """Refuse widths of layers that make no network."""
    value = getattr(settings, field)
    if not value or min(value) < 1:
        raise SaddleError(
            f"{field} is {value}; it must name at least one layer, each of width 1 or more"
        )


def a_share(settings: Any, field: str) -> None:
    """Refuse a setting outside [0, 1]."""
    value = getattr(settings, field)
    if not 0 <= value <= 1:
        raise SaddleError(f"{field} is {value}; it must lie in [0, 1]")
