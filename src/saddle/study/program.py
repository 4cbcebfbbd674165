"""What a unit executes: the learner behind a small protocol, so that the study's machinery can be
tested without it.
"""

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from saddle.config import Member
from saddle.float32 import in_float32
from saddle.learners.settings import LearnerSettings

POPULATION = "saddle.study.program:PopulationProgram"


class UnitProgram(Protocol):
    """A population of runs, advanced epoch by epoch. A state is everything that the next epoch
    depends on.
    """

    epochs: int

    def init(self) -> Any:
        """The state before the first epoch."""
        ...

    def epoch(self, state: Any) -> tuple[Any, dict[str, np.ndarray]]:
        """One epoch of all members; metrics are [members] or [members, m]. The old state is used
        up.
        """
        ...

    def epoch_of(self, state: Any) -> int:
        """Epochs done."""
        ...

    def reason(self, code: int) -> str:
        """What a member's `failed` code means."""
        ...

    def size(self, state: Any) -> int:
        """Bytes of a checkpoint."""
        ...

    def snapshot(self, state: Any) -> Any:
        """A copy that later epochs do not touch, in the machine's memory."""
        ...

    def save(self, path: Path, state: Any, facts: dict[str, Any]) -> None:
        """Write a checkpoint of a snapshot, atomically. Called in a thread, while epochs run."""
        ...

    def load(self, path: Path) -> tuple[Any, dict[str, Any]]:
        """State and facts of a checkpoint; warns when it had to fall back to an earlier one."""
        ...

    def export(self, state: Any, member: int, folder: Path) -> None:
        """Write a member's policy."""
        ...


Factory = Callable[[str, LearnerSettings, tuple[Member, ...], int], UnitProgram]


def factory(name: str) -> Factory:
    """The factory 'module:attribute' names. A name travels to other machines, where a function
    would not.
    """
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


class PopulationProgram:
    """The real thing."""

    @in_float32
    def __init__(
        self, task: str, learner: LearnerSettings, members: tuple[Member, ...], steps: int
    ) -> None:
        from saddle.population import Population

        self.population = Population(task, learner, members, steps)
        self.epochs = self.population.epochs

    @in_float32
    def init(self) -> Any:
        """The state before the first epoch."""
        return self.population.init()

    @in_float32
    def epoch(self, state: Any) -> tuple[Any, dict[str, np.ndarray]]:
        """One epoch of all members."""
        return self.population.epoch(state)

    def epoch_of(self, state: Any) -> int:
        """Epochs done."""
        return self.population.epoch_of(state)

    def reason(self, code: int) -> str:
        """What a member's `failed` code means."""
        from saddle.members import REASONS

        return REASONS.get(code, f"reason {code}")

    def size(self, state: Any) -> int:
        """Bytes of a checkpoint."""
        from saddle import checkpoint

        return checkpoint.size(state)

    @in_float32
    def snapshot(self, state: Any) -> Any:
        """A copy as NumPy arrays."""
        from saddle import checkpoint

        return self.population.to_save(checkpoint.snapshot(state))

    def save(self, path: Path, state: Any, facts: dict[str, Any]) -> None:
        """Write a checkpoint of a snapshot, atomically."""
        from saddle import checkpoint

        checkpoint.save(path, state, facts)

    @in_float32
    def load(self, path: Path) -> tuple[Any, dict[str, Any]]:
        """State and facts of a checkpoint."""
        from saddle import checkpoint

        saved, facts = checkpoint.load(path, like=self.population.saved_shape())
        return self.population.restored(saved), facts

    @in_float32
    def export(self, state: Any, member: int, folder: Path) -> None:
        """Write a member's policy."""
        from saddle import policy_files

        policy_files.save(
            folder, self.population.policy(state, member), self.population.policy_facts()
        )


def load_checkpoint(program: UnitProgram, path: Path) -> tuple[Any, dict[str, Any], list[str]]:
    """State, facts and warnings of a checkpoint; the initial state where there is none yet."""
    from saddle import checkpoint

    if not checkpoint.exists(path):
        return program.init(), {}, []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        state, facts = program.load(path)
    return state, facts, [str(warning.message) for warning in caught]
