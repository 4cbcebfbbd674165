"""Costs that packages of environments do not have themselves."""

import numpy as np


def effort(obs, action, reward, info):
    """Squared action: of a MuJoCo body, what its motors take."""
    return float(np.sum(np.square(action)))


def current(obs, action, reward, info):
    """1 where the current of a motor in its rotating frame exceeds half of its limit."""
    state, _ = obs
    return float(np.hypot(state[5], state[6]) > 0.5)
