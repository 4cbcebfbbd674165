"""What an environment is, as far as one of it can tell: sizes, bounds, limits, costs."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Any, Callable, Mapping, Optional

import numpy as np

from . import saving
from .batch import may_be_cut
from .episodes import Episodes
from .making import Maker, batch_size, step_seconds, time_limit
from .problem import Problem
from .signals import Signals, Step, listed, read_step
from .spaces import Actions, Flat, described, flat, has_pixels
from .wire import MAKING, RESETTING, STEPPING

MORE = 3  # worlds that are made to see how much memory one takes


def probe(maker: Maker, config: Mapping[str, Any], at: Callable[[int], None]) -> dict[str, Any]:
    """The facts, as plain values. What a person still has to say is in words under `problems`. `at`
    hears what is being done.
    """
    env = maker(1)
    size = batch_size(env)
    if size:
        at(RESETTING)
        facts = _of_batch(env, size, maker, config)
        at(MAKING)
        return facts
    space = flat(env.observation_space, "the observation")
    actions = Actions(env.action_space)
    episodes = Episodes(env)
    row = np.zeros(space.size)
    at(RESETTING)
    space.write(episodes.begin(0), row)
    action = actions.of(actions.random(np.random.default_rng(0), 1))[0]
    at(STEPPING)
    step = read_step(env.step(action))
    at(MAKING)
    space.write(step.obs, row)
    facts = _facts(env, space, actions, maker, config, step, action)
    facts["spaces"] = _spaces(env.observation_space, env.action_space)
    facts["batch"] = 0
    facts["may_be_cut"] = True
    facts["pixels"] = has_pixels(env.observation_space)
    facts["pictures"] = maker.can_draw(env)
    facts["way"] = saving.way_of(episodes, actions)
    facts["world_bytes"] = _world_bytes(maker)
    return facts


def _of_batch(env: Any, size: int, maker: Maker, config: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a vector environment, by its first world."""
    space = flat(env.single_observation_space, "the observation")
    actions = Actions(env.single_action_space)
    env.reset(seed=list(range(size)))
    chosen = np.asarray(actions.of(actions.random(np.random.default_rng(0), size)))
    obs, reward, terminated, truncated, infos = env.step(chosen)
    info = {key: values[0] for key, values in infos.items() if not key.startswith("_")}
    step = Step(obs[0], reward[0], terminated[0], truncated[0], info)
    facts = _facts(env, space, actions, maker, config, step, chosen[0])
    facts["spaces"] = _spaces(env.single_observation_space, env.single_action_space)
    facts["batch"] = size
    facts["may_be_cut"] = may_be_cut(env)
    facts["pixels"] = has_pixels(env.single_observation_space)
    facts["pictures"] = False
    facts["way"] = None
    facts["world_bytes"] = 0
    return facts


def _spaces(observation: Any, action: Any) -> dict[str, Any]:
    """What policies see and do there, for whoever plays them elsewhere."""
    return {"observation": described(observation), "action": described(action)}


def _facts(
    env: Any,
    space: Flat,
    actions: Actions,
    maker: Maker,
    config: Mapping[str, Any],
    step: Step,
    action: Any,
) -> dict[str, Any]:
    problems: list[str] = []
    costs = config["costs"] or _found_cost(step, problems)
    signals = Signals(costs, config["reward"], maker.functions)
    counts: Optional[list[int]] = None
    try:
        signals.reward(step.reward)
    except Problem as problem:
        problems.append(str(problem))
    try:
        counts = [len(row) for row in signals.costs(step, action)]
    except Problem as problem:
        problems.append(str(problem))
    return {
        "low": _bounds(space.low),
        "high": _bounds(space.high),
        "obs_dim": space.size,
        "action_dim": actions.size,
        "choices": actions.choices,
        "action_low": _bounds(actions.low),
        "action_high": _bounds(actions.high),
        "limit": time_limit(env),
        "dt": step_seconds(env),
        "costs": costs,
        "counts": counts,
        "problems": problems,
        "python": "{}.{}.{}".format(*sys.version_info[:3]),
    }


def _found_cost(step: Step, problems: list[str]) -> list[dict[str, Any]]:
    """The cost of an environment that nobody named one for."""
    if step.six is not None:
        return [{"kind": "six", "key": "", "place": 0}]
    if "cost" in step.info:
        return [{"kind": "info", "key": "cost", "place": 0}]
    count = int(np.size(step.reward))
    vector = f"; the reward has {count} components" if count > 1 else ""
    problems.append(
        f"nothing says what its cost is: add one (--cost SOURCE, or cost=SOURCE); info has "
        f"{listed(step.info)}{vector}"
    )
    return []


def _bounds(values: np.ndarray) -> Optional[list[Optional[float]]]:
    """Bounds in JSON, where None stands for none; None where there are no bounds at all."""
    if not np.isfinite(values).any():
        return None
    return [float(value) if np.isfinite(value) else None for value in values]


def _world_bytes(maker: Maker) -> int:
    """Memory that one more world takes, roughly."""
    before = _memory()
    made = []
    for seed in range(MORE):
        env = maker(1)
        Episodes(env).begin(seed)
        made.append(env)
    return max(0, _memory() - before) // MORE


def _memory() -> int:
    """Bytes of this process that are in memory."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux: the most that there ever was
        kilo = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * kilo
