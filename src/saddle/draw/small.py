"""One episode as a small picture: the world at its end, and the robot's way."""

import io

from matplotlib.figure import Figure

from saddle.draw.scene import Episode
from saddle.draw.still import draw_past, draw_trail
from saddle.draw.world import World, floor

SIDE = 2.4  # inches
DPI = 100


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
