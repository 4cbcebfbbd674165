"""A short sum of a function or class that only this program knows, by which two of one name are
told apart.

It covers what a function is made of: its code and constants, those of the functions within it, the
values that it encloses, and its defaults; of a class its methods and plain values. Names of files
and numbers of lines are not in it, nor addresses in memory, so that a cell of a notebook that is
run again, here or in another process, gives the same sum. Globals are not covered, which a program
may change on the way, nor what an imported function does, nor more of an object without a `repr` of
its own than its class and plain values. Another version of Python may give another sum.
"""

import dataclasses
import functools
import hashlib
import re
import types
import weakref
from collections.abc import Iterable
from typing import Any

DIGITS = 3  # bytes of the sum, which names of runs have

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))

# What a function encloses may change while it is used; the same function keeps its first sum
_sums: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def sum_of(thing: Any) -> str:
    """The sum, in hexadecimal digits."""
    text = _described(thing, set())
    return hashlib.blake2s(text.encode(), digest_size=DIGITS).hexdigest()


def _described(thing: Any, seen: set[int]) -> str:
    """What is summed up, as a text. `seen` holds what is being described, which may contain
    itself.
    """
    if isinstance(thing, _PLAIN):
        return repr(thing)
    if id(thing) in seen:
        return "itself"
    within = seen | {id(thing)}
    if isinstance(thing, types.FunctionType | type):
        if thing not in _sums:
            parts = _class_parts(thing) if isinstance(thing, type) else _function_parts(thing)
            _sums[thing] = _together(type(thing).__name__, parts, within)
        return _sums[thing]
    return _together(*_parts(thing), within)


def _together(kind: str, parts: Iterable[Any], seen: set[int]) -> str:
    described = [_described(part, seen) for part in parts]
    return f"{kind}({', '.join(described)})"


def _parts(thing: Any) -> tuple[str, Iterable[Any]]:
    """The kind of a thing, and what it consists of."""
    kind = type(thing).__qualname__
    if isinstance(thing, types.CodeType):
        return kind, (thing.co_code, thing.co_names, thing.co_consts)
    if isinstance(thing, types.MethodType):
        return kind, (thing.__func__, thing.__self__)
    if isinstance(thing, functools.partial):
        return kind, (thing.func, thing.args, thing.keywords)
    if isinstance(thing, staticmethod | classmethod):
        return kind, (thing.__func__,)
    if hasattr(thing, "__wrapped__"):  # of functools.cache, jax.jit and the like
        return kind, (thing.__wrapped__,)
    if isinstance(thing, property):
        return kind, (thing.fget, thing.fset)
    if isinstance(thing, list | tuple):
        return kind, thing
    if isinstance(thing, set | frozenset):
        return kind, sorted(_described(entry, {id(thing)}) for entry in thing)
    if isinstance(thing, dict):
        return kind, thing.items()
    if dataclasses.is_dataclass(thing):
        return kind, [getattr(thing, field.name) for field in dataclasses.fields(thing)]
    if hasattr(thing, "tobytes") and hasattr(thing, "shape"):
        return kind, (str(thing.dtype), tuple(thing.shape), thing.tobytes())  # repr leaves some out
    if type(thing).__repr__ is object.__repr__:
        return kind, _plain_values(getattr(thing, "__dict__", {}))
    return kind, (_ADDRESS.sub("", repr(thing)),)


def _function_parts(function: types.FunctionType) -> tuple[Any, ...]:
    enclosed = [_content(cell) for cell in function.__closure__ or ()]
    return (function.__code__, enclosed, function.__defaults__, function.__kwdefaults__)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "nothing yet"


def _class_parts(kind: type) -> tuple[Any, ...]:
    """A class of another module is what its name says."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    if kind.__module__ != "__main__" and "<" not in kind.__qualname__:
        return (name,)
    code = (types.FunctionType, staticmethod, classmethod, property)
    methods = {key: value for key, value in vars(kind).items() if isinstance(value, code)}
    return (name, kind.__bases__, methods, _plain_values(vars(kind)))


def _plain_values(values: Any) -> list[tuple[str, Any]]:
    """Those that are numbers or texts, but not what Python itself notes down."""
    return [
        (key, value)
        for key, value in values.items()
        if isinstance(value, _PLAIN) and not key.startswith("__")
    ]
