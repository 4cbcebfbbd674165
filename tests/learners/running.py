"""Epochs of a population, and whether two of its states are the same."""

import jax
import numpy as np

from saddle import checkpoint


def run(population, epochs, state=None):
    """State, and metrics of each epoch."""
    state = population.init() if state is None else state
    rows = []
    for _ in range(epochs):
        state, metrics = population.epoch(state)
        rows.append(metrics)
    return state, rows


def stacked(population):
    """Metrics of a whole training [epochs, members, ...] by name."""
    _, rows = run(population, population.epochs)
    return {key: np.stack([row[key] for row in rows]) for key in rows[0]}


def same(a, b):
    """Whether all arrays are, to the last bit."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.array_equal(x, y, equal_nan=True) for x, y in pairs)


def through_a_file(population, state, path):
    """The state as it is after a checkpoint of it was written and read."""
    checkpoint.save(path, population.to_save(checkpoint.snapshot(state)), {})
    saved, _ = checkpoint.load(path, like=population.saved_shape())
    return population.restored(saved)
