"""Standard output and error, as a program meets them: closed, full, or with a reader that went
away.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any

from saddle.errors import OutputError

STANDARD = (0, 1, 2)  # file descriptors of input, output and error


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """A context in which standard output raises OutputError, and no other, when it takes no
    more.
    """
    _fill_closed()
    if sys.stdout is None:
        raise OutputError("standard output is closed; send it to a file, or to /dev/null")
    output = _Output(sys.stdout)
    with contextlib.redirect_stdout(output):  # type: ignore[type-var]
        yield
        output.flush()


def complain(message: str) -> None:
    """Print one line on standard error, if there is one that takes it."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(f"saddle: error: {message}", file=sys.stderr, flush=True)


def note(message: str) -> None:
    """Print one line on standard error that is no error, if there is one that takes it."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def note_at_once(message: str) -> None:
    """The same from within a signal's handler, which may have interrupted a `print`."""
    with contextlib.suppress(OSError):
        os.write(2, f"{message}\n".encode())


def _fill_closed() -> None:
    """Open descriptors that the parent closed on nothing: else the next file would be one, and be
    printed into.
    """
    for number in STANDARD:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


class _Output:
    """A stream whose failures to write are OutputErrors; all else is the stream's own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except UnicodeEncodeError:  # an encoding that lacks a sign, such as ASCII
            encoding = self._stream.encoding
            return self._stream.write(text.encode(encoding, "replace").decode(encoding))
        except OSError as error:
            raise self._lost(error) from None

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise self._lost(error) from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _lost(self, error: OSError) -> OutputError:
        """What went wrong. Python flushes once more when it ends: let that go nowhere."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        why = error.strerror or str(error)
        advice = "send it to a place that takes it"
        return OutputError(
            f"cannot write to standard output: {why}; {advice}", error.errno == errno.EPIPE
        )
