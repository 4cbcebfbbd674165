"""Tasks whose worlds step on the host as Gymnasium environments: one world, and many of them."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from saddle import tasks
from saddle.errors import SaddleError
from saddle.gym import checks
from saddle.gym.forms import SixValues, SixVectorValues
from saddle.gym.programs import Outcome, named_costs
from saddle.gym.vector import vector_infos
from saddle.seeds import SEEDS, check_seeds
from saddle.tasks import HostStep, HostTask, TaskSpec
from saddle.tasks.host import close_worlds

Info = dict[str, Any]


class HostEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One world of a HostTask. `info` holds the cost of the step as `cost`, summed over the
    constraints, and of several constraints each by its name, `cost_NAME`.

    Such worlds restart by themselves when an episode ends: reset() without a seed then goes on with
    that episode. task: a name, a reference, or the task.
    """

    metadata = {"render_modes": [], "render_fps": 50}  # noqa: RUF012 (Gymnasium's own convention)

    def __init__(self, task: str | HostTask, render_mode: str | None = None) -> None:
        self.task = tasks.make(task) if isinstance(task, str) else task
        checks.check_scene(self.task, render_mode)
        self.render_mode = None
        self.metadata = {**self.metadata, "render_fps": round(1 / self.task.spec.dt)}
        self.worlds = self.task.worlds(1, 1)
        self.observation_space = checks.observation_space(self.task)
        self.action_space = checks.action_space(self.task)
        self._begun = False
        # First observation of the episode that follows one that ended
        self._next: np.ndarray | None = None

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """A fresh world: the first observation and an empty info."""
        if seed is not None:
            check_seeds([seed])
        super().reset(seed=None if seed is None else int(seed))
        if seed is None and self._next is not None:
            obs = self._next
        else:
            drawn = self.np_random.integers(SEEDS) if seed is None else seed
            obs = self.worlds.reset(np.array([drawn], np.uint64))
        self._begun = True
        self._next = None
        return np.array(obs[0], np.float64), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, Info]:
        """One env step."""
        if not self._begun:
            raise SaddleError("the world does not exist yet: call reset() first")
        if self._next is not None:
            raise SaddleError("the episode has ended: call reset() before the next step()")
        action = checks.check_action_of(self.task.spec, action)
        now = self.worlds.step(action[None])
        terminated = bool(now.terminated[0])
        truncated = bool(now.truncated[0])
        if terminated or truncated:
            self._next = now.obs
        info = {"cost": float(np.sum(now.cost[0]))}
        for name, cost in named_costs(self.task.spec, now.cost[0]).items():
            info[name] = float(cost)
        return (
            np.array(now.final_obs[0], np.float64),
            float(now.reward[0]),
            terminated,
            truncated,
            info,
        )

    def close(self) -> None:
        """End what steps the world."""
        close_worlds(self.worlds)
        super().close()


class SafeHostEnv(SixValues, HostEnv):  # type: ignore[misc]
    """The same world in Safety-Gymnasium's form: `step` returns the cost as a value of its own."""


class HostVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """N worlds of a HostTask, stepped together; restarts and infos as in `TaskVectorEnv`.

    max_episode_steps: only the task's own, since its worlds end by themselves. threads: all cores
    by default.
    """

    metadata = {  # noqa: RUF012 (Gymnasium's own convention)
        "render_modes": [],
        "render_fps": 50,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        task: str | HostTask,
        num_envs: int = 1,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.task = tasks.make(task) if isinstance(task, str) else task
        checks.check_scene(self.task, render_mode)
        spec = self.task.spec
        if max_episode_steps is not None and max_episode_steps < spec.episode_length:
            raise SaddleError(
                f"{spec.name} ends its episodes by itself, after {spec.episode_length} steps; "
                f"leave max_episode_steps out"
            )
        self.render_mode = None
        self.metadata = {**self.metadata, "render_fps": round(1 / spec.dt)}
        self.num_envs = checks.check_count(num_envs, "num_envs")
        self.worlds = self.task.worlds(self.num_envs, threads)
        self.single_observation_space = checks.observation_space(self.task)
        self.single_action_space = checks.action_space(self.task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._begun = False

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """N fresh worlds. seed: of world 0, the others count up from it; or one for each world."""
        if options and "reset_mask" in options:
            raise SaddleError("worlds restart by themselves: reset() takes no reset_mask")
        seeds = None if seed is None else checks.spread_seeds(seed, self.num_envs)
        super().reset(seed=int(seed) if isinstance(seed, int | np.integer) else None)
        drawn = (
            self.np_random.integers(SEEDS, size=self.num_envs) if seeds is None else np.array(seeds)
        )
        self._begun = True
        return np.array(self.worlds.reset(drawn.astype(np.uint64)), np.float64), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """One env step of every world. actions [N, action_dim]."""
        if not self._begun:
            raise SaddleError("the worlds do not exist yet: call reset() first")
        actions = checks.check_action_of(self.task.spec, actions, (self.num_envs,))
        now = self.worlds.step(actions)
        infos = vector_infos(_outcome(self.task.spec, now), now.final_obs, self.num_envs)
        obs = np.array(now.obs, np.float64)
        reward = np.array(now.reward, np.float64)
        return obs, reward, np.array(now.terminated), np.array(now.truncated), infos

    def close_extras(self, **options: Any) -> None:
        """End what steps the worlds."""
        close_worlds(self.worlds)


class SafeHostVectorEnv(SixVectorValues, HostVectorEnv):  # type: ignore[misc]
    """The same worlds in Safety-Gymnasium's form: `step` returns the costs as a value of their
    own.
    """


def _outcome(spec: TaskSpec, now: HostStep) -> Outcome:
    """The user's view of a step, arrays [N, ...]."""
    cost = np.sum(now.cost, axis=-1)
    info = named_costs(spec, now.cost)
    shown = {name: np.ones(len(cost), bool) for name in info}
    return Outcome(now.final_obs, now.reward, cost, now.terminated, now.truncated, info, shown)
