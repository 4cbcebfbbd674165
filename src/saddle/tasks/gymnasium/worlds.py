"""Worlds of an environment, shared out over processes.

Every array that worlds and processes exchange lies in memory that all of them see; commands and
answers are a byte each, over pipes.
"""

import logging
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from saddle.errors import SaddleError
from saddle.machine import cores_to_use
from saddle.tasks.gymnasium.environment import Environment
from saddle.tasks.gymnasium.facts import Facts, configuration
from saddle.tasks.gymnasium.process import Process
from saddle.tasks.gymnasium.worker import pictures, wire
from saddle.tasks.gymnasium.worker.worlds import ANEW, LEAVE, RESTORE
from saddle.tasks.host import HostStep, Restarted, check_actions
from saddle.tasks.spec import TaskSpec

log = logging.getLogger("saddle")

ALIGNED = 64  # bytes: what a processor's cache holds together
NOT_BEGUN = "the worlds do not exist yet: call reset first"
PLACE = ("seed", "episode", "taken")  # with the observation, where a world is


class EnvironmentWorlds:
    """N worlds; `saddle.tasks.host.HostWorlds` says what each method does.

    processes: how many step them, one a core by default; a vector environment has one. pictured:
    whether `picture` will be asked for.

    A world's first episode is that of its seed; the seeds of those after it follow from that.
    Worlds that cannot be saved are loaded at the beginning of their next episode, unless they are
    where they were saved.
    """

    def __init__(
        self,
        environment: Environment,
        facts: Facts,
        spec: TaskSpec,
        n: int,
        processes: int | None = None,
        pictured: bool = False,
    ) -> None:
        for what, count in (("worlds", n), ("processes", processes)):
            if count is not None and count < 1:
                raise SaddleError(f"{what} is {count}; it must be at least 1")
        self.spec = spec
        self.worlds = n
        self.processes = 1 if facts.batch else min(n, processes or cores_to_use())
        self._environment = environment
        self._facts = facts
        self._pictured = pictured
        self._started: list[Process] = []
        self._begun = False
        self._told = False
        self._told_of_output = False
        self._told_of_cost = False
        self._layout = _layout(spec, n, self.processes)
        self._memory = _memory(_size(self._layout))
        weakref.finalize(self, os.close, self._memory)
        self._arrays = wire.shared_arrays(self._memory, self._layout)

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        """Start every world anew. seeds [N] -> first observations [N, obs_dim] float32."""
        if np.shape(seeds) != (self.worlds,):
            raise SaddleError(
                f"{self.worlds} worlds need {self.worlds} seeds, not an array of shape "
                f"{np.shape(seeds)}"
            )
        self._arrays["seed"][:] = np.asarray(seeds, np.uint64)
        self._command(wire.RESET)
        self._begun = True
        self._check_finite(("obs",), np.zeros(self.worlds, np.int64))
        return self._arrays["obs"].copy()

    def step(self, actions: np.ndarray) -> HostStep:
        """One env step of every world, and a new episode where one ended. actions [N,
        action_dim].
        """
        arrays = self._arrays
        arrays["action"][:] = self._check_actions(actions)
        steps = arrays["taken"] + 1
        self._command(wire.STEP)
        self._check_finite(("final", "reward", "cost", "obs"), steps)
        self._tell_of_negative_cost(steps)
        return HostStep(
            obs=arrays["obs"].copy(),
            final_obs=arrays["final"].copy(),
            reward=arrays["reward"].copy(),
            cost=arrays["cost"].copy(),
            terminated=arrays["terminated"].astype(bool),
            truncated=arrays["truncated"].astype(bool),
        )

    def save(self) -> dict[str, np.ndarray]:
        """Where the worlds are, and what they are where that can be saved."""
        saved = {name: self._arrays[name].copy() for name in (*PLACE, "obs")}
        saved["steps"] = self._arrays["clock"].copy()
        if self._facts.way is not None:
            saved["state"] = self._states()
        return saved

    def load(self, saved: dict[str, np.ndarray]) -> Restarted | None:
        """Go on from what `save` returned. Returns the worlds that could not, and began a new
        episode.
        """
        if len(saved["steps"]) != self.worlds:
            raise SaddleError(
                f"what was saved holds {len(saved['steps'])} worlds; there are {self.worlds}"
            )
        elsewhere = ~self._is_there(saved)
        restarted = None
        if elsewhere.any():
            restarted = self._put(saved, elsewhere)
        kept = np.ones(self.worlds, bool) if restarted is None else ~restarted.where
        if restarted is not None and self.may_be_cut:
            restarted = restarted._replace(cut_short=restarted.where & (saved["steps"] > 0))
            kept[:] = True
        self._arrays["clock"][kept] = saved["steps"][kept]
        return restarted

    @property
    def may_be_cut(self) -> bool:
        """Whether an episode may be ended before its time."""
        return self._facts.may_be_cut

    def picture(self) -> np.ndarray:
        """What the first world looks like after its last step, before any new episode began:
        [height, width, 3] uint8. One process draws: `pictured` goes with one world.
        """
        if not self._begun:
            raise SaddleError(NOT_BEGUN)
        (first,) = self._command(wire.DRAW)
        return pictures.from_bytes(first)

    def close(self) -> None:
        """End the processes. A reset starts them again."""
        self._begun = False
        for process in self._started:
            process.close()
        self._started = []

    @property
    def seconds(self) -> np.ndarray:
        """[processes], that each has spent in the environment's own code since it was started."""
        return self._arrays["spent"].copy()

    @property
    def printed(self) -> tuple[int, int, str] | None:
        """World, step and line that the environment printed first, if it printed anything."""
        for process in self._started:
            if process.printed is not None:
                return (*process.printed, process.first_output())
        return None

    def _states(self) -> np.ndarray:
        """[N, longest], each row the bytes of a world; the last eight say how many there are."""
        parts: list[bytes] = []
        for first, data in zip(self._firsts(), self._command(wire.SAVE), strict=True):
            sizes = self._arrays["sizes"][first : first + self._count(first)].tolist()
            place = 0
            for size in sizes:
                parts.append(data[place : place + size])
                place += size
        longest = max(len(part) for part in parts)
        rows = np.zeros((self.worlds, longest + 8), np.uint8)
        for row, part in zip(rows, parts, strict=True):
            row[: len(part)] = np.frombuffer(part, np.uint8)
            row[-8:] = np.frombuffer(wire.LENGTH.pack(len(part)), np.uint8)
        return rows

    def _is_there(self, saved: dict[str, np.ndarray]) -> np.ndarray:
        """[N], whether a world is where it was saved."""
        if not self._begun:
            return np.zeros(self.worlds, bool)
        alike = (self._arrays["obs"] == saved["obs"]).all(axis=1)
        for name in PLACE:
            alike &= self._arrays[name] == saved[name]
        return alike

    def _put(self, saved: dict[str, np.ndarray], where: np.ndarray) -> Restarted | None:
        """Bring worlds to where they were saved, or to the beginning of their next episode."""
        arrays = self._arrays
        at_start = saved["taken"] == 0
        lost = where & ~at_start & (self._facts.way is None)
        if self._facts.batch and (where & at_start).any():
            lost |= where  # its worlds begin together
        for name in (*PLACE, "obs"):
            arrays[name][where] = saved[name][where]
        arrays["episode"][lost] += 1
        arrays["how"][:] = LEAVE
        arrays["how"][where & ~at_start] = RESTORE
        arrays["how"][lost | (where & at_start)] = ANEW
        arrays["sizes"][:] = 0
        frames = [b""] * self.processes
        if self._facts.way is not None:
            frames = self._frames(saved["state"], where & ~at_start)
        self._command(wire.LOAD, frames)
        self._begun = True
        if not lost.any():
            return None
        if not self._told:
            self._told = True
            log.warning(
                "%s cannot be saved: its worlds go on from the beginning of their next episode",
                self._environment.name,
            )
        return Restarted(lost, arrays["obs"].copy())

    def _frames(self, states: np.ndarray, wanted: np.ndarray) -> list[bytes]:
        """For each process, the bytes of its worlds that are wanted."""
        frames = []
        for first in self._firsts():
            parts = []
            for world in range(first, first + self._count(first)):
                if wanted[world]:
                    (size,) = wire.LENGTH.unpack(states[world, -8:].tobytes())
                    parts.append(states[world, :size].tobytes())
                    self._arrays["sizes"][world] = size
            frames.append(b"".join(parts))
        return frames

    def _command(self, command: bytes, frames: list[bytes] | None = None) -> list[bytes]:
        """Have all processes do something at once; returns what each answered."""
        try:
            if not self._started:
                self._start()
            for number, process in enumerate(self._started):
                process.send(command, None if frames is None else frames[number])
            answers = [process.answer() for process in self._started]
        except BaseException:
            self.close()
            raise
        self._tell_of_output()
        return answers

    def _tell_of_output(self) -> None:
        """Say once that the environment prints, which nobody sees."""
        if self._told_of_output or self.printed is None:
            return
        self._told_of_output = True
        log.warning(
            "%s, world %d, step %d: it prints to standard output, which is not shown: %s",
            self._environment.name,
            *self.printed,
        )

    def _tell_of_negative_cost(self, steps: np.ndarray) -> None:
        """Say once that a cost is below 0: limits, and the weight that a multiplier has, are made
        for costs that are not.
        """
        if self._told_of_cost or self._arrays["cost"].min() >= 0:
            return
        self._told_of_cost = True
        world, constraint = np.argwhere(self._arrays["cost"] < 0)[0]
        log.warning(
            "%s, world %d, step %d: its cost %r is %g, but costs are 0 or more; of a reward's "
            "component take minus it, as --cost=-1 does",
            self._environment.name,
            world,
            steps[world],
            self.spec.constraints[constraint],
            self._arrays["cost"][world, constraint],
        )

    def _start(self) -> None:
        config = configuration(self._environment, self._facts.costs, self._pictured)
        config |= {
            "mode": "serve",
            "memory": self._memory,
            "arrays": self._layout,
            "counts": list(self._facts.counts),
            "limit": self.spec.episode_length,
            "way": self._facts.way,
        }
        for number, first in enumerate(self._firsts()):
            own = {"number": number, "first": first, "count": self._count(first)}
            self._started.append(
                Process(
                    config | own,
                    self._environment.name,
                    self._environment.python,
                    self._environment.timeout,
                    self._arrays["beats"][number],
                )
            )
        for process in self._started:
            process.answer()

    def _firsts(self) -> list[int]:
        """The first world of each process."""
        return [number * self.worlds // self.processes for number in range(self.processes)]

    def _count(self, first: int) -> int:
        """How many worlds the process has whose first world this is."""
        later = [other for other in self._firsts() if other > first]
        return min([*later, self.worlds]) - first

    def _check_actions(self, actions: np.ndarray) -> np.ndarray:
        """The actions, if the worlds can take them; else one line that says why not."""
        if not self._begun:
            raise SaddleError(NOT_BEGUN)
        return check_actions(self.spec, self.worlds, actions)

    def _check_finite(self, names: tuple[str, ...], steps: np.ndarray) -> None:
        """No observation, reward or cost is NaN or infinite."""
        for name in names:
            values = self._arrays[name]
            if np.isfinite(values).all():
                continue
            bad = ~np.isfinite(values.reshape(self.worlds, -1))
            world = int(np.flatnonzero(bad.any(axis=1))[0])
            value = values.reshape(self.worlds, -1)[world][bad[world]][0]
            self.close()
            when = f"step {steps[world]}" if steps[world] else "reset"
            raise SaddleError(
                f"{self._environment.name}, world {world}, {when}: its {_WORDS[name]} is "
                f"{value:g}; it must be finite"
            )


_WORDS = {
    "obs": "first observation",
    "final": "observation",
    "reward": "reward",
    "cost": "cost",
}


def _memory(size: int) -> int:
    """The descriptor of a file without a name, in memory where there is a place for such files."""
    shared = "/dev/shm"
    for folder in (shared if os.access(shared, os.W_OK) else None, None):
        descriptor, path = tempfile.mkstemp(dir=folder)
        os.unlink(path)  # noqa: PTH108 (a path as text)
        try:
            # Room is taken now: where there is none, writing later would end the process.
            os.posix_fallocate(descriptor, 0, size)
        except OSError as error:
            os.close(descriptor)
            reason = error
        else:
            return descriptor
    raise SaddleError(
        f"there is no room for {size / 1e6:.0f} MB that worlds share ({reason.strerror}); use "
        f"fewer worlds"
    )


def _layout(spec: TaskSpec, n: int, processes: int) -> dict[str, Any]:
    """Offset, shape and type of each array in the shared memory."""
    shapes: dict[str, tuple[tuple[int, ...], str]] = {
        "action": ((n, spec.action_dim), "f8"),
        "obs": ((n, spec.obs_dim), "f4"),
        "final": ((n, spec.obs_dim), "f4"),
        "reward": ((n,), "f4"),
        "cost": ((n, len(spec.constraints)), "f4"),
        "terminated": ((n,), "u1"),
        "truncated": ((n,), "u1"),
        "seed": ((n,), "u8"),
        "episode": ((n,), "i8"),
        "clock": ((n,), "i8"),
        "taken": ((n,), "i8"),
        "sizes": ((n,), "i8"),
        "how": ((n,), "u1"),
        "spent": ((processes,), "f8"),
        "beats": ((processes, 3), "i8"),
    }
    layout: dict[str, Any] = {}
    offset = 0
    for name, (shape, dtype) in shapes.items():
        layout[name] = (offset, shape, dtype)
        bytes_of_it = int(np.prod(shape)) * np.dtype(dtype).itemsize
        offset += -(-bytes_of_it // ALIGNED) * ALIGNED
    return layout


def _size(layout: dict[str, Any]) -> int:
    """Bytes of all arrays."""
    offset, shape, dtype = layout["beats"]
    return offset + int(np.prod(shape)) * np.dtype(dtype).itemsize
