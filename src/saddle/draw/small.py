"""One episode as a small picture: the world at its end and the robot's way, or some moments of what
a world drew of itself, with a small film of it.
"""

import io

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from saddle.draw import film
from saddle.draw.course import Course
from saddle.draw.scene import Episode
from saddle.draw.still import draw_past, draw_trail
from saddle.draw.world import World, floor

SIDE = 2.4  # inches
DPI = 100
WIDTH = 240  # pixels
FILM_SECONDS = 4.0  # that a small film takes at most


def png(episode: Episode, view: tuple[float, float, float]) -> bytes:
    """The picture as a PNG of 240 x 240 pixels. view: centre x, y and half-width of what it shows,
    m.
    """
    figure = Figure(figsize=(SIDE, SIDE), dpi=DPI, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    floor(axes, episode.top_view, view)
    world = World(axes, episode.top_view)
    world.update(episode.states[-1])
    draw_trail(axes, episode)
    draw_past(axes, episode)
    with io.BytesIO() as written:
        figure.savefig(written, dpi=DPI, format="png")
        return written.getvalue()


def moments(course: Course) -> bytes:
    """Four moments of an episode as a PNG 240 pixels wide: rows in time's order."""
    first, second, third, last = (_shrunk(course, step, WIDTH // 2) for step in course.moments(4))
    above = np.concatenate([first, second], axis=1)
    below = np.concatenate([third, last], axis=1)
    with io.BytesIO() as written:
        Image.fromarray(np.concatenate([above, below])).save(written, "PNG", optimize=True)
        return written.getvalue()


def gif(course: Course) -> bytes:
    """The episode's pictures as a GIF 240 pixels wide."""
    with io.BytesIO() as written:
        film.save_gif(_Film(course), written)
        return written.getvalue()


class _Film(film.Film):
    """The pictures of an episode and nothing else."""

    def __init__(self, course: Course) -> None:
        assert course.pictures is not None
        self._course = course
        self.steps = course.pictures.steps
        self.fps = max(len(self.steps) / FILM_SECONDS, film.SLOWEST)

    def frame(self, step: int) -> np.ndarray:
        """The picture after `step` env steps, [height, width, 3] uint8."""
        return _shrunk(self._course, step, WIDTH)


def _shrunk(course: Course, step: int, width: int) -> np.ndarray:
    """The picture after a step, so many pixels wide."""
    assert course.pictures is not None
    whole = Image.fromarray(course.pictures[step])
    height = max(1, round(width * whole.height / whole.width))
    return np.asarray(whole.resize((width, height), Image.Resampling.LANCZOS))
