"""The closed-form tasks of `toys` as environments of Gymnasium, written anew in NumPy."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, MultiDiscrete

ANY = Box(-np.inf, np.inf, (1,), np.float64)


class OneStep(gymnasium.Env):
    """An observation that says nothing, one action, and the end."""

    observation_space = Box(0.0, 1.0, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(1), {}

    def step(self, action):
        reward, costs = self.outcome(action)
        return np.ones(1), reward, False, True, costs

    def outcome(self, action):
        """Reward, and costs by name."""
        raise NotImplementedError


class BanditEnv(OneStep):
    """toys.Bandit."""

    action_space = ANY

    def outcome(self, action):
        return -((action[0] - 1) ** 2), {"cost": action[0] ** 2}


class TwoCostsEnv(OneStep):
    """toys.TwoCosts."""

    action_space = ANY

    def outcome(self, action):
        return -((action[0] - 1) ** 2), {"near": action[0] ** 2, "far": (action[0] + 1) ** 2}


class ChoicesEnv(OneStep):
    """toys.Choices."""

    action_space = MultiDiscrete([3, 2])
    rewards = ((0.0, 0.8, 1.0), (0.0, 0.5))
    costs = ((0.0, 0.3, 1.0), (0.0, 0.6))

    def outcome(self, action):
        reward = sum(row[i] for row, i in zip(self.rewards, action, strict=True))
        cost = sum(row[i] for row, i in zip(self.costs, action, strict=True))
        return reward, {"cost": cost}
