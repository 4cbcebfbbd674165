"""Values brought to the types that dataclasses have for their fields: those of files, of command
lines and of Python programs alike.
"""

import dataclasses
import functools
import math
import numbers
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from saddle.errors import SaddleError

_IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}


_SEVERAL = (tuple, Sequence)


class Unfit(ValueError):
    """A value is not of a type."""


def fitting(value: Any, hint: Any) -> Any:
    """The value as one of that type: numbers may be whole where any will do, or written as 1e6
    where whole ones are wanted, infinity may be the word "inf", and a list may stand for a tuple.

    Types that no setting here has are not looked at.
    """
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _fitting_one_of(value, arguments)
    if origin is Literal:
        return _checked(value, isinstance(value, str | int) and value in arguments)
    if hint == Sequence[int] and _is_range(value):
        return value  # it may be longer than memory has room for
    if origin in _SEVERAL:
        _checked(value, isinstance(value, list | tuple))
        return tuple(fitting(entry, arguments[0]) for entry in value)
    if hint is float:
        number = math.inf if isinstance(value, str) and value == "inf" else value
        return float(_checked(number, _is_number(number)))
    if hint is int:
        is_whole = _is_number(value) and math.isfinite(value) and value == int(value)
        return int(_checked(value, is_whole))
    if isinstance(hint, type):
        return _checked(value, isinstance(value, hint))
    return value


def listed(value: Any) -> Any:
    """What Python programs have several values in, such as an array, as a list; tuples, lists,
    ranges and what is no such thing as they are.
    """
    is_one = isinstance(value, str | bytes | Mapping | list | tuple | range)
    return list(value) if isinstance(value, Iterable) and not is_one else value


def _fitting_one_of(value: Any, hints: tuple[Any, ...]) -> Any:
    for hint in hints:
        try:
            return fitting(value, hint)
        except Unfit:
            continue
    raise Unfit


def _checked(value: Any, fits: bool) -> Any:
    if not fits:
        raise Unfit
    return value


def _is_range(value: Any) -> bool:
    return isinstance(value, range)


def _is_number(value: Any) -> bool:
    """True and false, which Python counts as 1 and 0, are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def in_words(hint: Any) -> str:
    """A type as a person is told it."""
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if origin in _SEVERAL:
        return f"a list, each entry {in_words(arguments[0])}"
    if origin in (types.UnionType, typing.Union):
        named = (one for one in arguments if one is not types.NoneType)
        return " or ".join(map(in_words, named))
    return _IN_WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def bring_to_hints(settings: Any, of: str = "") -> None:
    """Give each field of a frozen dataclass a value of its type, or refuse what it has. `of`: whose
    fields they are, in words that end in a space.
    """
    for name, hint in _field_hints(type(settings)).items():
        value = getattr(settings, name)
        try:
            object.__setattr__(settings, name, fitting(value, hint))
        except Unfit:
            wanted = in_words(hint)
            raise SaddleError(f"{of}{name} is {value!r}; it must be {wanted}") from None


@functools.cache
def _field_hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
