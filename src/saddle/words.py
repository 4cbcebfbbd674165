"""Numbers in sentences."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """'1 seed', '3 seeds'; where an s does not make the plural, it is given: '1 cell has', '2 cells have'."""
    word = noun if count == 1 else plural or f"{noun}s"
    return f"{count} {word}"


def scientific(value: float) -> str:
    """Two digits and a power of ten: 8.0e6."""
    digits, power = f"{value:.1e}".split("e")
    return f"{digits}e{int(power)}"
