"""How policies are improved: one folder a learner.

`settings.py` says what every learner's settings have, `api.py` what a learner does, `registry.py`
finds it by its name. Nothing here imports JAX until a population is made.
"""

from saddle.collect.settings import Layout
from saddle.learners.conditioned.settings import Conditioned
from saddle.learners.ppo.settings import PPO
from saddle.learners.registry import (
    learner_class,
    learner_from,
    learner_to_dict,
    learners,
    register_learner,
)
from saddle.learners.sac.settings import SAC
from saddle.learners.settings import LearnerSettings, Precision

__all__ = [
    "PPO",
    "SAC",
    "Conditioned",
    "Layout",
    "LearnerSettings",
    "Precision",
    "learner_class",
    "learner_from",
    "learner_to_dict",
    "learners",
    "register_learner",
]
