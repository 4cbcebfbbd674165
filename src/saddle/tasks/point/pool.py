"""Makes the file of Button1 layouts: `python -m saddle.tasks.point.pool [FILE]`, about a minute on
one core.

The exact sequential algorithm restarts some fifty times for each layout, too dear for a reset.
Attempts are independent, so the successes of one long stream of them are what restarting would
give. The layout's goal marker reserves a disc while others are placed and is never used, so it is
not stored. Without FILE the command overwrites the file inside the package.
"""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
from jax import Array

from saddle import files
from saddle.tasks.point import layout
from saddle.tasks.point.button_layouts import FILE

# Of the robot, buttons, goal marker, hazards, gremlins
KEEPOUTS = (0.4, *[0.2] * 4, 0.4, *[0.18] * 4, *[0.4] * 4)
GOAL_MARKER = 5  # its place in that order
COUNT = 16_384
BATCH = 4_096  # attempts at a time
SEED = 0


def generate(key: Array, count: int) -> np.ndarray:
    """[count, 13, 2] float32: the first `count` successes, xy of robot, buttons, hazards and
    gremlins.
    """
    parts: list[np.ndarray] = []
    for success in _successes(key):
        parts.append(success)
        if sum(map(len, parts)) >= count:
            break
    return np.delete(np.concatenate(parts)[:count], GOAL_MARKER, axis=1)


def _successes(key: Array) -> Iterator[np.ndarray]:
    """Batches [k, 14, 2] of whole layouts."""

    def attempt(key: Array) -> tuple[Array, Array, Array]:
        return layout.place(key, KEEPOUTS, restart=False)

    attempts = jax.jit(jax.vmap(attempt))
    while True:
        key, batch = jax.random.split(key)
        _, xy, placed = attempts(jax.random.split(batch, BATCH))
        yield np.asarray(xy, np.float32)[np.asarray(placed)]


def main() -> None:
    """Write the file."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    with io.BytesIO() as buffer:
        np.savez_compressed(buffer, xy=generate(jax.random.key(SEED), COUNT))
        files.write(path, buffer.getvalue(), files.AGAIN)
    print(f"{COUNT} layouts written to {path}")


if __name__ == "__main__":
    main()
