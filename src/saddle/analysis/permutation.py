"""Two-sample permutation tests of a difference of means.

If two samples come from one distribution, every way of dealing their values out to them is as
likely as the one that was seen, whatever that distribution is: the p-value is the share of deals
whose difference of means is at least as large. Few values are dealt out in every way; of many, a
fixed number of deals is drawn, the one that was seen counted among them, which keeps the p-value
exact on average over draws.
"""

import functools
import itertools
import math

import numpy as np
from jaxtyping import Float

MOST_DEALS = 100_000
"""So many are tried one by one; if there are more, so many are drawn."""

ROUNDING = 1e-9
"""Differences that are closer than this share of all values' size are equal."""


def deals(first: int, second: int) -> int:
    """In how many ways values can be dealt out to samples of these sizes; samples of one size that
    change places make no other way.
    """
    ways = math.comb(first + second, first)
    return ways // 2 if first == second else ways


def smallest_p(first: int, second: int, most: int = MOST_DEALS) -> float:
    """The smallest p-value that samples of these sizes can have."""
    return 1 / min(deals(first, second), most)


def p_values(
    first: Float[np.ndarray, "pairs first"],
    second: Float[np.ndarray, "pairs second"],
    most: int = MOST_DEALS,
) -> Float[np.ndarray, " pairs"]:
    """Two-sided p-value of each pair of samples; 1 where a sample is empty.

    It depends neither on which sample is called the first nor on the order of values.
    """
    few, many = first, second
    if first.shape[1] > second.shape[1]:
        few, many = second, first
    sizes = few.shape[1], many.shape[1]
    if sizes[0] == 0:
        return np.ones(len(few))
    pooled = np.sort(np.concatenate([few, many], axis=1), axis=1)
    middle = pooled.mean(axis=1, keepdims=True)
    centred = pooled - middle
    seen = np.abs((few - middle).sum(axis=1))
    dealt = np.abs(_dealt(*sizes, most) @ centred.T)
    slack = ROUNDING * np.abs(centred).sum(axis=1)
    as_large = (dealt >= seen - slack).sum(axis=0)
    if deals(*sizes) > most:
        return (as_large + 1) / most
    return as_large / len(dealt)


@functools.lru_cache(maxsize=8)
def _dealt(first: int, second: int, most: int) -> Float[np.ndarray, "deals values"]:
    """Which of all values a deal gives to the first sample: 1, else 0."""
    size = first + second
    if deals(first, second) > most:
        rng = np.random.default_rng([first, second])
        order = rng.random((most - 1, size)).argsort(axis=1)
        chosen = order[:, :first]
    elif first == second:  # those that hold the first value: the others are their mirror images
        rest = itertools.combinations(range(1, size), first - 1)
        chosen = np.array([(0, *some) for some in rest])
    else:
        chosen = np.array(list(itertools.combinations(range(size), first)))
    dealt = np.zeros((len(chosen), size))
    np.put_along_axis(dealt, chosen, 1.0, axis=1)
    return dealt
