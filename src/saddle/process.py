"""Whether this process is a `saddle` command, and since when.

A command's time limit counts from its start, and may end its process. A call from Python owns
neither.
"""

import contextlib
import signal
import time

_BEGAN = time.monotonic()
_is_command = False


def becomes_command() -> None:
    """Say that the process is a command: it ends when the command does."""
    global _is_command
    _is_command = True


def leaves() -> None:
    """Say that the command is over: a signal that comes while the process leaves ends it at once,
    without a traceback of what libraries do at their exit.
    """
    if _is_command:
        with contextlib.suppress(ValueError):  # only the main thread has a say in signals
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def began() -> float | None:
    """When the command began, as `time.monotonic` counts; None where the process is not a
    command.
    """
    return _BEGAN if _is_command else None
