"""Saddle: what a Lagrange multiplier buys in safe reinforcement learning."""

import importlib
from typing import TYPE_CHECKING, Any

from saddle.hook import register_with_gymnasium

if TYPE_CHECKING:
    from saddle import analysis as analysis
    from saddle import gym as gym
    from saddle import tasks as tasks
    from saddle.study.store import open_study as open_study

__version__ = "0.1.0"

__all__ = ["analysis", "gym", "open_study", "tasks"]

_MODULES = ("analysis", "gym", "tasks")

register_with_gymnasium()


def __getattr__(name: str) -> Any:
    """`saddle.open_study`, `saddle.tasks` and the like, loaded when they are first used."""
    if name in _MODULES:
        return importlib.import_module(f"saddle.{name}")
    if name == "open_study":
        from saddle.study.store import open_study

        return open_study
    raise AttributeError(f"module 'saddle' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names alone."""
    return [*__all__, "__version__"]
