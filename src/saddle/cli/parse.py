"""Parsing apart from running: a mistake in a command line is one line, and nothing is called."""

import contextlib
import errno
import functools
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from saddle.cli.mistakes import Mistake
from saddle.cli.verbs import Verbs
from saddle.errors import SaddleError


def parse(verbs: Verbs, description: str, argv: Sequence[str]) -> functools.partial[Any]:
    """The call that a command line asks for. Prints help and leaves by SystemExit(0) where that is
    asked for.
    """
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            call = verbs.parsed(argv, description)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise SaddleError(Mistake(verbs, argv).line()) from None
    for path in _paths_in(call):
        _check_path(path)
    return call


def _paths_in(call: functools.partial[Any]) -> Iterator[Path]:
    """Paths among the values of options, which may be several of one option."""
    for value in (*call.args, *call.keywords.values()):
        values = value if isinstance(value, tuple) else (value,)
        for one in values:
            if isinstance(one, Path):
                yield one


def _check_path(path: Path) -> None:
    """It may be there or not, but it is a path that the system can look up."""
    try:
        full = path.absolute()
    except FileNotFoundError:
        raise SaddleError("the current folder is gone; change to one that exists") from None
    try:
        full.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise SaddleError(
                f"the name {path.name[:20]}... is too long for a file; choose a shorter one"
            ) from None
