"""Resets, in the API of any version, and what episodes are seeded with."""

from __future__ import annotations

import inspect
from typing import Any, Optional

SEED_MASK = 0x7FFFFFFF  # 31 bits, which every environment takes
WORD = (1 << 64) - 1


def seed_of(seed: int, episode: int) -> int:
    """What an episode is reset with: the world's own seed at first, then numbers that follow from
    it (splitmix64).
    """
    if episode == 0:
        return seed & SEED_MASK
    mixed = (seed * 0x9E3779B97F4A7C15 + episode * 0xD1B54A32D192ED03) & WORD
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & WORD
    return (mixed ^ (mixed >> 31)) & SEED_MASK


class Episodes:
    """Begins the episodes of one environment."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self._takes_seed = _takes_seed(env.reset)

    def begin(self, seed: int) -> Any:
        """The first observation of an episode."""
        if self._takes_seed is None:
            self._takes_seed = self._find_out(seed)
        if self._takes_seed:
            found = self.env.reset(seed=seed)
        else:
            if hasattr(self.env, "seed"):
                self.env.seed(seed)
            found = self.env.reset()
        with_info = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict)
        return found[0] if with_info else found

    def _find_out(self, seed: int) -> bool:
        """A wrapper that passes on whatever it gets does not tell what the environment takes."""
        try:
            self.env.reset(seed=seed)
        except TypeError as error:
            if "seed" not in str(error):
                raise
            return False
        return True


def _takes_seed(reset: Any) -> Optional[bool]:
    """Whether `reset` takes a seed; None where it does not say."""
    try:
        parameters = inspect.signature(reset).parameters
    except (TypeError, ValueError):
        return None
    if "seed" in parameters:
        return True
    loose = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return None if loose else False
