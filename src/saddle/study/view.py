"""What a running study shows: bars on a terminal and in a notebook, lines elsewhere, JSON lines for
machines.
"""

import json
import time
from types import TracebackType

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from saddle import notebook
from saddle.console import console
from saddle.study.listener import EpochDone
from saddle.study.status import duration
from saddle.words import counted

EVERY = 10.0  # seconds between two lines about the same unit
WIDE = 120  # columns of a terminal that has room for a bar and the pace beside the numbers


class Bars:
    """A bar per unit."""

    def __init__(self) -> None:
        screen = console()
        whole = Column(no_wrap=True)
        unit = TextColumn("{task.description}", table_column=Column(overflow="fold"))
        epochs = TextColumn("{task.completed:.0f}/{task.total:.0f} epochs")
        columns: list[ProgressColumn] = [unit, epochs, TimeRemainingColumn(table_column=whole)]
        if screen.width >= WIDE:
            columns = [unit, BarColumn(), *columns[1:], TextColumn("{task.fields[pace]}")]
        self._progress = Progress(*columns, console=screen)
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def epoch(self, done: EpochDone) -> None:
        """Move the unit's bar."""
        if done.unit not in self._bars:
            title = f"{done.unit} ({counted(len(done.runs), 'run')})"
            self._bars[done.unit] = self._progress.add_task(title, total=done.epochs, pace="")
        self._progress.update(
            self._bars[done.unit], completed=done.epoch, pace=f"{done.seconds:.1f} s an epoch"
        )

    def say(self, text: str) -> None:
        """Print above the bars."""
        self._progress.console.print(text, markup=False)


class Lines:
    """A line now and then."""

    def __init__(self) -> None:
        self._said: dict[str, float] = {}

    def __enter__(self) -> "Lines":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        return

    def epoch(self, done: EpochDone) -> None:
        """Print a line if the last is old, or the unit is through. The first epoch compiles: its
        time is no pace.
        """
        first = done.unit not in self._said
        last = done.epoch == done.epochs
        if not first and not last and time.monotonic() - self._said[done.unit] < EVERY:
            return
        self._said[done.unit] = time.monotonic()
        pace = ""
        if not first:
            left = duration(done.seconds * (done.epochs - done.epoch))
            pace = f", {done.seconds:.2f} s an epoch, {left} left"
        self.say(
            f"{done.unit}: {counted(len(done.runs), 'run')}, epoch {done.epoch} of "
            f"{done.epochs}{pace}"
        )

    def say(self, text: str) -> None:
        """Print it."""
        print(text, flush=True)


class JsonLines(Lines):
    """An object per epoch or message."""

    def epoch(self, done: EpochDone) -> None:
        """Print every epoch."""
        self._print(
            event="epoch",
            unit=done.unit,
            epoch=done.epoch,
            epochs=done.epochs,
            members=len(done.runs),
            seconds=round(done.seconds, 4),
        )

    def say(self, text: str) -> None:
        """Print the message."""
        self._print(event="message", text=text)

    def _print(self, **fields: object) -> None:
        print(json.dumps(fields), flush=True)


class NotebookBars:
    """A bar per unit, in a notebook."""

    def __init__(self) -> None:
        self._bars: dict[str, notebook.Bar] = {}

    def epoch(self, done: EpochDone) -> None:
        """Move the unit's bar."""
        first = done.unit not in self._bars
        if first:
            title = f"{done.unit} ({counted(len(done.runs), 'run')}), epochs"
            self._bars[done.unit] = notebook.Bar(title, done.epochs)
        left = duration(done.seconds * (done.epochs - done.epoch))
        # The first epoch of a process compiles: its time is no pace.
        text = "" if first or done.epoch == done.epochs else f"{left} left"
        self._bars[done.unit](done.epoch, text)

    def say(self, text: str) -> None:
        """Print below the bars."""
        print(text)


def view(as_json: bool) -> Bars | Lines:
    """What suits where the output goes."""
    if as_json:
        return JsonLines()
    return Bars() if console().is_terminal else Lines()
