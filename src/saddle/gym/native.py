"""Velocity tasks as Gymnasium environments, on MuJoCo C: one world, and many of them over
threads.
"""

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
from saddle.gym.programs import Outcome
from saddle.gym.vector import vector_infos
from saddle.seeds import SEEDS, check_seeds
from saddle.tasks.velocity.engines import NativeTask
from saddle.tasks.velocity.native import NativeWorlds, Transition

Info = dict[str, Any]


class NativeEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A velocity task with Gymnasium's `reset` and `step`, in float64; actions are float32 as in
    the reference.

    reset(seed=s) gives the reference's world of that seed, and the resets after it give the
    reference's next ones. `info` holds the cost of the step as `cost`, the reference's own entries,
    and `diverged` where the physics broke. task: a velocity task or its name; width, height: pixels
    of a frame.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012 (Gymnasium's own convention)

    def __init__(
        self,
        task: str | NativeTask,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 360,
    ) -> None:
        self.task: NativeTask = tasks.make(task, engine="native") if isinstance(task, str) else task
        self.worlds = self.task.worlds(1, 1)
        self.metadata = {**self.metadata, "render_fps": round(1 / self.worlds.spec.dt)}
        self.render_mode = checks.check_render_mode(render_mode, self.metadata["render_modes"])
        self.size = (checks.check_count(width, "width"), checks.check_count(height, "height"))
        self.observation_space = checks.observation_space(self.task)
        self.action_space = checks.action_space(self.task)
        self._begun = self._ended = False
        self._camera: Any = None

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """A fresh world: the first observation and an empty info, as in the reference."""
        if seed is not None:
            check_seeds([seed])
        super().reset(seed=None if seed is None else int(seed))
        if seed is None and self._begun:
            obs = self.worlds.restart(np.ones(1, bool))
        else:
            obs = self.worlds.begin(
                np.array([self.np_random.integers(SEEDS) if seed is None else seed])
            )
        self._begun, self._ended = True, False
        return obs[0], {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, Info]:
        """One env step."""
        if self._ended:
            raise SaddleError("the episode has ended: call reset() before the next step()")
        action = checks.check_action_of(self.worlds.spec, action)
        out = outcome(self.worlds, self.worlds.advance(action[None]))
        self._ended = bool(out.terminated[0] or out.truncated[0])
        info = {name: value[0].item() for name, value in out.info.items() if out.shown[name][0]}
        info["cost"] = out.cost[0].item()
        return (
            out.obs[0],
            out.reward[0].item(),
            out.terminated[0].item(),
            out.truncated[0].item(),
            info,
        )

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        """The world from the side, [height, width, 3] uint8."""
        if not checks.renders(self.render_mode):
            return None
        from saddle.draw.camera import Camera

        self._camera = self._camera or Camera(self.worlds.body, self.size)
        return self._camera.frame(self.worlds.qpos[0])

    def close(self) -> None:
        """Let go of the picture's buffers."""
        if self._camera is not None:
            self._camera.close()
        self._camera = None


class SafeNativeEnv(SixValues, NativeEnv):  # type: ignore[misc]
    """The same world in Safety-Gymnasium's form: `step` returns the cost as a value of its own."""


class NativeVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """N worlds of a velocity task, stepped together over threads; restarts and infos as in
    `TaskVectorEnv`.

    World i of reset(seed=s) is the world of a single environment's reset(seed=s + i). threads: all
    cores by default.
    """

    metadata = {  # noqa: RUF012 (Gymnasium's own convention)
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        task: str | NativeTask,
        num_envs: int = 1,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        width: int = 480,
        height: int = 360,
        threads: int | None = None,
    ) -> None:
        self.num_envs = checks.check_count(num_envs, "num_envs")
        self.task: NativeTask = tasks.make(task, engine="native") if isinstance(task, str) else task
        self.worlds = self.task.worlds(self.num_envs, threads)
        spec = self.task.spec
        length = spec.episode_length if max_episode_steps is None else max_episode_steps
        self.length = min(spec.episode_length, checks.check_count(length, "max_episode_steps"))
        self.metadata = {**self.metadata, "render_fps": round(1 / spec.dt)}
        self.render_mode = checks.check_render_mode(render_mode, self.metadata["render_modes"])
        self.size = (checks.check_count(width, "width"), checks.check_count(height, "height"))
        self.single_observation_space = checks.observation_space(self.task)
        self.single_action_space = checks.action_space(self.task)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._begun = False
        self._camera: Any = None

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """N fresh worlds. seed: of world 0, the others count up from it; or one for each world."""
        if options and "reset_mask" in options:
            raise SaddleError("worlds restart by themselves: reset() takes no reset_mask")
        seeds = None if seed is None else checks.spread_seeds(seed, self.num_envs)
        super().reset(seed=int(seed) if isinstance(seed, int | np.integer) else None)
        if seeds is None and self._begun:
            return self.worlds.restart(np.ones(self.num_envs, bool)), {}
        drawn = (
            self.np_random.integers(SEEDS, size=self.num_envs) if seeds is None else np.array(seeds)
        )
        self._begun = True
        return self.worlds.begin(drawn), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """One env step of every world. actions [N, action_dim]."""
        actions = checks.check_action_of(self.worlds.spec, actions, (self.num_envs,))
        made = self.worlds.advance(actions)
        out = outcome(self.worlds, made._replace(truncated=self.worlds.steps >= self.length))
        infos = vector_infos(out, out.obs, self.num_envs)
        ended = out.terminated | out.truncated
        obs = out.obs.copy()
        if ended.any():
            obs[ended] = self.worlds.restart(ended)
        return obs, out.reward, out.terminated, out.truncated, infos

    def render(self) -> tuple[np.ndarray, ...] | None:  # type: ignore[override]
        """Every world from the side, each [height, width, 3] uint8."""
        if not checks.renders(self.render_mode):
            return None
        from saddle.draw.camera import Camera

        self._camera = self._camera or Camera(self.worlds.body, self.size)
        return tuple(self._camera.frame(qpos) for qpos in self.worlds.qpos)

    def close_extras(self, **kwargs: Any) -> None:
        """Let go of the picture's buffers."""
        if self._camera is not None:
            self._camera.close()
        self._camera = None


class SafeNativeVectorEnv(SixVectorValues, NativeVectorEnv):  # type: ignore[misc]
    """The same worlds in Safety-Gymnasium's form: `step` returns the costs as a value of their
    own.
    """


def outcome(worlds: NativeWorlds, made: Transition) -> Outcome:
    """The user's view of a step, arrays [N, ...]."""
    info = worlds.body.info(worlds.seen, made.velocity, made.reward) | {"diverged": made.diverged}
    shown = {
        name: made.diverged if name == "diverged" else np.ones(worlds.worlds, bool) for name in info
    }
    return Outcome(
        made.obs, made.reward, made.cost[:, 0], made.terminated, made.truncated, info, shown
    )
