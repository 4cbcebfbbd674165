"""Groups in which members take a pass together, on the way from all of them to the last one.

A compiled program works on arrays of fixed sizes, so members that stopped early cost nothing only
if the others are gathered into smaller arrays. Each size is one more program to compile. Which
groups take a pass is looked up by how many members are still at it.
"""

import functools

import numpy as np

LARGEST = 250
"""Members in a group at most, on a GPU: the temporaries of more would not leave room enough."""
SHARES = (1.0, 0.5, 0.2, 0.08)
"""Sizes of a GPU's groups, as shares of the largest: what pays by the costs below, with the stops
of results/circle1-full-length and of SafetyPointGoal1-v0 at the same length.
"""
SMALLEST = 12
"""Members in a group at least: a smaller one would take about as long."""
START = 18.0
"""A group takes as long as if it had so many members more. On an H200 20 passes of 35 members took
0.495 s and of 250 members 2.5 s (docs/explanation/performance.md).
"""
GATHERING = 1.05
"""A group that is gathered and put back takes so many times as long as one in place."""


def sizes(backend: str, members: int) -> tuple[int, ...]:
    """Sizes of groups, the largest first. On a CPU members take passes one by one, since its cores
    are busy with a single one.
    """
    if backend == "cpu":
        return (1,)
    groups = -(-members // LARGEST)
    largest = -(-members // groups)  # even ones: no places to fill up
    smaller = [round(share * largest) for share in SHARES[1:]]
    return (largest, *(size for size in smaller if size >= SMALLEST))


@functools.cache
def plan(sizes: tuple[int, ...], members: int) -> np.ndarray:
    """How many groups of each size take a pass while n members are active, for n from 0 to
    `members`: int32 [members + 1, sizes]. The cheapest that have a place for all n.
    """
    costs = [pass_cost(size, members) for size in sizes]
    cheapest = np.zeros(members + 1)
    groups = np.zeros((members + 1, len(sizes)), np.int32)
    for active in range(1, members + 1):
        left = [max(active - size, 0) for size in sizes]
        totals = [cost + cheapest[rest] for cost, rest in zip(costs, left, strict=True)]
        best = int(np.argmin(totals))
        cheapest[active] = totals[best]
        groups[active] = groups[left[best]]
        groups[active, best] += 1
    return groups


def pass_cost(size: int, members: int) -> float:
    """Of one group: its time in that of one member among many."""
    in_place = size == members
    return (size + START) * (1.0 if in_place else GATHERING)
