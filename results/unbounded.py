"""Safety-Gymnasium's tasks with actions as policies give them.

Actions beyond an environment's bounds would be cut to them. The velocity tasks take them as they
are: the motors cut them, and the reward pays for all of them. For `cards.py --reference`, whose
other Python imports this file.
"""

from typing import Any

import numpy as np
import safety_gymnasium  # pyright: ignore[reportMissingImports]
from gymnasium.spaces import Box


def make(name: str, **options: Any) -> Any:
    """The task, whose actions have no bounds."""
    env = safety_gymnasium.make(name, **options)
    space = env.action_space
    env.action_space = Box(-np.inf, np.inf, space.shape, space.dtype)
    return env
