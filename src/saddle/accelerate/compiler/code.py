"""What code for one world is written with, whatever the machine (ptx.py, llvm.py)."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import numpy as np

COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


class Register:
    """A number that is computed while the program runs."""

    __slots__ = ("dtype", "name")

    def __init__(self, name: str, dtype: Any) -> None:
        self.name, self.dtype = name, np.dtype(dtype)


class Slot:
    """A number in memory: word `at` from the address in `base`, or from the start."""

    __slots__ = ("at", "base", "dtype")

    def __init__(self, at: int, dtype: Any, base: Register | None = None) -> None:
        self.at, self.dtype, self.base = at, np.dtype(dtype), base


class Memory:
    """How much memory of its own a world needs: blocks that follow each other share it."""

    def __init__(self) -> None:
        self.words = self.most_words = 0

    def reserve(self, words: int) -> int:
        """The first of so many words of memory, which are free again where the block around
        ends.
        """
        self.words += words
        self.most_words = max(self.most_words, self.words)
        return self.words - words

    @contextmanager
    def block(self) -> Iterator[None]:
        """Code whose memory nothing uses after it."""
        start = self.words
        yield
        self.words = start


class Code(Protocol):
    """A program under construction. Numbers are known (numpy scalars), in registers, or in the
    world's own memory.
    """

    native: frozenset[str]  # elementwise operations that need not be made of others
    team: int  # threads that compute one world

    def rank(self) -> Register:
        """Which of its team this thread is, from 0."""
        ...

    def add_up(self, x: Register) -> Register:
        """The sum of the team's numbers x, the same for all."""
        ...

    def label(self) -> str:
        """A new name for a place."""
        ...

    def place(self, label: str) -> None:
        """The label stands here."""
        ...

    def branch(self, label: str, when: Any = None, unless: bool = False) -> None:
        """Go to the label: always, or where a bool holds (or does not)."""
        ...

    def reserve(self, words: int) -> int:
        """The first of so many words of memory, which are free again where the block around
        ends.
        """
        ...

    def block(self) -> AbstractContextManager[None]:
        """Code whose memory nothing uses after it."""
        ...

    def emit(
        self, name: str, numbers: Sequence[Any], dtype: Any, params: dict[str, Any]
    ) -> Register:
        """An elementwise operation; numbers are known or in registers."""
        ...

    def register(self, dtype: Any) -> Register:
        """A number to be set later."""
        ...

    def variable(self, x: Any) -> Register:
        """A number that starts as x and can be set again."""
        ...

    def copy(self, target: Register, x: Any) -> None:
        """Set a number that loops or branches share."""
        ...

    def load(self, slot: Slot) -> Register:
        """A number from memory."""
        ...

    def store(self, slot: Slot, x: Any) -> None:
        """A number to memory."""
        ...

    def row(self, index: Any, words: int, base: Register | None = None) -> Register:
        """Where index * words after base lies, or after the start."""
        ...
