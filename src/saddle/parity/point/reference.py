"""What the rest of parity asks of a point task about the rows that the reference recorded of it."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from jaxtyping import Float

from saddle.parity.agreement import Decided
from saddle.parity.golden import Golden

if TYPE_CHECKING:
    from saddle.parity.compare import Outcome

PerRow = Float[np.ndarray, " rows"]


@dataclass(frozen=True)
class Margins:
    """How far what decides an event is from its threshold, in the reference's final state."""

    goal: PerRow
    """Of a success."""
    costs: Mapping[str, PerRow]
    """Of each part of the cost, by its name in the task's info without `cost_`."""


class PointReference(Protocol):
    """One point task. What has a value here holds for a task that says nothing else."""

    name: ClassVar[str]

    bodies: ClassVar[int] = 0
    """Free bodies besides the robot."""

    episode_arrays: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """Per-episode arrays besides `ep_agent`, and the shape of each behind the episode's axis."""

    indices: ClassVar[Mapping[str, int]] = {}
    """Per-row arrays of indices, and how many things they choose from."""

    drawn_after_success: ClassVar[tuple[str, ...]] = ()
    """Fields of the state that a success draws anew."""

    required: ClassVar[Mapping[str, Mapping[str, float]]] = {}
    """Event -> regime -> share of its rows that must agree, where that is not all rows of all."""

    def fields(self, golden: Golden, after: bool) -> dict[str, np.ndarray]:
        """What the rows say of the state's fields that not every point task has: name -> [N, ...],
        in float64.
        """
        return {}

    def free_bodies(self, state: Any) -> Float[np.ndarray, "rows bodies 13"]:
        """Those of a batched state, in the order of the reference's."""
        return np.zeros((len(state.steps), 0, 13))

    def clearances(self, golden: Golden, after: bool) -> Float[np.ndarray, "rows objects"]:
        """Signed distance of the robot's surface to each static object, in metres."""
        return np.zeros((golden.rows, 0))

    @abstractmethod
    def margins(self, golden: Golden) -> Margins:
        """In metres, from the reference's final state alone."""
        ...

    def further_events(
        self, golden: Golden, out: "Outcome", margins: Margins
    ) -> dict[str, Decided]:
        """Events that not every point task has, other than parts of the cost."""
        return {}
