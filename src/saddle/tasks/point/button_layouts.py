"""Button1's layouts, drawn from the file beside this module (`pool.py` makes it).

A reset picks one of them and one of the 8 symmetries of the square, which leave the distribution as
it is.
"""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.errors import SaddleError

FILE = Path(__file__).with_name("button_layouts.npz")


def draw(key: Array) -> Array:
    """[13, 2]: xy in metres of the robot, 4 buttons, 4 hazards and 4 gremlins, in that order."""
    layouts = load()
    pick, symmetry = jax.random.bits(key, (2,))
    xy = jnp.asarray(layouts)[pick % len(layouts)].astype(float)
    swap, flip_x, flip_y = (symmetry & bit != 0 for bit in (1, 2, 4))
    xy = jnp.where(swap, xy[:, ::-1], xy)
    sign_x = jnp.where(flip_x, -1, 1)
    sign_y = jnp.where(flip_y, -1, 1)
    return xy * jnp.stack([sign_x, sign_y])


@functools.cache
def load() -> np.ndarray:
    """[n, 13, 2] float32: every layout of the file."""
    try:
        with np.load(FILE) as file:
            return file["xy"]
    except (OSError, KeyError, ValueError):
        raise SaddleError(
            f"{FILE.name} is missing or broken; 'python -m saddle.tasks.point.pool' makes it"
        ) from None
