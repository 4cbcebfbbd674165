"""From a State to what is to be drawn: poses by kind, in plain NumPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from saddle.errors import SaddleError
from saddle.tasks import State, Task, TaskSpec
from saddle.tasks.point.layout import EXTENT
from saddle.tasks.point.lidar import BINS
from saddle.tasks.point.scripted import SENSORS
from saddle.tasks.point.view import Poses, TopView

ROOM = 0.35  # m, kept around the arena
CLEAR = 0.5  # m, kept around the ways of what moves


@dataclass(frozen=True)
class Episode:
    """One episode as it was played. states[0] is the world at reset, states[t] after step t; leaves
    are NumPy.
    """

    task: Task
    policy: str
    seed: int
    states: Sequence[State]

    @property
    def spec(self) -> TaskSpec:
        """The task's facts."""
        return self.task.spec

    @property
    def top_view(self) -> TopView:
        """How its world looks from above."""
        return top_view(self.task)

    @cached_property
    def positions(self) -> np.ndarray:
        """[T + 1, 2]: the robot's way."""
        return np.array([state.agent[:2] for state in self.states])  # type: ignore[attr-defined]

    @cached_property
    def view(self) -> tuple[float, float, float]:
        """Centre x, y and half-width of the square that shows the arena and the ways of all that
        moves.
        """
        places = []
        for state in self.states:
            there = poses(self.top_view, state)
            for mover in ("robot", *self.top_view.movers):
                places.append(there[mover][0, :2])
        ways = np.array(places)
        edge = EXTENT + ROOM
        low = np.minimum(ways.min(axis=0) - CLEAR, -edge)
        high = np.maximum(ways.max(axis=0) + CLEAR, edge)
        x, y = (low + high) / 2
        return float(x), float(y), float((high - low).max() / 2)

    @cached_property
    def rewards(self) -> np.ndarray:
        """[T + 1], 0 at reset."""
        return np.array([float(state.reward) for state in self.states])

    @cached_property
    def costs(self) -> np.ndarray:
        """[T + 1], summed over the constraints, 0 at reset."""
        return np.array([float(np.sum(state.cost)) for state in self.states])

    @cached_property
    def goals(self) -> np.ndarray | None:
        """[T + 1] bool: the steps that reached a goal; None for a task without goals."""
        if not hasattr(self.states[0], "goal_met"):
            return None
        return np.array([bool(state.goal_met) for state in self.states])  # type: ignore[attr-defined]


def top_view(task: Any) -> TopView:
    """How the task's world looks from above, where it has such a view: the point robot's worlds
    do.
    """
    view = getattr(task, "top_view", None)
    if view is None:
        raise SaddleError(f"{task.spec.name} cannot be drawn from above: it has no member top_view")
    return view


def poses(view: TopView, state: Any) -> Poses:
    """Where the robot and all things of the world are."""
    robot = state.agent[None, :3]
    pays = np.sum(state.cost) > 0
    alarm = robot if pays else robot[:0]
    return {"robot": robot, "nose": robot, "alarm": alarm, **view.things(state)}


def lidar(state: State) -> np.ndarray:
    """[groups, 16] readings in [0, 1]."""
    return np.asarray(state.obs)[SENSORS:].reshape(-1, BINS)
