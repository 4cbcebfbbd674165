"""What an environment draws of itself, as arrays."""

from __future__ import annotations

import inspect
import struct
from typing import Any, Mapping

import numpy as np

from .problem import Problem

MODE = "rgb_array"
SIZE = struct.Struct("<II")  # height and width of a picture, in front of its bytes


def options(takes: Mapping[str, Any], of_registry: bool) -> dict[str, str]:
    """What a function that takes these has to be told so that an environment draws itself; nothing
    where it cannot be told. of_registry: whether it makes ids, and hands on what it does not know.
    """
    by_itself = "render_mode" in takes
    # Gym's before 0.25 would hand it to environments that do not know it.
    handed_on = of_registry and "disable_env_checker" in takes
    return {"render_mode": MODE} if by_itself or handed_on else {}


def can_draw(env: Any, asked: bool) -> bool:
    """Whether it says that it can draw itself as an array. asked: whether what makes it can be told
    to.
    """
    if getattr(env, "render_mode", None) == MODE:
        return True
    metadata = getattr(env, "metadata", None) or {}
    modes = metadata.get("render_modes") or metadata.get("render.modes") or ()
    return MODE in modes and (asked or _takes_mode(env))


def picture(env: Any) -> np.ndarray:
    """What the environment looks like now: [height, width, 3] uint8."""
    by_call = getattr(env, "render_mode", None) is None and _takes_mode(env)
    found = env.render(mode=MODE) if by_call else env.render()
    drawn = np.asarray(found)
    is_picture = drawn.ndim == 3 and drawn.size > 0 and drawn.shape[2] in (3, 4)
    if not is_picture or drawn.dtype != np.uint8:
        what = type(found).__name__
        if isinstance(found, np.ndarray):
            what = f"an array of {found.dtype} of shape {found.shape}"
        raise Problem(
            f"its render() gives {what}, not a picture: an array of uint8, [height, width, 3]"
        )
    return np.ascontiguousarray(drawn[..., :3])


def to_bytes(drawn: np.ndarray) -> bytes:
    """A picture as it goes through a pipe."""
    height, width, _ = drawn.shape
    return SIZE.pack(height, width) + drawn.tobytes()


def from_bytes(data: bytes) -> np.ndarray:
    """The picture that `to_bytes` wrote."""
    height, width = SIZE.unpack_from(data)
    return np.frombuffer(data, np.uint8, offset=SIZE.size).reshape(height, width, 3)


def _takes_mode(env: Any) -> bool:
    """Whether its `render` is told the mode, as in Gym before 0.26."""
    try:
        return "mode" in inspect.signature(env.render).parameters
    except (AttributeError, TypeError, ValueError):
        return False
