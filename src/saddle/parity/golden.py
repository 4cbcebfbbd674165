"""The reference's rows of one task in memory: one env step each."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saddle.tasks.velocity.bodies import BODIES


@dataclass(frozen=True)
class Golden:
    """The rows of one task: arrays [N, ...], and per-episode arrays [E, ...] named `ep_*`, indexed
    by `ep`.
    """

    task: str
    path: Path
    arrays: Mapping[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    @property
    def rows(self) -> int:
        """Env steps recorded."""
        return len(self["ep"])

    @property
    def velocity(self) -> bool:
        """Are these rows of a velocity task?"""
        return self.task in BODIES

    @property
    def episodes(self) -> int:
        """Episodes that the rows were taken from."""
        first = self.arrays.get("ep_seed" if self.velocity else "ep_agent", 0)
        return len(first) if isinstance(first, np.ndarray) and first.ndim else 0

    @property
    def bodies(self) -> int:
        """Free bodies besides the robot, in a point task."""
        return (self["qpos"].shape[1] - 3) // 7

    def episode(self, name: str) -> np.ndarray:
        """A per-episode array, repeated for each row: [N, ...]."""
        return self[name][self["ep"]]

    def end(self, name: str, after: bool) -> np.ndarray:
        """What was recorded at both ends of the step: before it, or after it."""
        return self[f"{name}2" if after else name]

    def previous(self, name: str, after: bool) -> np.ndarray:
        """[N] a distance that was recorded before the step only: zeros after it."""
        return np.zeros(self.rows) if after else self[name]
