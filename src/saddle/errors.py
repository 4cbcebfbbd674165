"""The exceptions that reach a person: a single line that says what is wrong and what to do."""

import difflib
from collections.abc import Iterable

RESUMED = "--resume, or resume=True"
"""With what a study is gone on with: on a command line, or in Python."""


class SaddleError(Exception):
    """Bad input. The command line prints its message and exits with code 2, without a traceback."""


class OutputError(SaddleError):
    """Standard output takes no more. Ends whatever prints, a study too: nobody would see how it
    goes on.
    """

    def __init__(self, message: str, reader_left: bool = False) -> None:
        super().__init__(message)
        # As with `saddle tasks | head`, which is no error to speak of
        self.reader_left = reader_left


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """A question to end a message that a name is not known, if one that is known is that much like
    it.
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"; did you mean {close[0]!r}?" if close else ""


def first_line(error: BaseException) -> str:
    """What an error says first, or its type where it says nothing."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next(filter(None, lines), type(error).__name__)
