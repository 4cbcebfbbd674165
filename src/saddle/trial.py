"""A random policy in any task, to see what the task is like before anything is trained on it."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from saddle.tasks import HostStep, HostTask, TaskSpec
from saddle.tasks.host import random_actions

WORLDS = 16
EPISODES = 30  # that are played at least, if time allows
SECONDS = 10.0  # after which a trial ends, whatever has been seen
REPEATED = 20  # steps of two worlds with the same seed and the same actions
SEED = 5


@dataclass(frozen=True)
class Trial:
    """What was seen. Whole episodes [E], steps [S] of all worlds, m constraints."""

    returns: np.ndarray  # [E]
    costs: np.ndarray  # [E, m]
    lengths: np.ndarray  # [E]
    cut: np.ndarray  # [E] bool, whether an episode was truncated and did not terminate
    step_rewards: np.ndarray  # [S]
    step_costs: np.ndarray  # [S, m]
    ended: np.ndarray  # [S] bool, whether an episode ended with the step
    lowest: np.ndarray  # [obs_dim], of all observations
    highest: np.ndarray  # [obs_dim]
    steps_per_world: int
    not_finite: tuple[str, ...]  # of "observation", "reward" and "cost": NaN or infinite somewhere
    steps_per_second: float
    seeds_repeat: bool


class DeviceWorlds:
    """Worlds of a JAX task, stepped as those of a host task are."""

    def __init__(self, task: Any) -> None:
        import jax

        from saddle.tasks import autoreset

        def restart(seeds: Any) -> Any:
            return autoreset.reset(task, jax.vmap(jax.random.key)(seeds))

        def advance(state: Any, actions: Any) -> Any:
            return autoreset.step(task, state, actions)

        self._restart = jax.jit(restart)
        self._advance = jax.jit(advance)
        self._state: Any = None

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        """First observations [N, obs_dim]."""
        self._state = self._restart(seeds.astype(np.uint32))
        return np.asarray(self._state.obs)

    def step(self, actions: np.ndarray) -> HostStep:
        """One env step of every world."""
        now, ended = self._advance(self._state, actions)
        self._state = now
        return HostStep(
            obs=np.asarray(now.obs),
            final_obs=np.asarray(ended.obs),
            reward=np.asarray(ended.reward),
            cost=np.asarray(ended.cost),
            terminated=np.asarray(ended.terminated),
            truncated=np.asarray(ended.truncated),
        )


def worlds_of(task: Any, n: int) -> Any:
    """N worlds of any task, of JAX or of the host."""
    return task.worlds(n) if isinstance(task, HostTask) else DeviceWorlds(task)


def play(task: Any, seconds: float = SECONDS) -> Trial:
    """Whole episodes of any task under random actions, and whether seeds repeat."""
    spec: TaskSpec = task.spec
    repeat = seeds_repeat(task)
    worlds = worlds_of(task, WORLDS)
    draw = np.random.default_rng(SEED)
    seeds = np.arange(WORLDS, dtype=np.uint64)
    worlds.reset(seeds)
    worlds.step(random_actions(spec, draw, WORLDS))  # compiles, where anything does
    first = worlds.reset(seeds)
    totals = np.zeros((WORLDS, 2 + len(spec.constraints)))
    episodes: list[np.ndarray] = []
    cut: list[bool] = []
    steps: list[HostStep] = []
    stepping = 0.0
    began = time.monotonic()
    while len(episodes) < EPISODES and time.monotonic() - began < seconds:
        actions = random_actions(spec, draw, WORLDS)
        start = time.perf_counter()
        step = worlds.step(actions)
        stepping += time.perf_counter() - start
        steps.append(step)
        totals += np.column_stack([step.reward, np.ones(WORLDS), step.cost])
        ended = step.terminated | step.truncated
        episodes += list(totals[ended])
        cut += list(~step.terminated[ended])
        totals[ended] = 0
    found = np.array(episodes).reshape(-1, 2 + len(spec.constraints))
    observations = np.concatenate([first, *(step.final_obs for step in steps)])
    rewards = np.concatenate([step.reward for step in steps])
    costs = np.concatenate([step.cost for step in steps])
    seen = {"observation": observations, "reward": rewards, "cost": costs}
    not_finite = [name for name, values in seen.items() if not np.isfinite(values).all()]
    return Trial(
        returns=found[:, 0],
        lengths=found[:, 1],
        cut=np.array(cut, bool),
        costs=found[:, 2:],
        step_rewards=rewards,
        step_costs=costs,
        ended=np.concatenate([step.terminated | step.truncated for step in steps]),
        lowest=observations.min(axis=0),
        highest=observations.max(axis=0),
        steps_per_world=len(steps),
        not_finite=tuple(not_finite),
        steps_per_second=WORLDS * len(steps) / stepping,
        seeds_repeat=repeat,
    )


def seeds_repeat(task: Any) -> bool:
    """Whether two worlds with the same seed go the same way under the same actions, and again after
    a reset.
    """
    worlds = worlds_of(task, 2)
    draw = np.random.default_rng(SEED)
    alike = np.full(2, SEED, np.uint64)
    actions = np.repeat(random_actions(task.spec, draw, REPEATED), 2, axis=0)
    shown: list[np.ndarray] = []
    for _ in range(2):
        rows = [np.asarray(worlds.reset(alike))]
        for pair in np.split(actions, REPEATED):
            step = worlds.step(pair)
            rows.append(np.column_stack([step.final_obs, step.reward, step.cost]))
        shown.append(np.concatenate([row.reshape(2, -1) for row in rows], axis=1))
    first = shown[0][0]
    return all(np.array_equal(row, first, equal_nan=True) for pair in shown for row in pair)
