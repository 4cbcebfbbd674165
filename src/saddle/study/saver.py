"""Checkpoints written while the next epochs run: a large population's takes seconds, which nobody
should wait for.
"""

import threading
import time
from pathlib import Path
from typing import Any

from saddle.errors import SaddleError
from saddle.files import WriteError, write_error
from saddle.study.program import UnitProgram

# Bytes per second that a disk takes, before the first checkpoint was timed: rather too few
FIRST_BYTES_PER_SECOND = 1e8


class Saver:
    """Writes one unit's checkpoints in a thread, one at a time. An error waits until somebody
    looks.
    """

    def __init__(self, program: UnitProgram, path: Path) -> None:
        self._program, self._path = program, path
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._began = 0.0
        self._longest: float | None = None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._thread is not None and self._thread.is_alive()

    def seconds(self, state: Any) -> float:
        """How long it takes until a checkpoint of this state is written, if writing it begins now.

        That is what the longest one took so far; before the first was timed, what its size
        suggests. One that is still being written comes before it.
        """
        each = self._longest
        if each is None:
            each = self._program.size(state) / FIRST_BYTES_PER_SECOND
        if not self.busy:
            return each
        elapsed = time.monotonic() - self._began
        return max(each - elapsed, 0.0) + max(each, elapsed)

    def start(self, state: Any, facts: dict[str, Any]) -> None:
        """Copy the state, and begin to write the copy. Waits for the one before, and raises its
        error.
        """
        self.wait()
        self._began = time.monotonic()
        copied = self._program.snapshot(state)
        self._thread = threading.Thread(
            target=self._write, args=(copied, facts), daemon=True, name="checkpoint"
        )
        self._thread.start()

    def wait(self) -> None:
        """Until nothing is being written; raises what went wrong."""
        self.join()
        error, self._error = self._error, None
        if isinstance(error, OSError):
            raise write_error(self._path, error) from None
        if isinstance(error, SaddleError):
            raise WriteError(str(error)) from None
        if error is not None:
            raise error

    def join(self) -> None:
        """Until nothing is being written."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _write(self, state: Any, facts: dict[str, Any]) -> None:
        try:
            self._path.parent.mkdir(exist_ok=True)
            self._program.save(self._path, state, facts)
        except Exception as error:
            self._error = error
        self._longest = max(self._longest or 0.0, time.monotonic() - self._began)
