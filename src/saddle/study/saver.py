"""Checkpoints written while the next epochs run: a large population's takes seconds, which nobody should wait for."""

import threading
import time
from pathlib import Path
from typing import Any

from saddle.errors import SaddleError
from saddle.study.atomic import StoreError, store_error
from saddle.study.program import UnitProgram


class Saver:
    """Writes one unit's checkpoints in a thread, one at a time. An error waits until somebody looks."""

    def __init__(self, program: UnitProgram, path: Path) -> None:
        self._program, self._path = program, path
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self.seconds = 0.0  # that the last one took

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, state: Any, facts: dict[str, Any]) -> None:
        """Copy the state, and begin to write the copy. Waits for the one before, and raises its error."""
        self.wait()
        copied = self._program.snapshot(state)
        self._thread = threading.Thread(target=self._write, args=(copied, facts), daemon=True, name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Until nothing is being written; raises what went wrong."""
        self.join()
        error, self._error = self._error, None
        if isinstance(error, OSError):
            raise store_error(self._path, error) from None
        if isinstance(error, SaddleError):
            raise StoreError(str(error)) from None
        if error is not None:
            raise error

    def join(self) -> None:
        """Until nothing is being written."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _write(self, state: Any, facts: dict[str, Any]) -> None:
        began = time.monotonic()
        try:
            self._path.parent.mkdir(exist_ok=True)
            self._program.save(self._path, state, facts)
        except Exception as error:
            self._error = error
        self.seconds = time.monotonic() - began
