"""How far a long command is, on stderr: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

EVERY = 10.0  # seconds between two lines


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show `what` with how many of `total` are through; what is yielded takes that number."""
    screen = Console(stderr=True, highlight=False, emoji=False)
    if not screen.is_terminal:
        yield _Lines(what, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda done: progress.update(bar, completed=done)


class _Lines:
    """A line at the beginning, at the end, and between them when the last one is old."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._say(0)

    def __call__(self, done: int) -> None:
        if done == self._total or time.monotonic() - self._said >= EVERY:
            self._say(done)

    def _say(self, done: int) -> None:
        self._said = time.monotonic()
        print(f"{self._what}: {done}/{self._total}", file=sys.stderr, flush=True)
