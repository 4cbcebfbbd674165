"""Seeds of worlds."""

from collections.abc import Sequence

import numpy as np

from saddle.errors import SaddleError

SEEDS = 2**32  # as many as a PRNG key tells apart


def check_seeds(seeds: Sequence[int]) -> None:
    """Whole numbers that fit a PRNG key."""
    whole = all(isinstance(seed, int | np.integer) and not isinstance(seed, bool) for seed in seeds)
    if not whole or min(seeds) < 0 or max(seeds) >= SEEDS:
        raise SaddleError(f"a seed must be a whole number from 0 to {SEEDS - 1}")
