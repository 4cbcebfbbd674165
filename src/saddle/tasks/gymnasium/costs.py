"""Where the costs of an environment come from, in one grammar for command lines, study files and
Python.

| written | cost of a step |
|---|---|
| `info:KEY`, or `KEY` alone | `info[KEY]` |
| `reward:I`, `reward:-I`, or `I`, `-I` alone | component I of a vector reward, or minus that |
| `event:KEY` | 1 where `info[KEY]` is there and true, else 0 |
| `terminated` | 1 where the episode ends by termination, else 0 |
| `six` | the cost that Safety-Gymnasium's `step` returns as a value of its own |
| `module:attribute` | what that function of (obs, action, reward, info) returns |

A source may give several numbers, which are as many constraints. `NAME=` before a source names its
constraint, `NAME,NAME=` those of a source that gives several.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from saddle import references
from saddle.errors import SaddleError

Kind = Literal["info", "reward", "event", "terminated", "six", "function"]

GRAMMAR = (
    "write info:KEY, reward:I or reward:-I, event:KEY, terminated, six, or module:attribute of a "
    "function of (obs, action, reward, info)"
)
_WITHOUT_KEY: tuple[Kind, ...] = ("terminated", "six")
_NAMED = re.compile(r"([\w-]+(?:,[\w-]+)*)=(.+)", re.DOTALL)
_COMPONENT = re.compile(r"(-?)(\d+)")


@dataclass(frozen=True)
class Component:
    """A component of a vector reward, taken as it is or with the other sign."""

    index: int
    sign: Literal[1, -1] = 1

    @classmethod
    def parse(cls, text: str, option: str) -> "Component":
        """'2' is component 2, '-2' minus component 2, '-0' minus component 0."""
        found = _COMPONENT.fullmatch(text)
        if found is None:
            raise SaddleError(
                f"{option} is {text!r}; write the number of a component of the reward, counted "
                f"from 0, with a minus where its sign is to change: 2 or -2"
            )
        return cls(int(found[2]), -1 if found[1] else 1)

    def __str__(self) -> str:
        return f"-{self.index}" if self.sign < 0 else str(self.index)


@dataclass(frozen=True)
class Cost:
    """One source of costs. `str` writes it in full, and `parse` reads that back, but where it is a
    function of a program.
    """

    kind: Kind
    key: str = ""
    """The key of info, the component of the reward, or the function's reference."""
    names: tuple[str, ...] = ()
    """Of the constraints; none takes the names that follow from the source."""
    function: Callable[..., Any] | None = None
    """A function of a program, which no reference can name."""

    @classmethod
    def parse(cls, text: str) -> "Cost":
        """The source that a text of the grammar names."""
        names: tuple[str, ...] = ()
        source = text
        named = _NAMED.fullmatch(text)
        if named is not None:
            names = tuple(named[1].split(","))
            source = named[2]
        if len(set(names)) < len(names):
            raise SaddleError(f"the cost {text!r} names two constraints alike; rename one")
        kind, key = _source(source, text)
        return cls(kind, key, names)

    def __str__(self) -> str:
        function = self.key if self.function is None else _called(self.function)
        source = {"terminated": "terminated", "six": "six", "function": function}
        written = source.get(self.kind, f"{self.kind}:{self.key}")
        return f"{','.join(self.names)}={written}" if self.names else written

    def constraints(self, count: int) -> tuple[str, ...]:
        """What the constraints of a source that gives `count` numbers are called."""
        if len(self.names) == count:
            return self.names
        if len(self.names) > 1:
            raise SaddleError(
                f"the cost {self} has {len(self.names)} names, but its source gives {count} "
                f"number(s); write as many names"
            )
        name = self.names[0] if self.names else self._default_name()
        if count == 1:
            return (name,)
        return tuple(f"{name}_{i}" for i in range(count))

    def _default_name(self) -> str:
        if self.function is not None:
            return _called(self.function)
        if self.kind == "reward":
            component = Component.parse(self.key, "a cost")
            return f"{'minus_' if component.sign < 0 else ''}reward_{component.index}"
        if self.kind == "function":
            return self.key.rpartition(":")[2]
        if self.kind == "six":
            return "cost"
        return self.key or self.kind


CostLike = str | Cost | Callable[..., Any]


def costs_of(given: CostLike | Sequence[CostLike]) -> tuple[Cost, ...]:
    """Costs as Python programs give them: a text, a function, or several of them."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        return tuple(map(_cost, given))
    return (_cost(given),)


def _cost(given: Any) -> Cost:
    if isinstance(given, Cost):
        return given
    if isinstance(given, str):
        return Cost.parse(given)
    if callable(given):
        return Cost("function", function=given)
    raise SaddleError(f"a cost is {given!r}; {GRAMMAR}")


def _source(source: str, text: str) -> tuple[Kind, str]:
    """Kind and key of a source without its names; `text` is all of it, for the error."""
    if source in _WITHOUT_KEY:
        return source, ""
    if _COMPONENT.fullmatch(source):
        return "reward", source
    kind, colon, key = source.partition(":")
    if kind == "reward" and colon:
        return "reward", str(Component.parse(key, f"the cost {text!r}"))
    if kind in ("info", "event") and key:
        return kind, key
    if not colon and source:
        return "info", source
    try:
        references.parse(source, "cost")
    except SaddleError:
        raise SaddleError(f"the cost {text!r} cannot be read; {GRAMMAR}") from None
    return "function", source


def _called(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "cost" if name == "<lambda>" else name
