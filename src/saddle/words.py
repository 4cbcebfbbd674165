"""Numbers in sentences."""

import math

MOST_DIGITS = 9


def counted(count: int, noun: str, plural: str = "") -> str:
    """'1 seed', '3 seeds'; where an s does not make the plural, it is given: '1 cell has', '2 cells
    have'.
    """
    word = noun if count == 1 else plural or f"{noun}s"
    return f"{count} {word}"


def scientific(value: float) -> str:
    """Two digits and a power of ten: 8.0e6."""
    digits, power = f"{value:.1e}".split("e")
    return f"{digits}e{int(power)}"


def plus_minus(value: float, spread: float) -> str:
    """A number and how far it is uncertain or scatters, with two digits of that, and never fewer
    than two behind the point: costs of 1e-4 are not 0.00.
    """
    told = abs(spread) or abs(value)
    digits = 2
    if 0 < told < 1:
        digits = min(max(1 - math.floor(math.log10(told)), 2), MOST_DIGITS)
    return f"{value:.{digits}f} ± {spread:.{digits}f}"


def setting(value: object) -> str:
    """A setting's value as names and legends write it: on, 0.001, 64x64."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return "x".join(setting(entry) for entry in value)
    return str(value)
