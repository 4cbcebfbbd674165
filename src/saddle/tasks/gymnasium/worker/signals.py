"""The reward and the costs of a step, from wherever the environment has them."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Optional

import numpy as np

from .making import load
from .problem import Problem


class Step(NamedTuple):
    """What `step` of any API returned."""

    obs: Any
    reward: Any
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]
    six: Any = None
    """The cost, where it is a value of its own."""


def read_step(found: Any) -> Step:
    """The values of `step` of Gymnasium (five), Safety-Gymnasium (six) or old Gym (four)."""
    count = len(found) if isinstance(found, tuple) else 0
    if count == 5:
        return Step(*found)
    if count == 6:
        obs, reward, six, terminated, truncated, info = found
        return Step(obs, reward, terminated, truncated, info, six)
    if count == 4:
        obs, reward, done, info = found
        truncated = bool(done) and bool(info.get("TimeLimit.truncated", False))
        return Step(obs, reward, bool(done) and not truncated, truncated, info)
    raise Problem(
        f"step returned {count or 'no tuple of'} values; it returns (obs, reward, terminated, "
        f"truncated, info)"
    )


Reader = Callable[[Step, Any], Any]
"""Reads one source of costs from a step and its action: a number, or several."""


class Signals:
    """Reward and costs, as a configuration names them.

    `costs` are dicts of kind, key and place; `functions` are those that a program sent, by place;
    `counts` says how many numbers each source gives, where that is known.
    """

    def __init__(
        self,
        costs: list[dict[str, Any]],
        reward: Optional[str],
        functions: Mapping[int, Any],
        counts: Optional[list[int]] = None,
    ) -> None:
        self._readers = [_reader(cost, functions) for cost in costs]
        self._counts = counts or []
        self._component = None if reward is None else _component_of(reward)

    def reward(self, value: Any) -> float:
        """The reward as one number."""
        if self._component is not None:
            return _component(value, *self._component)
        if type(value) is float:
            return value
        if np.size(value) != 1:
            raise Problem(
                f"the reward has {np.size(value)} components; choose one (--reward I, or "
                f"reward=I), and make costs of others, each as reward:I"
            )
        return float(np.ravel(value)[0])

    def costs(self, step: Step, action: Any) -> list[np.ndarray]:
        """What each source gives, as rows."""
        return [_row(reader(step, action)) for reader in self._readers]

    def write(self, step: Step, action: Any, row: np.ndarray) -> None:
        """Write the costs into a row [m]."""
        place = 0
        for reader, count in zip(self._readers, self._counts):
            value = reader(step, action)
            if count == 1 and type(value) is float:  # nearly always, so it is asked first
                row[place] = value
                place += 1
                continue
            if count > 1 or np.ndim(value):
                value = _row(value)
                if len(value) != count:
                    raise Problem(
                        f"a cost has {len(value)} number(s) in this step, and had {count} before"
                    )
            row[place : place + count] = value
            place += count


def listed(info: Mapping[str, Any]) -> str:
    """The keys of info in words."""
    return ", ".join(sorted(map(str, info))) or "no keys at all"


def _reader(cost: dict[str, Any], functions: Mapping[int, Any]) -> Reader:
    kind, key = cost["kind"], cost["key"]
    if kind == "info":
        return lambda step, action: _entry(step.info, key)
    if kind == "event":
        return lambda step, action: float(bool(step.info.get(key)))
    if kind == "terminated":
        return lambda step, action: float(step.terminated)
    if kind == "six":
        return lambda step, action: _six(step)
    if kind == "reward":
        index, sign = _component_of(key)
        return lambda step, action: _component(step.reward, index, sign)
    function = functions[cost["place"]] if cost["place"] in functions else load(key)
    return lambda step, action: function(step.obs, action, step.reward, step.info)


def _entry(info: Mapping[str, Any], key: str) -> Any:
    if key in info:
        return info[key]
    raise Problem(f"info has no {key!r}, which a cost is read from; it has {listed(info)}")


def _six(step: Step) -> Any:
    if step.six is None:
        raise Problem("step returned no cost as a value of its own, which the cost 'six' is")
    return step.six


def _component_of(text: str) -> tuple[int, float]:
    """Index and sign of '-2'."""
    return int(text.lstrip("-")), -1.0 if text.startswith("-") else 1.0


def _component(reward: Any, index: int, sign: float) -> float:
    """A component of a reward, of which a single number has one."""
    row = reward if type(reward) is np.ndarray and reward.ndim == 1 else np.ravel(reward)
    if index >= row.size:
        raise Problem(
            f"the reward has {row.size} component(s), counted from 0: there is no {index}"
        )
    return sign * float(row[index])


def _row(value: Any) -> np.ndarray:
    row = np.ravel(np.asarray(value, np.float64))
    if not row.size:
        raise Problem("a cost is an empty array; it is a number, or several")
    return row
