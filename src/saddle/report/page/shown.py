"""Values as a page holds them: short."""

from typing import Any

NOT_SHOWN = {"violations", "attainment", "crossings"}  # the page does without them, at any depth
MOST_WHOLE = 1e15  # beyond, a number in JSON is no longer exact


def shown(value: Any) -> Any:
    """Plain values with six digits, whole numbers without a point: half the size, and more than a
    page shows.
    """
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items() if key not in NOT_SHOWN}
    if isinstance(value, list | tuple):
        return [shown(item) for item in value]
    if isinstance(value, float):
        short = float(f"{value:.6g}")
        return int(short) if short.is_integer() and abs(short) < MOST_WHOLE else short
    return value
