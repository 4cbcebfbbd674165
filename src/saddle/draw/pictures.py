"""What a world drew of itself in an episode, kept small."""

import zlib

import numpy as np
from PIL import Image

LONGEST, SHORTEST = 640, 320  # pixels of a picture's longer side


class Pictures:
    """Pictures by env step, all of one size, with the sides of the first one even."""

    def __init__(self) -> None:
        self._packed: dict[int, bytes] = {}
        self.size = (0, 0)
        """Width and height in pixels."""

    @property
    def steps(self) -> list[int]:
        """The env steps after which there is a picture."""
        return list(self._packed)

    def keep(self, step: int, picture: np.ndarray) -> None:
        """Add the picture [height, width, 3] of a step."""
        height, width, _ = picture.shape
        if not self._packed:
            self.size = _fitting(width, height)
        if (width, height) != self.size:
            larger = max(self.size) > max(width, height)
            way = Image.Resampling.NEAREST if larger else Image.Resampling.BOX
            picture = np.asarray(Image.fromarray(picture).resize(self.size, way))
        self._packed[step] = zlib.compress(picture.tobytes(), 1)

    def __getitem__(self, step: int) -> np.ndarray:
        """The picture after `step` env steps, [height, width, 3] uint8."""
        width, height = self.size
        pixels = np.frombuffer(zlib.decompress(self._packed[step]), np.uint8)
        return pixels.reshape(height, width, 3)

    def nearest(self, step: float) -> int:
        """The step with a picture that is nearest to that one."""
        return min(self._packed, key=lambda kept: abs(kept - step))


def _fitting(width: int, height: int) -> tuple[int, int]:
    """The size in which pictures are kept: not too large for a film, nor too small to see."""
    longer = max(width, height)
    scale = 1.0
    if longer > LONGEST:
        scale = LONGEST / longer
    elif longer < SHORTEST:
        scale = -(-SHORTEST // longer)
    return _even(scale * width), _even(scale * height)


def _even(length: float) -> int:
    """H.264 halves both sides for its colours."""
    return max(2, 2 * round(length / 2))
