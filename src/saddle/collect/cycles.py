"""What an epoch is made of in which members learn more than once."""

from typing import Any, Protocol

from jax import Array

from saddle.collect.normalise import Moments
from saddle.collect.rollout import Rollout, Worlds


class Cycles(Protocol):
    """A cycle is a rollout and what is learned from it; the epoch is closed after the last one.

    Rosters and states are a population's; states hold its worlds.
    """

    @property
    def count(self) -> int:
        """How many an epoch has."""
        ...

    def rollout(
        self, roster: Any, state: Any, cycle: Array | int
    ) -> tuple[Worlds, Moments, Rollout]:
        """A cycle's steps."""
        ...

    def learn(
        self,
        roster: Any,
        state: Any,
        cycle: Array | int,
        worlds: Worlds,
        moments: Moments,
        rollout: Rollout,
    ) -> tuple[Any, Any]:
        """The state after a cycle, and what the epoch's end wants to know of it."""
        ...

    def close(self, roster: Any, state: Any, reports: Any) -> tuple[Any, dict[str, Array]]:
        """The state after the epoch, and its metrics. reports [cycles, ...]."""
        ...
