"""Worlds of a velocity task on MuJoCo C: the reference engine, batched over threads, for the CPU.

A world's first episode after `reset` with a seed is that of the reference with the same seed, and
so are the next ones.
"""

import logging
from typing import Any, NamedTuple

import numpy as np

from saddle import machine
from saddle.errors import SaddleError
from saddle.tasks.host import HostStep, check_actions
from saddle.tasks.spec import TaskSpec
from saddle.tasks.velocity.body import Body, observe, settle, upright
from saddle.tasks.velocity.threads import Physics

log = logging.getLogger("saddle")


class Transition(NamedTuple):
    """One env step of N worlds before any reset, in float64."""

    obs: np.ndarray  # [N, obs_dim]
    reward: np.ndarray  # [N]
    cost: np.ndarray  # [N, 1]
    terminated: np.ndarray  # [N] bool
    truncated: np.ndarray  # [N] bool
    velocity: np.ndarray  # [N, k] m/s
    diverged: np.ndarray  # [N] bool


class NativeWorlds:
    """N worlds; `saddle.tasks.host.HostWorlds` says what each method does.

    threads: how many MuJoCo uses, all cores by default. Public arrays are the state: qpos [N, nq],
    qvel [N, nv], seen [N, k] (the horizontal position that speeds are taken from), steps [N],
    diverged [N] (how often each broke down).
    """

    def __init__(self, body: Body, worlds: int, threads: int | None = None) -> None:
        for what, count in (("worlds", worlds), ("threads", threads)):
            if count is not None and count < 1:
                raise SaddleError(f"{what} is {count}; it must be at least 1")
        self.spec: TaskSpec = body.spec
        self.body = body
        self.worlds = worlds
        self.physics = Physics(body, worlds, min(worlds, threads or machine.cores_to_use()))
        model = self.physics.model
        self.qpos = np.tile(model.qpos0, (worlds, 1))
        self.qvel = np.zeros((worlds, model.nv))
        self.seen = np.zeros((worlds, body.travels))
        self.steps = np.zeros(worlds, np.int64)
        self.diverged = np.zeros(worlds, np.int64)
        self._draws: list[np.random.Generator] = []

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        """Start every world anew. seeds [N] -> first observations [N, obs_dim] float32."""
        return self.begin(seeds).astype(np.float32)

    def begin(self, seeds: np.ndarray) -> np.ndarray:
        """As `reset`, with observations in float64."""
        if np.shape(seeds) != (self.worlds,):
            raise SaddleError(
                f"{self.worlds} worlds need {self.worlds} seeds, not an array of shape "
                f"{np.shape(seeds)}"
            )
        self._draws = [np.random.default_rng(int(seed)) for seed in seeds]
        self.diverged[:] = 0
        return self.restart(np.ones(self.worlds, bool))

    def step(self, actions: np.ndarray) -> HostStep:
        """One env step of every world, and a new episode where one ended."""
        made = self.advance(actions)
        final = obs = made.obs.astype(np.float32)
        ended = made.terminated | made.truncated
        if ended.any():
            obs = final.copy()
            obs[ended] = self.restart(ended)
        reward = made.reward.astype(np.float32)
        cost = made.cost.astype(np.float32)
        return HostStep(obs, final, reward, cost, made.terminated, made.truncated)

    def advance(self, actions: np.ndarray) -> Transition:
        """One env step of every world and no reset. actions [N, action_dim]."""
        actions = self._check(actions)
        self.qpos, self.qvel, seen = self.physics.step(
            self.qpos, self.qvel, np.minimum(np.maximum(actions, -1), 1)
        )
        velocity = (seen - self.seen) / self.spec.dt
        self.seen = seen
        self.steps = self.steps + 1
        with np.errstate(invalid="ignore", over="ignore"):
            ruled = settle(self.body, self.qpos, self.qvel, velocity, actions, np)
        if ruled.diverged.any():
            self._report(ruled.diverged)
        truncated = self.steps >= self.spec.episode_length
        cost = ruled.cost[:, None]
        return Transition(
            ruled.obs, ruled.reward, cost, ruled.terminated, truncated, velocity, ruled.diverged
        )

    def restart(self, where: np.ndarray) -> np.ndarray:
        """New episodes in the worlds `where` [N] bool -> their first observations [count,
        obs_dim].
        """
        model, noise = self.physics.model, self.body.noise
        chosen = [self._draws[i] for i in np.flatnonzero(where)]
        places = np.empty((len(chosen), model.nq))
        speeds = np.empty((len(chosen), model.nv))
        for draw, place, speed in zip(
            chosen, places, speeds, strict=True
        ):  # in the order of the reference's draws
            draw.random(out=place)
            (draw.standard_normal if self.body.normal else draw.random)(out=speed)
        qpos = model.qpos0 + (2 * noise * places - noise)
        self.qpos[where] = upright(qpos, np) if self.body.free else qpos
        self.qvel[where] = noise * speeds if self.body.normal else 2 * noise * speeds - noise
        self.seen[where] = self.qpos[where, : self.body.travels]
        self.steps[where] = 0
        return observe(self.body, self.qpos[where], self.qvel[where], np)

    def place(
        self, qpos: np.ndarray, qvel: np.ndarray, seen: np.ndarray, steps: np.ndarray
    ) -> None:
        """Put every world into a given state: qpos [N, nq], qvel [N, nv], seen [N, k], steps
        [N].
        """
        self.qpos, self.qvel, self.seen, self.steps = (
            np.array(x) for x in (qpos, qvel, seen, steps)
        )

    def save(self) -> dict[str, np.ndarray]:
        """Everything that the next step depends on."""
        names = ("qpos", "qvel", "seen", "steps", "diverged")
        draws = np.array([_pack(draw.bit_generator.state) for draw in self._draws], np.uint64)
        return {name: getattr(self, name).copy() for name in names} | {
            "draws": draws.reshape(-1, 6)
        }

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on from what `save` returned."""
        if len(saved["steps"]) != self.worlds:
            raise SaddleError(
                f"what was saved holds {len(saved['steps'])} worlds; this task has {self.worlds}"
            )
        self.place(saved["qpos"], saved["qvel"], saved["seen"], saved["steps"])
        self.diverged = np.array(saved["diverged"])
        self._draws = [np.random.Generator(_unpack(row)) for row in saved["draws"]]

    def _check(self, actions: np.ndarray) -> np.ndarray:
        """The actions, if the worlds can take them; else one line that says why not."""
        if not self._draws:
            raise SaddleError("the worlds do not exist yet: call reset first")
        return check_actions(self.spec, self.worlds, actions)

    def _report(self, diverged: np.ndarray) -> None:
        self.diverged += diverged
        log.warning(
            "%s: the physics of %d worlds diverged; they start anew (%d so far)",
            self.spec.name,
            diverged.sum(),
            self.diverged.sum(),
        )


_WORD = 2**64


def _pack(state: Any) -> list[int]:
    """The state of a PCG64 as six words: two of 128 bits each, and a number left over from the last
    draw.
    """
    numbers = (state["state"]["state"], state["state"]["inc"])
    halves = [half for number in numbers for half in divmod(number, _WORD)]
    return [*halves, state["has_uint32"], state["uinteger"]]


def _unpack(row: np.ndarray) -> np.random.PCG64:
    """The generator that `_pack` took apart."""
    high, low, inc_high, inc_low, kept, number = (int(word) for word in row)
    made = np.random.PCG64()
    words = {"state": high * _WORD + low, "inc": inc_high * _WORD + inc_low}
    state: Any = {"bit_generator": "PCG64", "state": words, "has_uint32": kept, "uinteger": number}
    made.state = state
    return made
