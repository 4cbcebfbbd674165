"""Worlds that are stepped outside JAX: MuJoCo C, or anybody's simulator.

A JAX task steps inside the compiled program. These step on the host, between two calls of a
compiled policy; the learner sees the same Rollout from both.
"""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Num, UInt8, UInt64

from saddle.errors import SaddleError
from saddle.tasks.spec import TaskSpec


class HostStep(NamedTuple):
    """One step of N worlds, auto-reset included. All arrays are float32 but the flags."""

    obs: Float[np.ndarray, "N obs"]
    """What to act on next: first observations where an episode ended."""
    final_obs: Float[np.ndarray, "N obs"]
    """Before any reset."""
    reward: Float[np.ndarray, " N"]
    cost: Float[np.ndarray, "N m"]
    terminated: Bool[np.ndarray, " N"]
    truncated: Bool[np.ndarray, " N"]


class Restarted(NamedTuple):
    """Worlds that could not go on from where they were saved, and began a new episode instead."""

    where: Bool[np.ndarray, " N"]
    obs: Float[np.ndarray, "N obs"]
    """What to act on next: first observations where `where` holds."""
    cut_short: Bool[np.ndarray, " N"] | None = None
    """Worlds that keep the place in their episode's clock that was saved, so that the new episode
    ends before its time; None: none. Without it, worlds that were spread over the clock would all
    be at its beginning, and end together ever after.
    """


class HostWorlds(Protocol):
    """N worlds of one task. What happens in a world depends on its seed and its actions alone."""

    spec: TaskSpec

    def reset(self, seeds: UInt64[np.ndarray, " N"]) -> Float[np.ndarray, "N obs"]:
        """Start every world anew; returns the first observations."""
        ...

    def step(self, actions: Num[np.ndarray, "N action"]) -> HostStep:
        """One env step of every world. Actions are float32, or int32 below the spec's `choices`."""
        ...

    def save(self) -> dict[str, np.ndarray]:
        """Everything that the next step depends on, each entry with leading axis N; "steps" of the
        running episodes.
        """
        ...

    def load(self, saved: dict[str, np.ndarray]) -> Restarted | None:
        """Go on from what `save` returned. Worlds that cannot be saved tell which of them began a
        new episode.
        """
        ...


class PicturedWorlds(HostWorlds, Protocol):
    """One world that can be seen: what the optional member `pictured()` of a host task returns, or
    None where there is nothing to see after all.
    """

    def picture(self) -> UInt8[np.ndarray, "height width 3"]:
        """What the world looks like after its last step, before any new episode began."""
        ...


@runtime_checkable
class HostTask(Protocol):
    """A task whose worlds step on the host. `isinstance(task, HostTask)` asks for these two members
    and no class.
    """

    @property
    def spec(self) -> TaskSpec:
        """The task's facts."""
        ...

    def worlds(self, n: int, threads: int | None = None) -> HostWorlds:
        """N worlds. threads: as many as they may use, all cores unless given."""
        ...


def close_worlds(worlds: HostWorlds) -> None:
    """End the processes of worlds that have some: their member `close` is optional."""
    close = getattr(worlds, "close", None)
    if close is not None:
        close()


def random_actions(spec: TaskSpec, draw: np.random.Generator, worlds: int) -> np.ndarray:
    """Actions [worlds, action_dim] of a policy that does not care: uniform in [-1, 1], or any of
    the choices.
    """
    shape = (worlds, spec.action_dim)
    if spec.choices:
        return draw.integers(0, spec.choices, shape).astype(np.int32)
    return draw.uniform(-1, 1, shape).astype(np.float32)


def check_actions(spec: TaskSpec, worlds: int, actions: np.ndarray) -> np.ndarray:
    """The actions of so many worlds, if these can take them; else one line that says why not."""
    wanted = (worlds, spec.action_dim)
    if np.shape(actions) != wanted:
        raise SaddleError(f"{spec.name} takes actions of shape {wanted}, not {np.shape(actions)}")
    if not np.isfinite(actions).all():
        raise SaddleError(
            "an action must be finite, these hold NaN or infinity; check the policy that made them"
        )
    return np.asarray(actions)
