"""What is known about an environment, by asking a process that makes one. It is never imported
here.
"""

import base64
import functools
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from saddle import references
from saddle.errors import SaddleError
from saddle.tasks.gymnasium.costs import Cost
from saddle.tasks.gymnasium.environment import GYM, Environment
from saddle.tasks.gymnasium.process import Process


@dataclass(frozen=True)
class Facts:
    """Of one environment, as its process tells them."""

    obs_dim: int
    action_dim: int
    choices: tuple[int, ...]
    """Of each discrete action; empty where actions are real numbers."""
    low: np.ndarray
    """[obs_dim], -inf where nothing bounds an observation."""
    high: np.ndarray
    """[obs_dim]"""
    pixels: bool
    """Whether some of its observations are those of pictures."""
    action_low: np.ndarray
    """[action_dim], empty where actions are discrete."""
    action_high: np.ndarray
    """[action_dim]"""
    limit: int | None
    """Steps after which it ends its episodes by itself, where it says so."""
    dt: float
    """Seconds of a step."""
    costs: tuple[Cost, ...]
    """Named by a person, or found."""
    counts: tuple[int, ...]
    """How many numbers each of them gives."""
    problems: tuple[str, ...]
    """What a person has to say before it can be a task."""
    batch: int
    """Worlds that it steps at once; 0 of an ordinary environment."""
    spaces: dict[str, Any]
    """Of observations and actions, as policy.json has them."""
    may_be_cut: bool
    """Whether an episode can be ended before the environment ends it."""
    way: str | None
    """How a world can be saved, if it can."""
    pictures: bool
    """Whether it says that it can draw itself."""
    world_bytes: int
    """Memory that one more world takes, roughly."""
    python: str
    """Version of the interpreter."""

    @property
    def constraints(self) -> tuple[str, ...]:
        """The names of all cost entries."""
        found: list[str] = []
        for cost, count in zip(self.costs, self.counts, strict=False):
            found += cost.constraints(count)
        return tuple(found)


@functools.lru_cache(maxsize=64)
def facts_of(environment: Environment) -> Facts:
    """Make one of the environment in a process of its own, step it a little, and ask."""
    announce(environment)
    config = configuration(environment) | {"mode": "probe"}
    process = Process(config, environment.name, environment.python, environment.timeout)
    try:
        found = json.loads(process.answer())
    finally:
        process.close()
    costs = environment.costs or tuple(Cost(cost["kind"], cost["key"]) for cost in found["costs"])
    return Facts(
        obs_dim=found["obs_dim"],
        action_dim=found["action_dim"],
        choices=tuple(found["choices"]),
        low=_bounds(found["low"], -np.inf, found["obs_dim"]),
        high=_bounds(found["high"], np.inf, found["obs_dim"]),
        pixels=found["pixels"],
        action_low=_bounds(found["action_low"], -np.inf, found["action_dim"]),
        action_high=_bounds(found["action_high"], np.inf, found["action_dim"]),
        limit=found["limit"],
        dt=found["dt"],
        costs=costs,
        counts=tuple(found["counts"] or ()),
        problems=tuple(found["problems"]),
        spaces=found["spaces"],
        batch=found["batch"],
        may_be_cut=found["may_be_cut"],
        way=found["way"],
        pictures=found["pictures"],
        world_bytes=found["world_bytes"],
        python=found["python"],
    )


def announce(environment: Environment) -> None:
    """Say which modules are loaded for it, and by whom."""
    modules = list(environment.imports)
    source = environment.source
    if isinstance(source, str) and not source.startswith(GYM):
        modules.append(source.partition(":")[0])
    if modules:
        by = f" in {environment.python}" if environment.python else ""
        references.announce(f"{', '.join(modules)}{by}", environment.name)


def configuration(
    environment: Environment, costs: tuple[Cost, ...] = (), pictured: bool = False
) -> dict[str, Any]:
    """What a process has to know to make such environments. costs: those that were found, where
    nobody named any; pictured: whether they are to draw themselves.
    """
    foreign = environment.python is not None
    reward = environment.reward
    return {
        "source": environment.source if isinstance(environment.source, str) else None,
        "payload": _payload(environment),
        "imports": list(environment.imports),
        "path": None if foreign else sys.path,
        "folder": _current_folder(),
        "length": environment.length,
        "pictured": pictured,
        "reward": None if reward is None else str(reward),
        "costs": [_plain(place, cost) for place, cost in enumerate(environment.costs or costs)],
    }


def _plain(place: int, cost: Cost) -> dict[str, Any]:
    return {"kind": cost.kind, "key": cost.key, "place": place}


def _payload(environment: Environment) -> str | None:
    """Functions of this program, which no name could tell another process."""
    make = None if isinstance(environment.source, str) else environment.source
    functions: dict[int, Any] = {}
    for place, cost in enumerate(environment.costs):
        if cost.function is not None:
            functions[place] = cost.function
    if make is None and not functions:
        return None
    if environment.python is not None:
        raise SaddleError(
            f"{environment.name}: a function of this program cannot run in another interpreter; "
            f"write it into a module that one can import, and name it module:attribute"
        )
    import cloudpickle

    try:
        data = cloudpickle.dumps({"make": make, "functions": functions})
    except Exception as error:
        raise SaddleError(
            f"{environment.name} cannot be sent to another process "
            f"({references.because(error)}); write it into a module, and name it module:attribute"
        ) from error
    return base64.b64encode(data).decode()


def _current_folder() -> str | None:
    with suppress(OSError):  # it may have been removed
        return os.getcwd()  # noqa: PTH109 (as sys.path has it)
    return None


def _bounds(values: list[float | None] | None, unbounded: float, size: int) -> np.ndarray:
    if values is None:
        return np.full(size, unbounded)
    filled: Mapping[int, float] = {i: value for i, value in enumerate(values) if value is not None}
    found = np.full(len(values), unbounded)
    found[list(filled)] = list(filled.values())
    return found
