"""At how many multipliers a frontier is looked at, where nobody says."""

COUNTS = {1: 9, 2: 5}
"""Of each constraint, by how many constraints there are: every combination is looked at."""

LEAST_COUNT = 3
"""With more constraints."""


def usual_count(constraints: int) -> int:
    """Multipliers of each of so many constraints."""
    return COUNTS.get(constraints, LEAST_COUNT)
