"""Many comparisons of the same things, pair by pair: p-values corrected for their number.

Shaffer (1986) sharpens Holm's method by what cannot be: where a equals b and b equals c, a equals
c. Of the three pairs of three things either all are equal, or one, or none, so that once one pair
is told apart at most one of the other two is left.
"""

import functools
from collections.abc import Sequence


@functools.cache
def counts_of_equal_pairs(things: int) -> tuple[int, ...]:
    """How many pairs of so many things may be equal at once, rising: those within the groups of any
    way to group them.
    """
    if things == 0:
        return (0,)
    found = set()
    for size in range(1, things + 1):
        within = size * (size - 1) // 2
        found |= {within + rest for rest in counts_of_equal_pairs(things - size)}
    return tuple(sorted(found))


def shaffer(values: Sequence[float], things: int) -> list[float]:
    """p-values of every pair of so many things, corrected for their number, in the order given.

    However the tests depend on each other, the chance of any corrected value of an equal pair
    below 0.05 is at most 5 %.
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    possible = counts_of_equal_pairs(things)
    corrected = [0.0] * len(values)
    largest = 0.0
    for rank, i in enumerate(order):
        left = len(values) - rank
        equal = max(count for count in possible if count <= left)
        largest = max(largest, min(1.0, equal * values[i]))
        corrected[i] = largest
    return corrected
