"""When a running study stops: at a time limit, or when somebody asks it to.

Two things make a time limit hold. Work that would end after the limit is not begun: compiling, an
epoch, its checkpoint and leaving the process all count. And where a guess was wrong (a first
compilation takes as long as it takes), a watchdog ends the process at the limit. A store survives
that as it survives any kill: what was not saved is computed again, bit by bit the same.
"""

import contextlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, Protocol

from saddle.errors import SaddleError
from saddle.hints import Unfit, fitting

TIME_LIMIT = 3  # exit code
EXIT_SECONDS = 2.0  # that leaving the process may take: a GPU's runtime shuts down slowly
SHARE_FOR_EXIT = 0.1  # of the limit at most, so that short limits are not all exit
WATCHDOG_SECONDS = 0.5  # before the limit at which the watchdog bites

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float:
    """A duration such as 90, 90s, 9m, 1h30m, in seconds."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    whole = "".join(number + unit for number, unit in parts) == text
    if not parts or not whole or any(not unit for _, unit in parts[:-1]):
        raise SaddleError(f"{text!r} is not a duration; write for example 90s, 9m or 1h30m")
    return sum(float(number) * _UNITS[unit or "s"] for number, unit in parts)


def _check_limit(limit: Any) -> None:
    if limit is None:
        return
    try:
        allowed = fitting(limit, float)
    except Unfit:
        allowed = -1.0
    if not allowed >= 0:
        raise SaddleError(f"the time limit is {limit!r}; it must be in seconds, 0 or more")


class Stop(Protocol):
    """When to stop."""

    refused: bool
    """Whether work was left undone because it did not fit any more."""

    def before(self, seconds: float) -> bool:
        """Whether work that takes so many seconds should not begin any more."""
        ...


class Stopper:
    """Knows when to stop. As a context it listens for SIGINT and SIGTERM, and keeps the time limit.

    A first signal stops gently, after the epoch at hand; a second one at once, as without this.
    """

    def __init__(
        self,
        limit: float | None = None,
        began: float | None = None,
        watchdog: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """`limit` in seconds counts from `began`, a time of `time.monotonic`; from now if that is
        not given. What is no limit is refused. `tell` gets a line when a signal is heard, since an
        epoch may take a while.
        """
        _check_limit(limit)
        self._tell = tell
        self._deadline: float | None = None
        self._reserve = 0.0
        if limit is not None:
            self._deadline = (time.monotonic() if began is None else began) + limit
            self._reserve = min(EXIT_SECONDS, SHARE_FOR_EXIT * limit)
        self._watches = watchdog and limit is not None
        self._watchdog: _Watchdog | None = None
        self._old: dict[int, Any] = {}
        self.signal: int | None = None
        self.refused = False
        """Whether work was left undone because it did not fit any more."""

    def __enter__(self) -> "Stopper":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._old[number] = signal.signal(number, self._heard)
        self._watch()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._watch_no_more()
        self._restore()

    @contextlib.contextmanager
    def in_time(self) -> Iterator[None]:
        """A context for what comes after, such as drawing: it keeps the same time limit, but a
        signal ends it at once.
        """
        self._watch()
        try:
            yield
        finally:
            self._watch_no_more()

    def _watch(self) -> None:
        if self._watches and self._deadline is not None:
            self._watchdog = _Watchdog(self._deadline)
            self._watchdog.start()

    def _watch_no_more(self) -> None:
        if self._watchdog is not None:
            self._watchdog.end()

    def before(self, seconds: float) -> bool:
        """Whether work that takes so many seconds should not begin any more."""
        late = self.left is not None and seconds + self._reserve >= self.left
        stopping = late or self.signal is not None
        self.refused = self.refused or stopping
        return stopping

    def pass_on(self) -> None:
        """Do what a signal that was heard does without this: Ctrl-C is a KeyboardInterrupt, and
        SIGTERM comes again. Called after the context, when the program's own handlers are back.
        """
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal is not None:
            signal.raise_signal(self.signal)

    @property
    def why(self) -> str:
        """The reason, for a person."""
        if self.signal is not None:
            return f"asked by {signal.Signals(self.signal).name}"
        if self.left is not None and self.left > self._reserve:
            return "what comes next does not fit into the time limit"
        return "the time limit is reached"

    @property
    def exit_code(self) -> int:
        """Of a process that stopped: 3 at the time limit, 128 + n at signal n, as shells have
        it.
        """
        return TIME_LIMIT if self.signal is None else 128 + self.signal

    @property
    def left(self) -> float | None:
        """Seconds to the time limit."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._restore()
        if self._tell is not None:
            self._tell("stopping after the epoch at hand; Ctrl-C again stops at once")

    def _restore(self) -> None:
        for number, old in self._old.items():
            signal.signal(number, old)
        self._old = {}


class _Watchdog:
    """Ends the process at a deadline, wherever it is."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="time limit")

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def end(self) -> None:
        """What was watched is over in time."""
        self._over.set()

    def _watch(self) -> None:
        left = self._deadline - WATCHDOG_SECONDS - time.monotonic()
        if self._over.wait(max(0.0, left)):
            return
        show_cursor = "\x1b[?25h" if sys.stdout.isatty() else ""
        os.write(
            sys.stderr.fileno(),
            f"{show_cursor}saddle: ended at the time limit, in the middle of work; what was saved "
            f"stays, "
            "and --resume goes on from there\n".encode(),
        )
        os._exit(TIME_LIMIT)
