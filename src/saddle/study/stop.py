"""When a running study stops: at a time limit, or when somebody asks it to. Both end after the epoch at hand."""

import re
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

from saddle.errors import SaddleError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float:
    """A duration such as 90, 90s, 9m, 1h30m, in seconds."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text or any(not u for _, u in parts[:-1]):
        raise SaddleError(f"{text!r} is not a duration; write for example 90s, 9m or 1h30m")
    return sum(float(number) * _UNITS[unit or "s"] for number, unit in parts)


class Stopper:
    """Listens for SIGINT and SIGTERM while it is a context. A second signal stops at once, as without it."""

    def __init__(self, limit: float | None = None) -> None:
        self._deadline = None if limit is None else time.monotonic() + limit
        self._old: dict[int, Any] = {}
        self.signal: int | None = None

    def __enter__(self) -> "Stopper":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._old[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._restore()

    def before(self, seconds: float) -> bool:
        """Whether work that takes so many seconds should not begin any more."""
        return self.signal is not None or (self._deadline is not None and time.monotonic() + seconds >= self._deadline)

    @property
    def why(self) -> str:
        """The reason, for a person."""
        return f"asked by {signal.Signals(self.signal).name}" if self.signal else "the time limit is reached"

    @property
    def left(self) -> float | None:
        """Seconds to the time limit."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._restore()

    def _restore(self) -> None:
        for number, old in self._old.items():
            signal.signal(number, old)
        self._old = {}
