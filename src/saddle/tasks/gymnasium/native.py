"""Policies in an environment's own terms: its observations in, its actions out.

Worlds flatten observations into rows, and spread actions from [-1, 1] over the environment's
bounds. Whoever plays a policy without Saddle's worlds needs the same; policy.json has the spaces.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from saddle.errors import SaddleError
from saddle.tasks.gymnasium.worker.problem import Problem
from saddle.tasks.gymnasium.worker.spaces import Actions, as_described, flat


class NativePolicy:
    """A policy for one world of an environment."""

    def __init__(self, policy: Callable, task: str, spaces: dict[str, Any]) -> None:
        self._policy = policy
        self._task = task
        self._seen = flat(as_described(spaces["observation"]), "the observation")
        self._actions = Actions(as_described(spaces["action"]))

    def __call__(self, obs: Any, key: Any = None) -> Any:
        """One of the environment's observations -> one of its actions."""
        row = np.zeros(self._seen.size, np.float32)
        try:
            self._seen.write(obs, row)
        except (Problem, KeyError, IndexError, TypeError, ValueError) as error:
            raise SaddleError(f"this is no observation of {self._task}: {error}") from None
        action = np.asarray(self._policy(row, key))
        return self._actions.of(action[None])[0]


def check_spaces(spaces: Any, path: Path) -> None:
    """None, or what makes a `NativePolicy`."""
    if spaces is None:
        return
    try:
        flat(as_described(spaces["observation"]), "the observation")
        Actions(as_described(spaces["action"]))
    except (Problem, KeyError, TypeError, ValueError, AttributeError) as error:
        raise SaddleError(
            f"{path} has spaces that are not those of observations and actions: {error}"
        ) from None
