"""What benches of a population have in common: what they refuse, its members, its epochs timed, and
how they name the machine.
"""

import time
from collections.abc import Sequence
from typing import Any

import jax

from saddle.config import USUAL_LIMIT, Member
from saddle.errors import SaddleError
from saddle.learners import LearnerSettings
from saddle.multipliers import Fixed
from saddle.population import Population
from saddle.study.prepare import check_members, constraints


def check_asked(task: str, learner: LearnerSettings, members: int, epochs: int) -> None:
    """Refuse what cannot be measured: nothing, or more members than memory holds."""
    if members < 1 or epochs < 1:
        raise SaddleError("--members and --epochs must be at least 1")
    check_members(task, learner, members)


def runs_at(lambdas: Sequence[float], task: str) -> list[Member]:
    """A member at each of these fixed multipliers."""
    limits = (USUAL_LIMIT,) * constraints(task)
    return [Member(i, Fixed(multiplier), limits) for i, multiplier in enumerate(lambdas)]


def device() -> str:
    """The device that programs run on."""
    first = jax.devices()[0]
    return f"{first.platform} {first.device_kind}"


class Timed:
    """A population, and the seconds of each of its epochs. The first one compiles."""

    def __init__(self, population: Population) -> None:
        self.population = population
        self.state: Any = population.init()
        self.seconds: list[float] = []

    def epoch(self) -> None:
        """One more, timed."""
        start = time.perf_counter()
        self.state, _ = self.population.epoch(self.state)
        self.seconds.append(time.perf_counter() - start)
