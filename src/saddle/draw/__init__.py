"""Worlds and episodes as pictures: frames, stills and films from one drawing."""

from saddle.draw.scene import Episode
from saddle.draw.world import Canvas

__all__ = ["Canvas", "Episode"]
