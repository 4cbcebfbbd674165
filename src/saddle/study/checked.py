"""Values of a file, checked as they are read: a mistake is answered with the file, the line and the
nearest name.
"""

import dataclasses
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saddle import hints
from saddle.errors import SaddleError, did_you_mean
from saddle.study.lines import line_of

Place = tuple[str | int, ...]
"""Where a value is in a file: ("stages", 1, "limits")."""


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
        """The value, which must be a list with entries of that type, as a tuple of these."""
        return tuple(self.typed(kind, entry, at) for entry in self.entries(value, at))

    def typed(self, kind: Any, value: Any, at: Place) -> Any:
        """The value as one of that type: a class, or a hint of one."""
        try:
            return hints.fitting(value, kind)
        except hints.Unfit:
            wanted = hints.in_words(kind)
            raise self.error(at, f"{in_words(at)} is {value!r}, but must be {wanted}") from None

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

    def fields(self, kind: type, table: Mapping[str, Any], at: Place) -> dict[str, Any]:
        """The table's values as those of the types that a dataclass has for its fields."""
        wanted = typing.get_type_hints(kind)
        return {key: self.typed(wanted[key], value, (*at, key)) for key, value in table.items()}

    def record(self, kind: type, value: Any, at: Place) -> Any:
        """A dataclass of plain fields from a table."""
        self.check_keys(kind, value, at)
        return self.made(at, kind, **self.fields(kind, value, at))

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
        if near := did_you_mean(key, valid):
            return near
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
