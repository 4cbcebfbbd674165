"""Worlds as bytes, where their environment allows that."""

from __future__ import annotations

import importlib
import pickle
from typing import Any, Optional

import numpy as np

from .episodes import Episodes
from .signals import read_step
from .spaces import Actions

STATE, PICKLE = "state", "pickle"
MOST_BYTES = 1 << 16  # of a world; every epoch saves all of them
TRIED = 5  # steps of a copy beside its original


def way_of(episodes: Episodes, actions: Actions) -> Optional[str]:
    """How such a world can be saved, or None: by its `get_state` and `set_state`, or pickled whole.

    What was saved goes on exactly as the original does, or it does not count.
    """
    for way in (STATE, PICKLE):
        try:
            if _goes_on(episodes, actions, way):
                return way
        except Exception:
            continue  # whatever an environment raises then, it cannot be saved that way
    return None


def save(env: Any, way: str) -> bytes:
    """A world as bytes."""
    thing = _holder(env).get_state() if way == STATE else env
    return _pickler().dumps(thing)


def restore(episodes: Episodes, way: str, data: bytes, seed: int) -> Episodes:
    """The world that was saved: the one at hand put there, or a new one."""
    found = pickle.loads(data)
    if way == PICKLE:
        return Episodes(found)
    episodes.begin(seed)  # for the counters of wrappers, which the state may not hold
    _holder(episodes.env).set_state(found)
    return episodes


def _goes_on(episodes: Episodes, actions: Actions, way: str) -> bool:
    episodes.begin(1)
    rows = actions.random(np.random.default_rng(1), 2 + TRIED)
    for action in actions.of(rows[:2]):
        episodes.env.step(action)
    data = save(episodes.env, way)
    if len(data) > MOST_BYTES:
        return False
    went_on = _signature(episodes.env, actions, rows[2:])
    copied = restore(episodes, way, data, 2)
    return _signature(copied.env, actions, rows[2:]) == went_on


def _signature(env: Any, actions: Actions, rows: np.ndarray) -> bytes:
    """What the next steps show, up to the end of the episode."""
    shown = []
    for action in actions.of(rows):
        step = read_step(env.step(action))
        shown.append((step.obs, step.reward, bool(step.terminated), bool(step.truncated)))
        if step.terminated or step.truncated:
            break
    return pickle.dumps(_plain(shown))


def _plain(value: Any) -> Any:
    """The same in types whose bytes tell nothing but their content."""
    if isinstance(value, dict):
        return [(key, _plain(value[key])) for key in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    array = np.asarray(value)
    return (array.shape, array.astype(np.float64).tobytes())


def _holder(env: Any) -> Any:
    for holder in (env, getattr(env, "unwrapped", env)):
        if hasattr(holder, "get_state") and hasattr(holder, "set_state"):
            return holder
    raise AttributeError("get_state")


def _pickler() -> Any:
    """cloudpickle where it is there, which takes functions without a name too."""
    try:
        return importlib.import_module("cloudpickle")
    except ModuleNotFoundError:
        return pickle
