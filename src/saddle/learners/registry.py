"""Learners by name: those that come with Saddle, those of installed packages, and those that a
program registers.
"""

import dataclasses
import math
from typing import Any, TypeVar

from saddle import references
from saddle.errors import SaddleError, did_you_mean
from saddle.learners.conditioned.settings import Conditioned
from saddle.learners.ppo.settings import PPO
from saddle.learners.sac.settings import SAC
from saddle.learners.settings import LearnerSettings, plain
from saddle.plugins import plugins

ENTRY_POINTS = "saddle.learners"
"""The group under which a package names its learners: `name = "module:SettingsClass"`."""

SettingsClass = TypeVar("SettingsClass", bound=type[LearnerSettings])

_LEARNERS: dict[str, type[LearnerSettings]] = {
    PPO.algorithm: PPO,
    Conditioned.algorithm: Conditioned,
    SAC.algorithm: SAC,
}
_plugins_read = False


def register_learner(settings: SettingsClass) -> SettingsClass:
    """Make a learner known by its algorithm's name; also a decorator. Another one of the same name
    is refused.
    """
    known = _LEARNERS.get(settings.algorithm)
    if known is not None and known is not settings:
        raise SaddleError(
            f"there is a learner {settings.algorithm!r} already ({known.__module__}); choose "
            f"another name"
        )
    _LEARNERS[settings.algorithm] = settings
    return settings


def learners() -> dict[str, type[LearnerSettings]]:
    """Every learner's settings by name, Saddle's own first. Packages are asked once, when somebody
    wants to know.
    """
    global _plugins_read
    if not _plugins_read:
        for found in plugins(ENTRY_POINTS, LearnerSettings, "learner"):
            register_learner(found)
        _plugins_read = True
    return dict(_LEARNERS)


def learner_class(name: str) -> type[LearnerSettings]:
    """The settings of the learner of that name, or of the reference `module:Class`; a wrong one
    says what there is.
    """
    if name in _LEARNERS:  # without asking packages
        return _LEARNERS[name]
    if references.is_reference(name):
        found = references.load(name, "learner")
        if not (isinstance(found, type) and issubclass(found, LearnerSettings)):
            raise SaddleError(
                f"{name} is not a learner: name a class derived from saddle.LearnerSettings"
            )
        return found
    known = learners()
    if name in known:
        return known[name]
    raise SaddleError(
        f"unknown learner {name!r}{did_you_mean(name, known)}; learners are {', '.join(known)}, "
        f"or name module:Class"
    )


def learner_to_dict(settings: LearnerSettings) -> dict[str, Any]:
    """Plain JSON of a learner's settings; under 'algorithm' the name by which another process finds
    it.
    """
    kind = type(settings)
    registered = _LEARNERS.get(kind.algorithm) is kind
    name = kind.algorithm if registered else references.reference_to(kind)
    return {"algorithm": name, **plain(settings)}


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
