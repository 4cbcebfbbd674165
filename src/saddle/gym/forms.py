"""Safety-Gymnasium's form of an environment: the cost as a value of its own, six values in all."""

from typing import Any

import numpy as np

Info = dict[str, Any]


class SixValues:
    """To be put before an environment of one world."""

    def step(self, action: Any) -> tuple[np.ndarray, float, float, bool, bool, Info]:
        """One env step: observation, reward, cost, terminated, truncated, info."""
        obs, reward, terminated, truncated, info = super().step(action)  # type: ignore[misc]
        return obs, reward, info.pop("cost"), terminated, truncated, info


class SixVectorValues:
    """To be put before an environment of N worlds."""

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """One env step: observations, rewards, costs, terminated, truncated, infos, each with
        leading axis N.
        """
        obs, reward, terminated, truncated, infos = super().step(actions)  # type: ignore[misc]
        infos.pop("_cost")
        return obs, reward, infos.pop("cost"), terminated, truncated, infos
