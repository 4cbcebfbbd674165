"""Many worlds of a task as one Gymnasium vector environment: a step of all of them is one compiled
call.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jax import Array

from saddle import tasks
from saddle.errors import SaddleError
from saddle.gym import checks, programs
from saddle.gym.forms import SixVectorValues
from saddle.gym.programs import Outcome
from saddle.seeds import SEEDS
from saddle.tasks import State, Task

Info = dict[str, Any]


class TaskVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """N worlds, stepped together, each restarting in the step in which it ends (Gymnasium's
    SAME_STEP).

    Where a world ended, the observation is the first of its next episode, `info["final_obs"]` holds
    the true final one and `info["final_info"]` the step's entries. Unlike Gymnasium's own vector
    environments, `info["cost"]` and the other entries are those of the step for every world, ended
    or not, so that no cost gets lost.

    World i of reset(seed=s) is the world of a single environment's reset(seed=s + i). task, width,
    height, options: as for `TaskEnv`; max_episode_steps: truncate earlier than the task does.
    """

    metadata = {  # noqa: RUF012 (Gymnasium's own convention)
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        task: str | Task,
        num_envs: int = 1,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        width: int = 400,
        height: int = 400,
        **options: Any,
    ) -> None:
        made = tasks.make(task, **options) if isinstance(task, str) else task
        checks.check_scene(made, render_mode)
        self.task = made
        self._drawn = made  # however early its episodes end
        if max_episode_steps is not None:
            length = checks.check_count(max_episode_steps, "max_episode_steps")
            self.task = programs.shortened(self.task, length)
        self.num_envs = checks.check_count(num_envs, "num_envs")
        self.metadata = {**self.metadata, "render_fps": round(1 / self.task.spec.dt)}
        self.render_mode = checks.check_render_mode(render_mode, self.metadata["render_modes"])
        self.size = (checks.check_count(width, "width"), checks.check_count(height, "height"))
        self.single_observation_space = checks.observation_space(made)
        self.single_action_space = checks.action_space(made)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._programs = programs.many(self.task)
        self._state: State | None = None
        self._canvas: Any = None

    @property
    def state(self) -> Any:
        """The worlds as they are now: the task's own State with a leading axis N."""
        if self._state is None:
            raise SaddleError("the worlds do not exist yet: call reset() first")
        return self._state

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """N fresh worlds. seed: of world 0, the others count up from it; or one for each world."""
        if options and "reset_mask" in options:
            raise SaddleError("worlds restart by themselves: reset() takes no reset_mask")
        keys = self._keys(seed)
        super().reset(seed=int(seed) if isinstance(seed, int | np.integer) else None)
        self._state = self._programs.reset(keys)
        return np.array(self.state.obs, np.float64), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """One env step of every world. actions [N, action_dim]."""
        actions = checks.check_action_of(self.task.spec, actions, (self.num_envs,))
        self._state, out = self._programs.step(self.state, actions)
        obs = np.array(self.state.obs, np.float64)
        final_obs = out.obs  # they stay on the device until a world ends
        out = jax.device_get(out._replace(obs=()))
        infos = vector_infos(out, final_obs, self.num_envs)
        return (
            obs,
            out.reward.astype(np.float64),
            out.terminated.copy(),
            out.truncated.copy(),
            infos,
        )

    def render(self) -> tuple[np.ndarray, ...] | None:  # type: ignore[override]
        """Every world from above, each [height, width, 3] uint8."""
        if not checks.renders(self.render_mode):
            return None
        from saddle.draw import Canvas

        state = jax.device_get(self.state)
        self._canvas = self._canvas or Canvas(self._drawn, self.size)
        worlds = (jax.tree.map(lambda leaf, i=i: leaf[i], state) for i in range(self.num_envs))
        return tuple(self._canvas.frame(world) for world in worlds)

    def close_extras(self, **kwargs: Any) -> None:
        """Let go of the drawing."""
        self._canvas = None

    def _keys(self, seed: int | Sequence[int] | None) -> Array:
        """What the next worlds are drawn from [N]: the seeds, else the worlds before, else
        chance.
        """
        if seed is None and self._state is not None:
            return programs.next_key(self._state.key)
        if seed is None:
            return jax.random.split(
                checks.world_keys([int(self.np_random.integers(SEEDS))])[0], self.num_envs
            )
        return checks.world_keys(checks.spread_seeds(seed, self.num_envs))


def vector_infos(out: Outcome, final_obs: Any, count: int) -> Info:
    """Gymnasium's vector info of `count` worlds: name -> [N] values, _name -> [N] whether world i
    has that entry.
    """
    everywhere = np.ones(count, bool)
    ended = out.terminated | out.truncated
    values = {"cost": out.cost, **out.info}
    shown = {"cost": everywhere, **out.shown}
    infos = _masked(values, shown, everywhere)
    if ended.any():
        final = np.full(count, None, object)
        for i, obs in zip(
            np.flatnonzero(ended), np.array(final_obs, np.float64)[ended], strict=True
        ):
            final[i] = obs.copy()
        infos |= {"final_obs": final, "_final_obs": ended.copy()}
        infos |= {"final_info": _masked(values, shown, ended), "_final_info": ended.copy()}
    return infos


def _masked(values: dict[str, np.ndarray], shown: dict[str, np.ndarray], where: np.ndarray) -> Info:
    """The entries that at least one world has, 0 or False for the worlds that have them not."""
    infos = {}
    for name, value in values.items():
        mask = shown[name] & where
        if mask.any():
            kind = bool if value.dtype == bool else np.float64
            infos |= {name: np.where(mask, value, 0).astype(kind), f"_{name}": mask}
    return infos


class SafeVectorEnv(SixVectorValues, TaskVectorEnv):  # type: ignore[misc]
    """The same worlds in Safety-Gymnasium's form: `step` returns the costs as a value of their
    own.
    """
