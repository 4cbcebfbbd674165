"""Environments of Gymnasium that take and show other things than rows of numbers."""

import gymnasium
import numpy as np
from gymnasium import spaces


class Tray(gymnasium.Env):
    """A marble that a tilt of 0 to 3 pushes; it costs to be far out. What it shows is a Dict, and
    whoever gives a tilt out of its bounds is told.
    """

    observation_space = spaces.Dict(
        place=spaces.Box(-9, 9, (2,)), side=spaces.Discrete(2), pushed=spaces.MultiBinary(1)
    )
    action_space = spaces.Box(0, 3, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1, 1)
        return self._shown(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.x = 0.8 * self.x + 0.4 * self._push(action) + 0.01 * self.np_random.normal()
        info = {"cost": float(self.x > 1)}
        return self._shown(), float(self.x), False, False, info

    def _push(self, action):
        return float(action[0]) - 1.0

    def _shown(self):
        place = np.array([self.x, 1.0], np.float32)
        return {"place": place, "side": int(self.x > 0), "pushed": np.array([1], np.int8)}


class Switch(Tray):
    """The same, pushed by one of three fingers that are numbered from 5."""

    action_space = spaces.Discrete(3, start=5)

    def _push(self, action):
        return float(action - 5)
