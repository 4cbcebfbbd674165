"""Observations as rows of numbers, and rows of numbers as actions, for spaces of any package."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .problem import Problem

KINDS = ("MultiBinary", "MultiDiscrete", "Discrete", "Box", "Dict", "Tuple")

Write = Callable[[Any, np.ndarray], None]
"""Writes a value of a space into its row [size]."""


class Flat:
    """A space as a row of numbers: bounds [size], and how a value is written into the row."""

    def __init__(self, low: Any, high: Any, write: Write) -> None:
        self.low = np.asarray(low, np.float64)
        self.high = np.asarray(high, np.float64)
        self.size = len(self.low)
        self.write = write


def kind_of(space: Any) -> str:
    """'Box', 'Dict' ... whatever package the space comes from."""
    for cls in type(space).__mro__:
        if cls.__name__ in KINDS:
            return cls.__name__
    return type(space).__name__


def flat(space: Any, what: str) -> Flat:
    """How values of a space become a row. Entries of a Dict come in the order of their keys; one of
    n choices is n numbers, of which one is 1.
    """
    kind = kind_of(space)
    if kind == "Box":
        low, high = _bounds(space)
        return Flat(low, high, _box_writer(tuple(space.shape), what))
    if kind == "MultiBinary":
        shape = np.zeros(space.n).shape
        size = int(np.prod(shape))
        return Flat(np.zeros(size), np.ones(size), _box_writer(shape, what))
    if kind == "Discrete":
        return _choices([int(space.n)], int(getattr(space, "start", 0)), what)
    if kind == "MultiDiscrete":
        return _choices([int(n) for n in np.ravel(space.nvec)], 0, what)
    if kind == "Dict":
        return _parts(space.spaces, sorted(space.spaces), what)
    if kind == "Tuple":
        return _parts(space.spaces, range(len(space.spaces)), what)
    raise Problem(
        f"{what} is of a space of kind {kind}; {', '.join(sorted(KINDS))} are understood: wrap the "
        f"environment"
    )


def has_pixels(space: Any) -> bool:
    """Whether some part of the space holds pictures: a Box of bytes with rows, columns and
    channels.
    """
    kind = kind_of(space)
    if kind == "Dict":
        return any(has_pixels(part) for part in space.spaces.values())
    if kind == "Tuple":
        return any(has_pixels(part) for part in space.spaces)
    return kind == "Box" and len(space.shape) >= 3 and np.dtype(space.dtype) == np.uint8


def _bounds(space: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of a Box, in C's order."""
    shape = tuple(space.shape)
    low = np.broadcast_to(np.asarray(space.low, np.float64), shape)
    high = np.broadcast_to(np.asarray(space.high, np.float64), shape)
    return low.ravel(), high.ravel()


def _box_writer(shape: tuple[int, ...], what: str) -> Write:
    def write(value: Any, row: np.ndarray) -> None:
        array = value if type(value) is np.ndarray else np.asarray(value)
        if array.shape != shape:
            raise Problem(f"{what} has shape {array.shape}, but its space says {shape}")
        row[:] = array if array.ndim == 1 else array.ravel()

    return write


def _choices(sizes: list[int], start: int, what: str) -> Flat:
    counts = np.asarray(sizes)
    first = np.cumsum(counts) - counts

    def is_inside(chosen: np.ndarray) -> bool:
        if chosen.shape != counts.shape:
            return False
        return bool(((chosen >= 0) & (chosen < counts)).all())

    def write(value: Any, row: np.ndarray) -> None:
        chosen = np.ravel(np.asarray(value, np.int64)) - start
        if not is_inside(chosen):
            raise Problem(f"{what} is {value!r}, which lies outside its space")
        row[:] = 0
        row[first + chosen] = 1

    total = int(counts.sum())
    return Flat(np.zeros(total), np.ones(total), write)


def _parts(spaces: Any, keys: Sequence[Any], what: str) -> Flat:
    """Several spaces, one after the other."""
    parts = [flat(spaces[key], f"{what}[{key!r}]") for key in keys]
    places: list[tuple[Any, Write, slice]] = []
    end = 0
    for key, part in zip(keys, parts):
        start = end
        end += part.size
        places.append((key, part.write, slice(start, end)))

    def write(value: Any, row: np.ndarray) -> None:
        if len(value) != len(places):
            raise Problem(f"{what} has {len(value)} entries, but its space says {len(places)}")
        for key, write_part, place in places:
            write_part(value[key], row[place])

    low = np.concatenate([part.low for part in parts])
    high = np.concatenate([part.high for part in parts])
    return Flat(low, high, write)


def described(space: Any) -> dict[str, Any]:
    """A space of one of the KINDS as plain values, which JSON holds: what `flat` and `Actions` ask
    of it, so that they make the same of `as_described`.
    """
    kind = kind_of(space)
    if kind == "Dict":
        parts = [[key, described(space.spaces[key])] for key in sorted(space.spaces)]
        return {"kind": kind, "spaces": parts}
    if kind == "Tuple":
        return {"kind": kind, "spaces": [described(part) for part in space.spaces]}
    found = {"kind": kind}  # type: dict[str, Any]
    if kind == "Box":
        low, high = _bounds(space)
        found["shape"] = list(space.shape)
        found["dtype"] = str(np.dtype(space.dtype))
        found["low"] = _plain(low)
        found["high"] = _plain(high)
    if kind == "MultiBinary":
        found["shape"] = list(np.zeros(space.n).shape)
    if kind == "Discrete":
        found["n"] = int(space.n)
        found["start"] = int(getattr(space, "start", 0))
    if kind == "MultiDiscrete":
        found["nvec"] = np.asarray(space.nvec).tolist()
        found["dtype"] = str(np.dtype(getattr(space, "dtype", np.int64)))
    return found


def as_described(found: Mapping[str, Any]) -> Any:
    """A stand-in for the space that `described` described."""
    kind = found["kind"]
    members = {}  # type: dict[str, Any]
    if kind == "Dict":
        members["spaces"] = {key: as_described(part) for key, part in found["spaces"]}
    elif kind == "Tuple":
        members["spaces"] = [as_described(part) for part in found["spaces"]]
    elif kind == "Box":
        shape = tuple(found["shape"])
        members["shape"] = shape
        members["dtype"] = np.dtype(found["dtype"])
        members["low"] = _bound(found["low"], -np.inf, shape)
        members["high"] = _bound(found["high"], np.inf, shape)
    elif kind == "MultiBinary":
        members["n"] = tuple(found["shape"])
    elif kind == "MultiDiscrete":
        members["nvec"] = np.asarray(found["nvec"])
        members["dtype"] = np.dtype(found["dtype"])
    elif kind == "Discrete":
        members["n"] = found["n"]
        members["start"] = found["start"]
    else:
        raise ValueError(f"no space is of kind {kind!r}")
    # `kind_of` asks for the name of the class.
    return type(kind, (), members)()


def _plain(bound: np.ndarray) -> list[float | None]:
    """A bound of every number of a Box, None where there is none; one where all have the same."""
    if len(bound) and (bound == bound[0]).all():
        bound = bound[:1]
    return [float(value) if np.isfinite(value) else None for value in bound]


def _bound(values: Sequence[float | None], missing: float, shape: tuple[int, ...]) -> np.ndarray:
    """What `_plain` made plain."""
    numbers = np.array([missing if value is None else value for value in values], np.float64)
    count = int(np.prod(shape))
    return np.broadcast_to(numbers, (count,)).reshape(shape)


class Actions:
    """What rows [N, size] of a policy mean to the environment.

    `choices` has the number of choices of each discrete action, and is empty for a Box, whose
    bounds are `low` and `high` [size].
    """

    def __init__(self, space: Any) -> None:
        self.choices: list[int] = []
        self.low = np.zeros(0)
        self.high = np.zeros(0)
        kind = kind_of(space)
        if kind == "Box":
            self._of = self._box(space)
        elif kind == "Discrete":
            self._of = self._discrete(space)
        elif kind == "MultiDiscrete":
            self._of = self._multi_discrete(space)
        else:
            raise Problem(
                f"its action space is of kind {kind}; Box, Discrete and MultiDiscrete are "
                f"understood: wrap the environment"
            )
        self.size = len(self.choices) or len(self.low)

    def of(self, rows: np.ndarray) -> Any:
        """N actions as the environment takes them."""
        return self._of(rows)

    def random(self, draw: np.random.Generator, count: int) -> np.ndarray:
        """Random rows [count, size]."""
        if self.choices:
            return draw.integers(0, self.choices, (count, self.size)).astype(np.float64)
        return draw.uniform(-1, 1, (count, self.size))

    def _box(self, space: Any) -> Callable[[np.ndarray], Any]:
        """[-1, 1] is spread over the bounds. Where there are none, a number is passed as it is."""
        shape = tuple(space.shape)
        dtype = np.dtype(space.dtype)
        low, high = _bounds(space)
        self.low = low
        self.high = high
        bounded = np.isfinite(low) & np.isfinite(high)
        centre = np.zeros(len(low))
        reach = np.ones(len(low))
        centre[bounded] = low[bounded] / 2 + high[bounded] / 2
        reach[bounded] = high[bounded] / 2 - low[bounded] / 2
        whole = dtype.kind in "iu"

        def of(rows: np.ndarray) -> np.ndarray:
            within = np.where(bounded, np.clip(rows, -1, 1), rows)
            scaled = np.clip(centre + reach * within, low, high)
            if whole:
                scaled = np.rint(scaled)
            return scaled.astype(dtype).reshape(len(rows), *shape)

        return of

    def _discrete(self, space: Any) -> Callable[[np.ndarray], Any]:
        start = int(getattr(space, "start", 0))
        self.choices = [int(space.n)]

        def of(rows: np.ndarray) -> list[int]:
            (column,) = self._chosen(rows).T
            return [int(chosen) + start for chosen in column]

        return of

    def _multi_discrete(self, space: Any) -> Callable[[np.ndarray], Any]:
        shape = np.shape(space.nvec)
        dtype = getattr(space, "dtype", np.int64)
        self.choices = [int(n) for n in np.ravel(space.nvec)]

        def of(rows: np.ndarray) -> np.ndarray:
            chosen = self._chosen(rows).astype(dtype)
            return chosen.reshape(len(rows), *shape)

        return of

    def _chosen(self, rows: np.ndarray) -> np.ndarray:
        chosen = np.rint(rows).astype(np.int64)
        if (chosen < 0).any() or (chosen >= self.choices).any():
            raise Problem(f"a discrete action lies outside 0 to one less than {self.choices}")
        return chosen
