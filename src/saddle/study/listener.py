"""Who watches a study run, and what a listener learns."""

from typing import NamedTuple, Protocol

import numpy as np


class EpochDone(NamedTuple):
    """What a listener learns of an epoch."""

    unit: str
    epoch: int
    """Epochs done."""
    epochs: int
    """Epochs in all."""
    runs: tuple[str, ...]
    """The unit's members, in their order."""
    seconds: float
    """That the epoch took."""
    metrics: dict[str, np.ndarray]
    """Of every member [members], or [members, m] where there is one per constraint; {} where a unit
    runs in another process, whose metrics are in the store.
    """

    def copied(self) -> "EpochDone":
        """The same with metrics of its own, which whoever gets it may change."""
        metrics = {name: np.array(values) for name, values in self.metrics.items()}
        return self._replace(metrics=metrics)


class Listener(Protocol):
    """Who watches a study run."""

    def epoch(self, done: EpochDone) -> None:
        """A unit finished an epoch."""
        ...

    def say(self, text: str) -> None:
        """Something a person should know."""
        ...


class CallbackError(Exception):
    """A callback of whoever runs the study raised `error`, which ends the study.

    What was saved stays, and the study can be resumed.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Messages:
    """A listener that keeps what was said, for whoever asks afterwards."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def epoch(self, done: EpochDone) -> None:
        """Nothing: progress is in the store."""

    def say(self, text: str) -> None:
        """Remember it."""
        self.said.append(text)
