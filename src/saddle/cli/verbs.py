"""What the parser (tyro) is given: verbs whose calls it hands back, and verbs whose options depend
on the command line.
"""

import contextlib
import functools
import inspect
import io
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tyro.conf import FlagCreatePairsOff
from tyro.extras import SubcommandApp

Verb = Callable[..., Any]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Verbs(SubcommandApp):
    """Verbs that the parser does not call: it hands back the call, so that its errors are not mixed
    with theirs.
    """

    def command(self, func: Any, **options: Any) -> Any:
        """Register a function, or a group of verbs, as the parser's own `command` does."""
        group = isinstance(func, SubcommandApp)
        return super().command(func if group else _later(func), **options)

    def parsed(self, argv: Sequence[str], description: str = "") -> functools.partial[Any]:
        """The call that a command line asks for. Leaves by SystemExit after printing help, or what
        is wrong.
        """
        words = list(argv)
        config = (FlagCreatePairsOff,)
        return self.cli(prog="saddle", description=description, args=words, config=config)

    def printed(self, argv: Sequence[str]) -> str:
        """What the parser prints about a command line: where nothing is a terminal, without frames
        and colours.
        """
        shown = io.StringIO()
        with (
            contextlib.redirect_stdout(shown),
            contextlib.redirect_stderr(shown),
            contextlib.suppress(SystemExit),
        ):
            self.parsed(argv)
        return _COLOUR.sub("", shown.getvalue())


def _later(verb: Verb) -> Callable[..., functools.partial[Any]]:
    @functools.wraps(verb)
    def bound(*args: Any, **options: Any) -> functools.partial[Any]:
        return functools.partial(verb, *args, **options)

    return bound


class Option(NamedTuple):
    """An option of a verb, as the parser reads it."""

    type: Any
    default: Any


def with_options(verb: Verb, **options: Option) -> Verb:
    """The same verb with other types and defaults of these options.

    The parser reads options from a function's signature and annotations. It looks through
    `functools.wraps` at those of the function inside, so that this one is not made with it.
    """
    signature = inspect.signature(verb)
    parameters = dict(signature.parameters)
    for name, option in options.items():
        parameters[name] = parameters[name].replace(annotation=option.type, default=option.default)

    def call(*values: Any, **named: Any) -> Any:
        return verb(*values, **named)

    call.__name__ = verb.__name__
    call.__doc__ = verb.__doc__
    call.__annotations__ = {name: one.annotation for name, one in parameters.items()}
    call.__signature__ = signature.replace(parameters=list(parameters.values()))  # pyright: ignore[reportFunctionMemberAccess]
    return call
