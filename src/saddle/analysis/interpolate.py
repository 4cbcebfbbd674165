"""Straight lines between neighbours of a rising axis."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num


class Located(NamedTuple):
    """Where places lie on an axis: behind which point, and how far on the way to the next."""

    start: Int[np.ndarray, "*places"]
    share: Float[np.ndarray, "*places"]
    """Below 0 and above 1 beyond the ends of the axis, where the last lines go on."""

    def along(self, values: Num[np.ndarray, "*rows points"]) -> Float[np.ndarray, "*rows places"]:
        """Values at the places; what is constant stays so to the last bit."""
        before = values[..., self.start]
        after = values[..., self.start + 1]
        return before + self.share * (after - before)

    def between(self, values: Num[np.ndarray, "*rows points"]) -> Float[np.ndarray, "*rows places"]:
        """Values at the places; those at a point of the axis are its own to the last bit."""
        before = values[..., self.start]
        after = values[..., self.start + 1]
        return before * (1 - self.share) + after * self.share


def locate(axis: Num[np.ndarray, " points"], places: Num[np.ndarray, "*places"]) -> Located:
    """Where the places lie on an axis of two points or more."""
    behind = np.searchsorted(axis, places, side="right") - 1
    start = np.clip(behind, 0, len(axis) - 2)
    share = (places - axis[start]) / (axis[start + 1] - axis[start])
    return Located(start, share)
