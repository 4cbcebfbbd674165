"""Saddle: what a Lagrange multiplier buys in safe reinforcement learning."""

import sys

__version__ = "0.1.0"

# Who has Gymnasium loaded wants Saddle's names in its registry; nobody else pays for that import.
if "gymnasium" in sys.modules:
    from saddle import gym as gym
