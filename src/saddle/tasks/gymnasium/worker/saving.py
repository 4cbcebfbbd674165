"""Worlds as bytes, where their environment allows that."""

from __future__ import annotations

import importlib
import pickle
from typing import Any, Optional

import numpy as np

from .episodes import Episodes
from .signals import read_step
from .spaces import Actions

STATE = "state"  # by the environment's own get_state and set_state
PICKLE = "pickle"  # the whole environment
ATTRIBUTES = "attributes"  # of it and of its wrappers: many that pickle would only make anew
WAYS = (STATE, PICKLE, ATTRIBUTES)
MOST_BYTES = 1 << 16  # of a world; every epoch saves all of them
TRIED = 5  # steps of a copy beside its original


def way_of(episodes: Episodes, actions: Actions) -> Optional[str]:
    """How such a world can be saved, one of WAYS, or None.

    What was saved goes on exactly as the original does, or it does not count.
    """
    for way in WAYS:
        try:
            if _goes_on(episodes, actions, way):
                return way
        except Exception:
            continue  # whatever an environment raises then, it cannot be saved that way
    return None


def save(env: Any, way: str) -> bytes:
    """A world as bytes."""
    saved = env
    if way == STATE:
        saved = _holder(env).get_state()
    elif way == ATTRIBUTES:
        saved = [_own_attributes(layer) for layer in _layers(env)]
    return _pickler().dumps(saved)


def restore(episodes: Episodes, way: str, data: bytes, seed: int) -> Episodes:
    """The world that was saved: the one at hand put there, or a new one."""
    found = pickle.loads(data)
    if way == PICKLE:
        return Episodes(found)
    episodes.begin(seed)  # for whatever else there is, such as the counters of wrappers
    if way == STATE:
        _holder(episodes.env).set_state(found)
        return episodes
    for layer, attributes in zip(_layers(episodes.env), found):
        vars(layer).update(attributes)
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


def _layers(env: Any) -> list[Any]:
    """The environment within its wrappers, outermost first."""
    layers = [env]
    while "env" in vars(layers[-1]):
        layers.append(layers[-1].env)
    return layers


def _own_attributes(layer: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(layer).items() if name != "env"}


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
