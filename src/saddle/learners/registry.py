"""Learners by name: those that come with Saddle, those of installed packages, and those that a
program registers.
"""

import dataclasses
import math
from typing import Any, TypeVar

from saddle.classes import Classes
from saddle.errors import SaddleError
from saddle.learners.conditioned.settings import Conditioned
from saddle.learners.ppo.settings import PPO
from saddle.learners.sac.settings import SAC
from saddle.learners.settings import LearnerSettings, plain

ENTRY_POINTS = "saddle.learners"
"""The group under which a package names its learners: `name = "module:SettingsClass"`."""

SettingsClass = TypeVar("SettingsClass", bound=type[LearnerSettings])


def _algorithm(settings: type[LearnerSettings]) -> str:
    return settings.algorithm


LEARNERS = Classes("learner", LearnerSettings, ENTRY_POINTS, _algorithm, (PPO, Conditioned, SAC))


def register_learner(settings: SettingsClass) -> SettingsClass:
    """Make a learner known by its algorithm's name; also a decorator. Another one of the same name
    is refused.
    """
    return LEARNERS.register(settings)


def learners() -> dict[str, type[LearnerSettings]]:
    """Every learner's settings by name, Saddle's own first."""
    return LEARNERS.all()


def learner_class(name: str) -> type[LearnerSettings]:
    """The settings of the learner of that name, or of the reference `module:Class`; a wrong one
    says what there is.
    """
    return LEARNERS.find(name)


def learner_to_dict(settings: LearnerSettings) -> dict[str, Any]:
    """Plain JSON of a learner's settings; under 'algorithm' the name by which another process finds
    it.
    """
    return {"algorithm": LEARNERS.name_elsewhere(type(settings)), **plain(settings)}


def learner_from(fields: dict[str, Any]) -> LearnerSettings:
    """The settings that `learner_to_dict` described; what is not mentioned has its default."""
    kind = learner_class(fields.get("algorithm", PPO.algorithm))
    known = {field.name for field in dataclasses.fields(kind)}
    settings: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "algorithm":
            continue
        if name not in known:
            raise SaddleError(f"the learner {kind.algorithm!r} has no setting {name!r}")
        settings[name] = math.inf if value == "inf" else value
    return kind(**settings)
