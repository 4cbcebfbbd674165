"""Environments as a configuration asks for them."""

from __future__ import annotations

import base64
import importlib
import inspect
import pickle
import sys
from typing import Any, Callable, Mapping, Optional

import numpy as np

from . import pictures
from .problem import Problem

GYM = "gym:"
MEMBERS = ("reset", "step", "observation_space", "action_space")


def load(reference: str) -> Any:
    """What 'module:attribute' names."""
    module, _, attribute = reference.partition(":")
    found = importlib.import_module(module)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise Problem(f"{module} has no {attribute!r}")
        found = getattr(found, part)
    return found


class Maker:
    """Makes environments. `functions` are cost functions that a program sent along.

    With `pictured` in the configuration they are asked to draw themselves.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._length: Optional[int] = config["length"]
        self._pictured: bool = config["pictured"]
        imported = [importlib.import_module(name) for name in config["imports"]]
        self.functions: Mapping[int, Any] = {}
        self._id = ""
        self._make: Any = None
        if config["payload"]:
            sent = pickle.loads(base64.b64decode(config["payload"]))
            self.functions = sent["functions"]
            self._make = sent["make"]
        if self._make is None:
            self._find(config["source"], imported)

    def _find(self, source: str, imported: list[Any]) -> None:
        if source.startswith(GYM):
            self._id = source[len(GYM) :]
            self._make = _registry_make(imported)
            return
        self._make = load(source)
        if not callable(self._make):
            raise Problem(
                f"{source} is of type {type(self._make).__name__} and cannot be called; name a "
                f"function or class that makes an environment"
            )

    def __call__(self, count: int) -> Any:
        """An environment; of `count` worlds, where it can be asked for so many."""
        takes = _parameters(self._make)
        options: dict[str, Any] = self._to_draw() if self._pictured else {}
        if self._id:
            if "disable_env_checker" in takes:
                options["disable_env_checker"] = True
            if self._length is not None and "max_episode_steps" in takes:
                options["max_episode_steps"] = self._length
            env = self._make(self._id, **options)
        elif "num_envs" in takes:
            env = self._make(num_envs=count, **options)
        else:
            _check_needs_nothing_else(takes, options)
            env = self._make(**options)
        if hasattr(getattr(env, "spec", None), "episode_length"):
            raise Problem(
                "it is a task of Saddle, whose costs and episode length stand in its spec; leave "
                "cost, episode length and the other options of environments out"
            )
        for member in MEMBERS:
            if not hasattr(env, member):
                raise Problem(
                    f"what it makes is no environment: it is of type {type(env).__name__} and has "
                    f"no {member}"
                )
        return env

    def can_draw(self, env: Any) -> bool:
        """Whether one that is made as `env` was can draw itself, as far as it says so."""
        return pictures.can_draw(env, asked=bool(self._to_draw()))

    def _to_draw(self) -> dict[str, str]:
        return pictures.options(_parameters(self._make), of_registry=bool(self._id))


def _registry_make(imported: list[Any]) -> Callable[..., Any]:
    """What makes ids: `make` of an imported package that has its own, or Gymnasium's, or Gym's."""
    for module in reversed(imported):
        if callable(getattr(module, "make", None)):
            return module.make
    for name in ("gymnasium", "gym"):
        try:
            return importlib.import_module(name).make
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    raise Problem(
        f"{sys.executable} has neither gymnasium nor gym; install the environment's package there"
    )


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    """What it says that it takes; nothing where it does not say."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _check_needs_nothing_else(
    takes: Mapping[str, inspect.Parameter], options: Mapping[str, Any]
) -> None:
    """Refuse what cannot be called with these options alone, since nobody gives it others."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [one for one in takes.values() if one.kind not in variadic]
    required = [one.name for one in named if one.default is inspect.Parameter.empty]
    needed = [name for name in required if name not in options]
    if needed:
        raise Problem(
            f"it cannot be made without {', '.join(needed)}; name a function of no arguments that "
            f"makes it"
        )


def batch_size(env: Any) -> int:
    """How many worlds an environment steps at once; 0 of an ordinary one."""
    count = getattr(env, "num_envs", None)
    vector = hasattr(env, "single_action_space")
    return int(count) if vector and isinstance(count, (int, np.integer)) else 0


def time_limit(env: Any) -> Optional[int]:
    """Steps after which it ends its episodes, as far as it says so."""
    for holder in (env, getattr(env, "unwrapped", env)):
        spec = getattr(holder, "spec", None)
        limits = [getattr(spec, "max_episode_steps", None)]
        limits.append(getattr(holder, "_max_episode_steps", None))
        for limit in limits:
            if isinstance(limit, (int, np.integer)) and limit > 0:
                return int(limit)
    return None


def step_seconds(env: Any) -> float:
    """Seconds of a step, as far as the environment says so; else 1."""
    for holder in (env, getattr(env, "unwrapped", env)):
        length = getattr(holder, "dt", None)
        if isinstance(length, (int, float)) and 0 < length < float("inf"):
            return float(length)
    metadata = getattr(env, "metadata", None) or {}
    rate = metadata.get("render_fps") or metadata.get("video.frames_per_second")
    if isinstance(rate, (int, float, np.integer, np.floating)) and 0 < rate < float("inf"):
        return 1.0 / float(rate)
    return 1.0
