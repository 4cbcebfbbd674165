"""References 'module:attribute': what somebody's own module defines, imported when it is needed and
not before.
"""

import contextlib
import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from saddle.errors import SaddleError, did_you_mean, first_line

Tell = Callable[[str], None]


def _silent(text: str) -> None:
    """Who uses Saddle from Python knows what is imported."""


_tell: Tell = _silent
_told: set[str] = set()


@contextlib.contextmanager
def announcing(tell: Tell) -> Iterator[None]:
    """A context in which `tell` hears, once for each reference, which module is loaded for it,
    before it is.
    """
    global _tell
    before = _tell
    _tell = tell
    _told.clear()
    try:
        yield
    finally:
        _tell = before


def is_reference(name: str) -> bool:
    """Whether a name refers to a module's attribute, as 'my_package.tasks:Corridor' does."""
    return ":" in name


def last_part(name: str) -> str:
    """What a reference names within its module, without options; any other name as it is."""
    return name.partition("?")[0].rpartition(":")[2]


def file_name(name: str) -> str:
    """A name or reference as part of a file's name on any system. Of options, which may be long,
    it has a short sum.
    """
    before, _, options = name.partition("?")
    safe = re.sub(r"[^\w.-]+", "-", before, flags=re.ASCII)
    return f"{safe}-{sum_of(options)}" if options else safe


def run_name(name: str) -> str:
    """The same for names of runs, whose parts are divided by '-'."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", file_name(name))


def sum_of(text: str) -> str:
    """A short sum of a text, as part of a name."""
    return hashlib.blake2s(text.encode(), digest_size=3).hexdigest()


def reference_to(thing: Any) -> str:
    """The reference by which another process finds a class or function."""
    return f"{thing.__module__}:{thing.__qualname__}"


def module_of_file(path: str) -> str | None:
    """The module that a file of Python is, seen from the current folder: my/tasks.py is my.tasks.
    None for what is no such file's name.
    """
    if not path.endswith(".py"):
        return None
    return ".".join(Path(path).with_suffix("").parts)


def parse(reference: str, what: str) -> tuple[str, str]:
    """Module and attribute, which may be dotted. `what` is the kind of thing that is looked for,
    for the error.
    """
    module, _, attribute = reference.partition(":")
    meant = module_of_file(module)
    if meant is not None:
        raise SaddleError(f"{reference!r} names a file; write its module: {meant}:{attribute}")
    parts = [*module.split("."), *attribute.split(".")]
    if not all(part.isidentifier() for part in parts):
        raise SaddleError(
            f"{reference!r} names no {what}: write module:attribute, as in "
            f"my_package.{what}s:{what.capitalize()}"
        )
    return module, attribute


def load(
    reference: str, what: str, called: str | None = None, here: bool = True, quiet: bool = False
) -> Any:
    """What the reference refers to. Every way to get it wrong is one line.

    called: the name under which it was asked for, the reference itself by default. here: whether
    the current directory counts, as with `python -m`. quiet: do not announce it.
    """
    module_name, attribute = parse(reference, what)
    called = called or reference
    if not quiet:
        announce(module_name, called)
    if here:
        _add_current_directory()
    module = _imported(module_name, what, called)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise SaddleError(f"{module_name} has no {attribute!r}{_nearest(attribute, module)}")
        found = getattr(found, part)
    return found


def because(error: BaseException) -> str:
    """An error of somebody else's code in one line: its type, and the first line that it says."""
    message = first_line(error)
    kind = type(error).__name__
    if isinstance(error, SaddleError) or message == kind:
        return message
    return f"{kind}: {message}"


def announce(module: str, called: str) -> None:
    """Say once which module is loaded for what was asked for."""
    if called not in _told:
        _told.add(called)
        _tell(f"loading {module} for {called}")


def _add_current_directory() -> None:
    with contextlib.suppress(OSError):  # it may have been removed
        here = str(Path.cwd())
        if here not in sys.path and "" not in sys.path:
            sys.path.insert(0, here)


def _imported(name: str, what: str, called: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise SaddleError(
                f"there is no module {error.name!r} here, which the {what} {called} comes from; "
                f"install its package, "
                "or run from the folder that holds it"
            ) from None
        reason: BaseException = error
    except (Exception, SystemExit) as error:
        reason = error
    raise SaddleError(
        f"{name}, which the {what} {called} comes from, cannot be imported ({because(reason)})"
    ) from reason


def _nearest(attribute: str, module: ModuleType) -> str:
    public = [name for name in vars(module) if not name.startswith("_")]
    return did_you_mean(attribute, public)
