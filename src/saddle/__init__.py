"""Saddle: what a Lagrange multiplier buys in safe reinforcement learning.

Everything public is a name of this module, loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from saddle.hook import register_with_gymnasium

if TYPE_CHECKING:
    from saddle import analysis as analysis
    from saddle import gym as gym
    from saddle import plot as plot
    from saddle import tasks as tasks
    from saddle.collect.rollout import Decision as Decision
    from saddle.collect.rollout import Rollout as Rollout
    from saddle.dial_search import DialSetting as DialSetting
    from saddle.dial_search import dial as dial
    from saddle.errors import SaddleError as SaddleError
    from saddle.evaluation import Score as Score
    from saddle.evaluation import evaluate as evaluate
    from saddle.interface import analyze as analyze
    from saddle.interface import frontier as frontier
    from saddle.interface import import_omnisafe as import_omnisafe
    from saddle.interface import load_policy as load_policy
    from saddle.interface import run_study as run_study
    from saddle.interface import train as train
    from saddle.learners import PPO as PPO
    from saddle.learners import SAC as SAC
    from saddle.learners import Conditioned as Conditioned
    from saddle.learners import LearnerSettings as LearnerSettings
    from saddle.learners import register_learner as register_learner
    from saddle.learners.api import Learned as Learned
    from saddle.multipliers import CRPO as CRPO
    from saddle.multipliers import PID as PID
    from saddle.multipliers import AntiWindupPID as AntiWindupPID
    from saddle.multipliers import AugmentedLagrangian as AugmentedLagrangian
    from saddle.multipliers import Dial as Dial
    from saddle.multipliers import Fixed as Fixed
    from saddle.multipliers import GradientAscent as GradientAscent
    from saddle.multipliers import LogBarrier as LogBarrier
    from saddle.multipliers import MultiplicativeAscent as MultiplicativeAscent
    from saddle.multipliers import OptimisticAscent as OptimisticAscent
    from saddle.multipliers import RegularisedAscent as RegularisedAscent
    from saddle.multipliers import Rule as Rule
    from saddle.multipliers import register_rule as register_rule
    from saddle.study.plan import Plan as Plan
    from saddle.study.plan import Stage as Stage
    from saddle.study.sequential import UntilDecided as UntilDecided
    from saddle.study.store import Study as Study
    from saddle.study.store import open_study as open_study
    from saddle.tasks.gymnasium.environment import Environment as Environment
    from saddle.tasks.naming import make as make
    from saddle.tasks.registry import register as register

__version__ = "0.1.0"

_MODULES = ("analysis", "gym", "plot", "tasks")
_HOMES = {
    "CRPO": "saddle.multipliers",
    "PID": "saddle.multipliers",
    "PPO": "saddle.learners",
    "AntiWindupPID": "saddle.multipliers",
    "AugmentedLagrangian": "saddle.multipliers",
    "Conditioned": "saddle.learners",
    "Decision": "saddle.collect.rollout",
    "Dial": "saddle.multipliers",
    "DialSetting": "saddle.dial_search",
    "Environment": "saddle.tasks.gymnasium.environment",
    "Fixed": "saddle.multipliers",
    "GradientAscent": "saddle.multipliers",
    "Learned": "saddle.learners.api",
    "LearnerSettings": "saddle.learners",
    "LogBarrier": "saddle.multipliers",
    "MultiplicativeAscent": "saddle.multipliers",
    "OptimisticAscent": "saddle.multipliers",
    "Plan": "saddle.study.plan",
    "RegularisedAscent": "saddle.multipliers",
    "Rollout": "saddle.collect.rollout",
    "Rule": "saddle.multipliers",
    "SAC": "saddle.learners",
    "SaddleError": "saddle.errors",
    "Score": "saddle.evaluation",
    "Stage": "saddle.study.plan",
    "Study": "saddle.study.store",
    "UntilDecided": "saddle.study.sequential",
    "analyze": "saddle.interface",
    "dial": "saddle.dial_search",
    "evaluate": "saddle.evaluation",
    "frontier": "saddle.interface",
    "import_omnisafe": "saddle.interface",
    "load_policy": "saddle.interface",
    "make": "saddle.tasks.naming",
    "open_study": "saddle.study.store",
    "register": "saddle.tasks.registry",
    "register_learner": "saddle.learners",
    "register_rule": "saddle.multipliers",
    "run_study": "saddle.interface",
    "train": "saddle.interface",
}
"""Where each public name lives."""

__all__ = [*_MODULES, *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]

register_with_gymnasium()


def __getattr__(name: str) -> Any:
    """`saddle.train`, `saddle.PPO`, `saddle.tasks` and the like, loaded when they are first
    used.
    """
    if name in _MODULES:
        return importlib.import_module(f"saddle.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'saddle' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names alone."""
    return [*__all__, "__version__"]
