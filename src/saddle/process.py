"""Whether this process is a `saddle` command, and since when.

A command's time limit counts from its start, and may end its process. A call from Python owns
neither.
"""

import time

_BEGAN = time.monotonic()
_is_command = False


def becomes_command() -> None:
    """Say that the process is a command: it ends when the command does."""
    global _is_command
    _is_command = True


def began() -> float | None:
    """When the command began, as `time.monotonic` counts; None where the process is not a
    command.
    """
    return _BEGAN if _is_command else None
