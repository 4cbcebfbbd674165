"""The worlds of a vector environment, stepped as the one batch that they are. Arrays are as in
`worlds`.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, Mapping, Optional

import numpy as np

from .episodes import seed_of
from .problem import Problem
from .signals import Signals, Step
from .spaces import Actions, flat
from .wire import RESETTING, STEPPING
from .worlds import ANEW, Arrays, Beat

SAME_STEP, NEXT_STEP, DISABLED = "SAME_STEP", "NEXT_STEP", "DISABLED"
OTHER_MODES = f"make it with the autoreset mode {SAME_STEP} or {DISABLED}"
NOT_ALONE = (
    f"it begins an episode one step after the last one ended, and cannot begin some of its worlds "
    f"alone (options={{'reset_mask': ...}} of its reset): {OTHER_MODES}"
)


class BatchWorlds:
    """A vector environment, which begins its worlds' next episodes by itself or when it is told.

    One that would do so a step after an end, a step in which nothing happens, is told before that.
    """

    def __init__(self, env: Any, signals: Signals, arrays: Arrays, limit: int, beat: Beat) -> None:
        self._env = env
        self._signals = signals
        self._arrays = arrays
        self._beat = beat
        self._limit = limit
        self._write = flat(env.single_observation_space, "the observation").write
        self._actions = Actions(env.single_action_space)
        self._mode = _mode(env)
        self._tried = False
        self.spent = 0.0

    def reset(self) -> None:
        """Begin the first episode of every world's seed."""
        self._arrays["episode"][:] = 0
        everywhere = np.ones(len(self._arrays["obs"]), bool)
        self._begin(everywhere)
        if self._mode == NEXT_STEP and not self._tried and len(everywhere) > 1:
            self._tried = True
            self._try_one_alone()
            self._begin(everywhere)

    def _try_one_alone(self) -> None:
        """Begin one world anew in the midst of the others' episodes. They go on, unless the
        environment cannot be told to begin some of its worlds.
        """
        self._beat.at(0, STEPPING)
        actions = self._actions.of(np.zeros_like(self._arrays["action"]))
        before, *_ = self._env.step(np.asarray(actions))
        before = self._others(before)
        one = np.arange(len(self._arrays["obs"])) == 0
        seeds = [seed_of(seed, 1) for seed in self._arrays["seed"].tolist()]
        self._beat.at(0, RESETTING)
        try:
            after, _ = self._env.reset(seed=seeds, options={"reset_mask": one})
        except TypeError as error:
            if "options" not in str(error):
                raise
            raise Problem(NOT_ALONE) from None
        if not np.array_equal(before, self._others(after), equal_nan=True):
            raise Problem(NOT_ALONE)

    def _others(self, obs: Any) -> np.ndarray:
        """What all worlds but the first show."""
        rows = np.zeros_like(self._arrays["obs"])
        for world in range(1, len(rows)):
            self._write(obs[world], rows[world])
        return rows

    def step(self) -> None:
        """One step of all worlds."""
        arrays = self._arrays
        arrays["clock"] += 1
        arrays["taken"] += 1
        self._beat.at(0, STEPPING)
        actions = self._actions.of(arrays["action"])
        began = perf_counter()
        obs, reward, terminated, truncated, infos = self._env.step(np.asarray(actions))
        self.spent += perf_counter() - began
        late = arrays["clock"] >= self._limit
        ended = np.asarray(terminated) | np.asarray(truncated)
        if self._mode == SAME_STEP and (late & ~ended).any():
            raise Problem(
                f"its episodes go on after {self._limit} steps, and in the autoreset mode "
                f"{SAME_STEP} nobody else can end them; give it that limit, or leave "
                f"the episode length out"
            )
        for world in range(len(arrays["obs"])):
            info = _info_of(infos, world)
            own = obs[world]
            if self._mode == SAME_STEP and ended[world]:
                own = infos["final_obs"][world]
                info = _info_of(infos.get("final_info", infos), world)
            step = Step(own, reward[world], terminated[world], truncated[world], info)
            self._write(own, arrays["final"][world])
            arrays["reward"][world] = self._signals.reward(reward[world])
            self._signals.write(step, actions[world], arrays["cost"][world])
        arrays["terminated"][:] = terminated
        arrays["truncated"][:] = np.asarray(truncated) | late
        arrays["obs"][:] = arrays["final"]
        self._go_on(obs, ended | late)
        self._beat.look_at_output(0, arrays["taken"])
        self._beat.keep_output_small()

    def _go_on(self, obs: Any, ended: np.ndarray) -> None:
        """New episodes where one ended."""
        arrays = self._arrays
        arrays["episode"][ended] += 1
        if self._mode != SAME_STEP:
            if ended.any():
                self._begin(ended)
            return
        arrays["clock"][ended] = 0
        arrays["taken"][ended] = 0
        for world in np.flatnonzero(ended).tolist():
            self._write(obs[world], arrays["obs"][world])

    def _begin(self, where: np.ndarray) -> None:
        arrays = self._arrays
        self._beat.at(0, RESETTING)
        arrays["clock"][where] = 0
        arrays["taken"][where] = 0
        pairs = zip(arrays["seed"].tolist(), arrays["episode"].tolist())
        seeds = [seed_of(seed, episode) for seed, episode in pairs]
        began = perf_counter()
        if where.all():
            obs, _ = self._env.reset(seed=seeds)
        else:
            obs, _ = self._env.reset(seed=seeds, options={"reset_mask": where})
        self.spent += perf_counter() - began
        for world in np.flatnonzero(where).tolist():
            self._write(obs[world], arrays["obs"][world])

    def picture(self) -> np.ndarray:
        """Nothing: its worlds cannot be seen one by one."""
        raise Problem("the worlds of a vector environment cannot be drawn")

    def save(self, way: str) -> bytes:
        """Nothing: its worlds cannot be had one by one."""
        raise Problem("the worlds of a vector environment cannot be saved")

    def load(self, way: Optional[str], data: bytes) -> None:
        """New episodes where `how` says so: in the mode SAME_STEP of all worlds or of none."""
        where = self._arrays["how"] == ANEW
        if where.any():
            self._begin(where if self._mode != SAME_STEP else np.ones_like(where))


def may_be_cut(env: Any) -> bool:
    """Whether a world's episode can be ended before the environment ends it."""
    return _mode_name(env) != SAME_STEP


def _mode_name(env: Any) -> str:
    """What its metadata say."""
    mode = getattr(env, "metadata", {}).get("autoreset_mode")
    return str(getattr(mode, "name", mode)).upper()


def _mode(env: Any) -> str:
    """When it begins its worlds' next episodes."""
    name = _mode_name(env)
    if name not in (SAME_STEP, NEXT_STEP, DISABLED):
        raise Problem(
            f"its metadata do not say when it begins its worlds' next episodes: {OTHER_MODES}, and "
            f"say so as 'autoreset_mode'"
        )
    if (
        name == NEXT_STEP
        and getattr(getattr(env, "unwrapped", env), "shared_memory", True) is False
    ):
        # Gymnasium's, whose worlds without it begin anew once more after a reset.
        raise Problem(
            f"without shared_memory it begins episodes that nobody asked for: {OTHER_MODES}"
        )
    return name


def _info_of(infos: Mapping[str, Any], world: int) -> dict[str, Any]:
    """One world's entries of the infos of a vector environment."""
    own = {}
    for key, values in infos.items():
        if key.startswith("_"):
            continue
        there = infos.get(f"_{key}")
        if isinstance(values, np.ndarray) and (there is None or there[world]):
            own[key] = values[world]
    return own
