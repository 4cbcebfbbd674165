"""Saddle: what a Lagrange multiplier buys in safe reinforcement learning."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saddle.study.store import open_study as open_study

__version__ = "0.1.0"

# Who has Gymnasium loaded wants Saddle's names in its registry; nobody else pays for that import.
if "gymnasium" in sys.modules:
    from saddle import gym as gym


def __getattr__(name: str) -> Any:
    """`saddle.open_study`, loaded when it is first used."""
    if name == "open_study":
        from saddle.study.store import open_study

        return open_study
    raise AttributeError(f"module 'saddle' has no attribute {name!r}")
