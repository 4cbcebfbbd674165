"""One world of a task as a Gymnasium environment, in five and in six values."""

from typing import Any

import gymnasium
import jax
import numpy as np
from jax import Array

from saddle import tasks
from saddle.errors import SaddleError
from saddle.gym import checks, programs
from saddle.gym.forms import SixValues
from saddle.gym.programs import Outcome
from saddle.seeds import SEEDS
from saddle.tasks import State, Task

Info = dict[str, Any]


class TaskEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A task of `saddle.tasks` with Gymnasium's `reset` and `step`.

    Observations and actions are float64 as in Safety-Gymnasium; the arithmetic inside is float32.
    `info` holds the cost of the step as `cost`, summed over the constraints, of several constraints
    each by its name (`cost_NAME`), and the reference's own entries: `cost_sum`, `cost_hazards`,
    `goal_met` only when met. reset(seed=s) gives the world of
    `task.reset(jax.random.key(s))`; later resets go on from there.

    task: a name, a reference 'module:attribute', or the task; width, height: pixels of a frame;
    options: the task's own fields.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012 (Gymnasium's own convention)

    def __init__(
        self,
        task: str | Task,
        render_mode: str | None = None,
        width: int = 400,
        height: int = 400,
        **options: Any,
    ) -> None:
        self.task = tasks.make(task, **options) if isinstance(task, str) else task
        self.metadata = {**self.metadata, "render_fps": round(1 / self.task.spec.dt)}
        self.render_mode = checks.check_render_mode(render_mode, self.metadata["render_modes"])
        self.size = (checks.check_count(width, "width"), checks.check_count(height, "height"))
        checks.check_scene(self.task, render_mode)
        self.observation_space = checks.observation_space(self.task)
        self.action_space = checks.action_space(self.task)
        self._programs = programs.single(self.task)
        self._state: State | None = None
        self._ended = False
        self._canvas: Any = None

    @property
    def state(self) -> Any:
        """The world as it is now: the task's own State."""
        if self._state is None:
            raise SaddleError("the world does not exist yet: call reset() first")
        return self._state

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """A fresh world: the first observation and an empty info, as in the reference."""
        key = self._key(seed)
        super().reset(seed=None if seed is None else int(seed))
        self._state = self._programs.reset(key)
        self._ended = False
        return np.array(self.state.obs, np.float64), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, Info]:
        """One env step."""
        if self._ended:
            raise SaddleError("the episode has ended: call reset() before the next step()")
        action = checks.check_action_of(self.task.spec, action)
        self._state, out = self._programs.step(self.state, action)
        out: Outcome = jax.tree.map(np.asarray, out)
        self._ended = bool(out.terminated or out.truncated)
        info = {name: value.item() for name, value in out.info.items() if out.shown[name]}
        info["cost"] = out.cost.item()
        obs = out.obs.astype(np.float64)
        return obs, out.reward.item(), out.terminated.item(), out.truncated.item(), info

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        """The world from above, [height, width, 3] uint8."""
        if not checks.renders(self.render_mode):
            return None
        from saddle.draw import Canvas

        state = jax.device_get(self.state)
        self._canvas = self._canvas or Canvas(self.task, self.size)
        return self._canvas.frame(state)

    def close(self) -> None:
        """Let go of the drawing."""
        self._canvas = None

    def _key(self, seed: int | None) -> Array:
        """What the next world is drawn from: the seed, else the world before, else chance."""
        if seed is None and self._state is not None:
            return programs.next_key(self._state.key)
        return checks.world_keys([int(self.np_random.integers(SEEDS)) if seed is None else seed])[0]


class SafeEnv(SixValues, TaskEnv):  # type: ignore[misc]
    """The same world in Safety-Gymnasium's form: `step` returns the cost as a value of its own."""
