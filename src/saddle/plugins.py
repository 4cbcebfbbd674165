"""What installed packages add: rules and learners, each named by an entry point."""

import importlib.metadata
from collections.abc import Iterator
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
