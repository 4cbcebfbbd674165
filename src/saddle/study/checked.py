"""Values of a file, checked as they are read: a mistake is answered with the file, the line and the
nearest name.
"""

import dataclasses
import difflib
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from saddle.errors import SaddleError
from saddle.study.lines import line_of

Place = tuple[str | int, ...]
"""Where a value is in a file: ("stages", 1, "limits")."""

_IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}


@dataclass(frozen=True)
class Source:
    """What is read. `at` is always the place of the value in hand, for the error's line."""

    name: str
    """The file's, or whatever else the values come from."""
    text: str = ""
    """The whole file, in which lines are looked up."""
    tables: Mapping[str, type] = field(default_factory=dict)
    """Its tables by name, as dataclasses: where else a key that is not known may belong."""

    def entries(self, value: Any, at: Place) -> list[Any]:
        """The value, which must be a list."""
        if not isinstance(value, list):
            raise self.error(at, f"{in_words(at)} must be a list")
        return value

    def tuple_of(self, kind: Any, value: Any, at: Place) -> tuple[Any, ...]:
        """The value, which must be a list with entries of that type."""
        return tuple(self.typed(kind, entry, at) for entry in self.entries(value, at))

    def typed(self, kind: Any, value: Any, at: Place) -> Any:
        """The value, which must be of that type: a class, or a hint of one."""
        if not _fits(value, kind):
            raise self.error(at, f"{in_words(at)} is {value!r}, but must be {_type_in_words(kind)}")
        return value

    def check_table(self, value: Any, at: Place) -> None:
        """The value is a table."""
        if not isinstance(value, dict):
            raise self.error(at, f"{in_words(at)} must be a table")

    def check_keys(self, kind: type, value: Any, at: Place, *more: str) -> None:
        """The value is a table with no keys but the fields of a dataclass, and `more`."""
        self.check_table(value, at)
        valid = [*more, *_field_names(kind)]
        for key in value:
            if key not in valid:
                hint = self._suggest(key, valid, at)
                raise self.error((*at, key), f"unknown key {key!r} in {in_words(at)}{hint}")

    def check_types(self, kind: type, table: Mapping[str, Any], at: Place) -> None:
        """The table's values are of the types that a dataclass has for its fields."""
        hints = typing.get_type_hints(kind)
        for key, value in table.items():
            self.typed(hints[key], value, (*at, key))

    def record(self, kind: type, value: Any, at: Place) -> Any:
        """A dataclass of plain fields from a table."""
        self.check_keys(kind, value, at)
        self.check_types(kind, value, at)
        return self.made(at, kind, **value)

    def made(self, at: Place, make: Callable[..., Any], /, *values: Any, **fields: Any) -> Any:
        """What `make` makes of these, with the line in front of what it finds wrong."""
        try:
            return make(*values, **fields)
        except SaddleError as error:
            raise self.error(at, str(error)) from None

    def error(self, at: Place, message: str) -> SaddleError:
        """What is wrong with the value at a place."""
        if message.startswith(self.name):
            return SaddleError(message)  # of an inner table, which knew its line
        line = line_of(self.text, at)
        where = f"{self.name}:{line}" if line else self.name
        return SaddleError(f"{where}: {message}")

    def _suggest(self, key: str, valid: Sequence[str], at: Place) -> str:
        close = difflib.get_close_matches(key, valid, n=1, cutoff=0.6)
        if close:
            return f"; did you mean {close[0]!r}?"
        for table, kind in self.tables.items():
            if key in _field_names(kind) and in_words(at) != table:
                return f"; it belongs into [{table}]"
        return f"; known are {', '.join(valid)}"


def in_words(at: Place) -> str:
    """A place as a person writes it: stages[1].limits."""
    if not at:
        return "the study"
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in at)
    return "".join(steps).lstrip(".")


def _field_names(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (types.UnionType, typing.Union)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of a file is of a type; a number may be whole, or the word "inf"."""
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if _is_union(hint):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        listed = isinstance(value, list | tuple)
        return listed and all(_fits(entry, arguments[0]) for entry in value)
    if hint is float:
        return value == "inf" or _is_number(value, int | float)
    if hint is int:
        return _is_number(value, int)
    return isinstance(value, hint)


def _is_number(value: Any, kind: Any) -> bool:
    """Of that type, but true and false, which Python counts as 1 and 0, are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _type_in_words(hint: Any) -> str:
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if origin is tuple:
        return f"a list, each entry {_type_in_words(arguments[0])}"
    if _is_union(hint):
        named = (one for one in arguments if one is not types.NoneType)
        return " or ".join(map(_type_in_words, named))
    return _IN_WORDS[hint]
