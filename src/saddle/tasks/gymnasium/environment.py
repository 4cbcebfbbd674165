"""An environment that somebody else wrote, and all that makes a task of it.

A reference describes it wholly, so that command lines, study files, stores, policies and Ray carry
it as they carry any task's name:

    gym:mo-hopper-v5?import=mo_gymnasium&reward=0&cost=reward:-2&length=1000
    my_package:make_env?cost=info:cost
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from saddle import references
from saddle.errors import SaddleError
from saddle.hints import Unfit, bring_to_hints, fitting
from saddle.tasks.gymnasium.costs import Component, Cost, CostLike, costs_of

GYM = "gym:"
"""What references to ids of Gymnasium's registry begin with."""

TIMEOUT = 60.0
LONGEST_TIMEOUT = 1e6  # seconds; more than that a system call does not wait
"""Seconds that a step or a reset may take, unless a reference says otherwise."""

_PLAIN = ":=,/-_.~@()[]*!$'"  # what the values of a reference hold as it is


@dataclass(frozen=True)
class Environment:
    """An environment with a reward, costs and a time limit.

    `parse` reads a reference, and `reference` writes it: always the same text for the same
    environment.
    """

    source: str | Callable[..., Any]
    """'gym:ID', 'module:attribute' of a function or class that makes it, or that itself."""
    cost: CostLike | Sequence[CostLike] = ()
    """Where costs come from (`saddle.tasks.gymnasium.costs`); each is a constraint. None takes the
    six values of Safety-Gymnasium, or else info:cost.
    """
    reward: str | int | Component | None = None
    """Component of a vector reward, '-1' for minus component 1."""
    length: int | None = None
    """Steps until an episode is cut; None takes the environment's own limit."""
    imports: Sequence[str] = ()
    """Modules to import first, as those do that register ids."""
    python: str | None = None
    """Another interpreter to run it in; it needs the environment and NumPy, and nothing of
    Saddle.
    """
    timeout: float = TIMEOUT
    """Seconds that a step or a reset may take."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", costs_of(self.cost))
        if self.reward is not None and not isinstance(self.reward, Component):
            object.__setattr__(self, "reward", Component.parse(str(self.reward), "reward"))
        if isinstance(self.imports, str):
            object.__setattr__(self, "imports", (self.imports,))
        self._check_length()
        bring_to_hints(self)
        self._check()

    @property
    def costs(self) -> tuple[Cost, ...]:
        """The sources of its costs."""
        return costs_of(self.cost)

    @property
    def name(self) -> str:
        """What it is called, without its options."""
        if isinstance(self.source, str):
            return self.source
        return getattr(self.source, "__qualname__", type(self.source).__qualname__)

    @classmethod
    def parse(cls, reference: str) -> "Environment":
        """The environment that a reference describes."""
        source, _, query = reference.partition("?")
        several: dict[str, list[str]] = {"cost": [], "import": []}
        single: dict[str, str] = {}
        for part in filter(None, query.split("&")):
            key, equals, value = part.partition("=")
            value = unquote(value)
            if not equals or not value:
                raise SaddleError(f"{reference!r}: write {part!r} as {key}=VALUE")
            if key in several:
                several[key].append(value)
            elif key not in _SINGLE:
                known = ", ".join([*several, *_SINGLE])
                raise SaddleError(
                    f"{reference!r} has an option {key!r}; an environment has {known}"
                )
            elif key in single:
                raise SaddleError(f"{reference!r} gives {key} twice; give it once")
            else:
                single[key] = value
        length = single.get("length")
        timeout = single.get("timeout")
        return cls(
            source,
            cost=several["cost"],
            reward=single.get("reward"),
            length=None if length is None else _whole(length, f"{reference!r}: length"),
            imports=several["import"],
            python=single.get("python"),
            timeout=TIMEOUT if timeout is None else _number(timeout, f"{reference!r}: timeout"),
        )

    @property
    def nameless(self) -> str | None:
        """The first part of it that no text can name; None where a reference describes it."""
        if not isinstance(self.source, str):
            return self.name
        functions = [cost for cost in self.costs if cost.function is not None]
        return f"the cost function {functions[0]}" if functions else None

    def __str__(self) -> str:
        return repr(self) if self.nameless else self.reference()

    def reference(self) -> str:
        """The text that `parse` reads."""
        if self.nameless is not None or not isinstance(self.source, str):
            raise SaddleError(
                f"{self.nameless} is no part of a module, so no text can name it; register the "
                f"environment under a name"
            )
        options = [("import", name) for name in self.imports]
        options += [("cost", str(cost)) for cost in self.costs]
        if self.reward is not None:
            options.append(("reward", str(self.reward)))
        if self.length is not None:
            options.append(("length", str(self.length)))
        if self.python is not None:
            options.append(("python", self.python))
        if self.timeout != TIMEOUT:
            options.append(("timeout", str(self.timeout).removesuffix(".0")))
        if not options:
            return self.source
        written = [f"{key}={quote(value, safe=_PLAIN)}" for key, value in options]
        return f"{self.source}?{'&'.join(written)}"

    def _check(self) -> None:
        if isinstance(self.source, str):
            if self.source.startswith(GYM):
                if not self.source.removeprefix(GYM):
                    raise SaddleError("gym: names no environment; write gym:ID, as gym:Hopper-v5")
            else:
                references.parse(self.source, "environment")
        elif not callable(self.source):
            raise SaddleError(
                f"an environment comes from {self.source!r}; give 'gym:ID', 'module:attribute', or "
                f"a function that makes it"
            )
        for name in self.imports:
            if not all(part.isidentifier() for part in name.split(".")):
                raise SaddleError(f"import {name!r} is no module's name; write it as in Python")
        if not 0 < self.timeout <= LONGEST_TIMEOUT:
            raise SaddleError(
                f"the timeout is {self.timeout:g}; it must be positive, in seconds, and at most "
                f"{LONGEST_TIMEOUT:g}"
            )

    def _check_length(self) -> None:
        if self.length is None:
            return
        try:
            length = fitting(self.length, int)
        except Unfit:
            length = 0
        if length < 1:
            raise SaddleError(
                f"the episode length is {self.length!r}; it must be a whole number of at least 1"
            )
        object.__setattr__(self, "length", length)


_SINGLE = ("reward", "length", "python", "timeout")
"""Options of a reference that it may have once."""


def is_environment(name: str) -> bool:
    """Whether a task's name is a reference that can only be an environment's."""
    return name.startswith(GYM) or (references.is_reference(name) and "?" in name)


def _whole(text: str, what: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise SaddleError(f"{what} is {text!r}; it must be a whole number of at least 1")
    return int(text)


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SaddleError(f"{what} is {text!r}; it must be a number of seconds") from None
