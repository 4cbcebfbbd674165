"""Loops whose rows the threads of a team share: on a GPU several threads compute one world.

All of them compute everything alike, but of a shared loop each has only every so many-th row. So a
row's results may be read by another shared loop alone, in the same row; and what a shared loop
carries are sums that start from 0: those of the threads are then added up.
"""

from collections.abc import Callable
from typing import TypeVar

import jax

X = TypeVar("X")


def shared(loop: Callable[[], X]) -> X:
    """The result of `loop`, which is one scan; its name tells scalars.py."""

    def shared_rows() -> X:
        return loop()

    return jax.jit(shared_rows)()


SHARED = "shared_rows"
