"""What installed packages add: rules and learners, each named by an entry point."""

import difflib
import importlib.metadata
from collections.abc import Iterable, Iterator
from typing import Any

from saddle.errors import SaddleError
from saddle.references import because


def plugins(group: str, kind: type, what: str) -> Iterator[Any]:
    """The classes that packages name under a group, which are derived from `kind`; `what` says what
    they are, for the error.
    """
    for entry in importlib.metadata.entry_points(group=group):
        package = entry.dist.name if entry.dist else entry.module
        try:
            found = entry.load()
        except Exception as error:
            raise SaddleError(
                f"the {what} {entry.name!r} of the package {package} cannot be imported "
                f"({because(error)}); mend the package, or uninstall it"
            ) from error
        if not (isinstance(found, type) and issubclass(found, kind)):
            raise SaddleError(
                f"the {what} {entry.name!r} of the package {package} is not derived from "
                f"saddle.{kind.__name__}; mend the package, or uninstall it"
            )
        yield found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question after the message that a name is not known, if one that is known is like it."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
