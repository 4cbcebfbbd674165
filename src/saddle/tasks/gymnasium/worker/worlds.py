"""Worlds stepped one after the other.

Arrays are this process's part of the shared memory, with one row a world:
action [n, A], obs and final [n, D], reward [n], cost [n, m], terminated and truncated [n] (0 or 1),
seed and episode [n] (what episodes follow from), clock [n] (steps that count towards the time
limit), taken [n] (steps since the reset), sizes and how [n] (of saved worlds).
"""

from __future__ import annotations

import os
from time import perf_counter
from typing import Any, Callable, Dict, Iterable, Optional

import numpy as np

from . import pictures, saving
from .episodes import Episodes, seed_of
from .signals import Signals, read_step
from .spaces import Actions, flat
from .wire import DRAWING, PHASE, RESETTING, STEPPING, TICKS, WORLD

LEAVE, ANEW, RESTORE = 0, 1, 2  # what a load does with a world
STANDARD_OUTPUT, STANDARD_ERROR = 1, 2  # file descriptors
MOST_PRINTED = 1 << 20  # bytes that an environment may print before they are thrown away

Arrays = Dict[str, np.ndarray]
Printed = Callable[[int, int], None]
"""Is told the world and the step in which something was printed first."""


class Beat:
    """What the process is at, for those who watch it: [3] ticks, world, phase."""

    def __init__(self, row: np.ndarray, first: int, printed: Printed) -> None:
        self._row = row.data  # NumPy takes three times as long to write a number
        self._first = first
        self._printed = printed
        self._told = False

    def at(self, world: int, phase: int) -> None:
        """Begin with a world."""
        self._row[WORLD] = self._first + world
        self._row[PHASE] = phase
        self._row[TICKS] += 1

    def look_at_output(self, world: int, taken: np.ndarray) -> None:
        """Tell once in which world's step something was printed first."""
        if not self._told and _output_size():
            self._told = True
            self._printed(self._first + world, int(taken[world]))

    def keep_output_small(self) -> None:
        """Throw away what was printed before it fills a disk."""
        for descriptor in (STANDARD_OUTPUT, STANDARD_ERROR):
            if os.fstat(descriptor).st_size > MOST_PRINTED:
                os.ftruncate(descriptor, 0)


def _output_size() -> int:
    """Bytes that were printed. `fstat` would say it too, in four times the time."""
    try:
        return os.lseek(STANDARD_OUTPUT, 0, os.SEEK_END)
    except OSError:  # the environment has put something there that has no size
        return 0


class SingleWorlds:
    """Ordinary environments, one a world."""

    def __init__(
        self,
        envs: list[Any],
        signals: Signals,
        arrays: Arrays,
        limit: int,
        beat: Beat,
        pictured: bool,
    ) -> None:
        """pictured: whether somebody asks what the first world looks like."""
        self._episodes = [Episodes(env) for env in envs]
        self._signals = signals
        self._arrays = arrays
        self._limit = limit
        self._beat = beat
        self._write = flat(envs[0].observation_space, "the observation").write
        self._actions = Actions(envs[0].action_space)
        self._firsts = list(arrays["obs"])
        self._finals = list(arrays["final"])
        self._costs = list(arrays["cost"])
        self._reward = arrays["reward"]
        self._pictured = pictured
        self._last_look: Optional[np.ndarray] = None
        """What the first world ended its episode in, until its next step."""
        self.spent = 0.0
        """Seconds in the environments' own code."""

    def reset(self) -> None:
        """Begin the first episode of every world's seed."""
        self._arrays["episode"][:] = 0
        self._last_look = None
        self._begin(range(len(self._episodes)))

    def step(self) -> None:
        """One step of every world, and a new episode where one ended."""
        arrays = self._arrays
        arrays["clock"] += 1
        arrays["taken"] += 1
        late = (arrays["clock"] >= self._limit).tolist()
        actions = self._actions.of(arrays["action"])
        arrays["terminated"][:] = 0
        arrays["truncated"][:] = late
        ended = []
        for world, (episodes, action) in enumerate(zip(self._episodes, actions)):
            self._beat.at(world, STEPPING)
            began = perf_counter()
            found = episodes.env.step(action)
            self.spent += perf_counter() - began
            step = read_step(found)
            self._write(step.obs, self._finals[world])
            self._reward[world] = self._signals.reward(step.reward)
            self._signals.write(step, action, self._costs[world])
            if step.terminated or step.truncated:
                arrays["terminated"][world] = bool(step.terminated)
                arrays["truncated"][world] = bool(step.truncated) or late[world]
                ended.append(world)
            elif late[world]:
                ended.append(world)
            self._beat.look_at_output(world, arrays["taken"])
        self._beat.keep_output_small()
        arrays["obs"][:] = arrays["final"]
        self._last_look = None
        if self._pictured and 0 in ended:
            self._beat.at(0, DRAWING)
            self._last_look = pictures.picture(self._episodes[0].env)
        if ended:
            arrays["episode"][ended] += 1
            self._begin(ended)

    def _begin(self, worlds: Iterable[int]) -> None:
        """The next episode of these worlds."""
        arrays = self._arrays
        for world in worlds:
            self._beat.at(world, RESETTING)
            arrays["clock"][world] = 0
            arrays["taken"][world] = 0
            seed = seed_of(int(arrays["seed"][world]), int(arrays["episode"][world]))
            began = perf_counter()
            obs = self._episodes[world].begin(seed)
            self.spent += perf_counter() - began
            self._write(obs, self._firsts[world])
            self._beat.look_at_output(world, arrays["taken"])

    def picture(self) -> np.ndarray:
        """What the first world looks like after its last step, before a new episode began."""
        if self._last_look is not None:
            return self._last_look
        return pictures.picture(self._episodes[0].env)

    def save(self, way: str) -> bytes:
        """All worlds, one after the other; `sizes` says how long each is."""
        parts = [saving.save(episodes.env, way) for episodes in self._episodes]
        self._arrays["sizes"][:] = [len(part) for part in parts]
        return b"".join(parts)

    def load(self, way: Optional[str], data: bytes) -> None:
        """Put each world where `how` says: nowhere else, into a new episode, or where it was."""
        how = self._arrays["how"]
        ends = np.cumsum(self._arrays["sizes"]).tolist()
        starts = [0, *ends[:-1]]
        for world in np.flatnonzero(how == RESTORE).tolist():
            assert way is not None
            saved = data[starts[world] : ends[world]]
            seed = seed_of(int(self._arrays["seed"][world]), int(self._arrays["episode"][world]))
            self._episodes[world] = saving.restore(self._episodes[world], way, saved, seed)
        self._begin(np.flatnonzero(how == ANEW).tolist())
