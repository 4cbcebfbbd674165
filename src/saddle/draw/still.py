"""One episode as a still: the whole way, light to dark, with the places where cost was paid."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.text import Text

from saddle.draw import looks, scene
from saddle.draw.looks import LOOKS
from saddle.draw.page import DPI, PANEL, TRAIL, Page, swatch, tally
from saddle.draw.scene import Episode
from saddle.draw.world import World, placed

LABEL_ROOM = 0.08  # of the world's half-width, between two labels


def write(episode: Episode, out: Path, lidar: bool = False) -> None:
    """Draw the episode and save it as a PNG of 1920 x 1440 pixels."""
    page = Page(episode, DPI, _marks(episode))
    world = World(page.world, episode.top_view, lidar)
    world.update(episode.states[-1])
    draw_trail(page.world, episode)
    draw_past(page.world, episode)
    page.count(tally(episode, len(episode.states) - 1))
    _time_bar(page, episode)
    page.figure.savefig(out, dpi=DPI, format="png")


def draw_trail(ax: Axes, episode: Episode) -> None:
    """The robot's way, coloured by time, over a halo where it paid; its start and the steps that
    reached a goal.
    """
    way = episode.positions
    segments = np.stack([way[:-1], way[1:]], axis=1)
    colours_of_time = TRAIL(np.linspace(0, 1, max(len(segments), 1)))
    paid = episode.costs[1:] > 0

    def add(lines: np.ndarray, colours: Any, width: float, above: int) -> None:
        drawn = LineCollection(
            list(lines), colors=colours, lw=width, capstyle="round", zorder=above
        )
        ax.add_collection(drawn, autolim=False)

    add(segments[paid], looks.COST, 7, 11)
    add(segments, "white", 3.4, 12)
    add(segments, colours_of_time, 2.2, 13)
    ax.plot(*way[0], **_start(), zorder=20)
    if episode.goals is not None:
        ax.plot(*way[episode.goals].T, **_reached(), zorder=21)


def draw_past(ax: Axes, episode: Episode) -> None:
    """Goals that were reached, and the way of a box or vase that was moved."""
    poses = partial(scene.poses, episode.top_view)
    goals = episode.goals
    if "goal" in poses(episode.states[0]) and goals is not None:
        # After the step that reached it there is another goal.
        before = [episode.states[step - 1] for step in np.flatnonzero(goals).tolist()]
        reached = np.array([poses(state)["goal"][0, :2] for state in before]).reshape(-1, 2)
        _, _, half_width = episode.view
        _reached_goals(ax, reached, LABEL_ROOM * half_width)
    for kind in episode.top_view.movers:
        way = np.array([poses(state)[kind][0] for state in episode.states])
        _moved(ax, kind, way)


def _reached_goals(ax: Axes, goals: np.ndarray, room: float) -> None:
    """Outlines of goals [n, 2], numbered in their order; those within `room` metres share one
    label.
    """
    poses = np.column_stack([goals, np.zeros(len(goals))])
    _dashed(ax, "goal", poses, to_rgba(looks.GOAL, 0.6))
    style: dict[str, Any] = {
        "color": looks.GOAL,
        "size": 12,
        "weight": "bold",
        "ha": "center",
        "va": "center",
    }
    labels: list[Text] = []
    for number, place in enumerate(goals, 1):
        near = [label for label in labels if np.hypot(*(place - label.get_position())) < room]
        if near:
            shared = near[0]
            shared.set_text(f"{shared.get_text()}, {number}")
            continue
        label = ax.text(place[0], place[1], str(number), **style, zorder=22)
        label.set_path_effects([patheffects.withStroke(linewidth=3, foreground="white")])
        labels.append(label)


def _moved(ax: Axes, kind: str, way: np.ndarray) -> None:
    """Where a free body stood at first and how it got away. way [T + 1, 3]."""
    far = np.abs(way - way[0])[:, :2].max()
    if far < 0.02:
        return
    colour, _ = LOOKS[kind].edge
    _dashed(ax, kind, way[:1], colour)
    x, y, _ = way.T
    ax.plot(x, y, color=colour, lw=1.3, zorder=10.5)


def _dashed(ax: Axes, kind: str, poses: np.ndarray, colour: Any) -> None:
    """Outlines of things of a kind at poses [n, 3]."""
    outline = placed(LOOKS[kind].outline, poses)
    ax.add_patch(PathPatch(outline, fc="none", ec=colour, lw=1.1, ls=(0, (3, 2)), zorder=1.9))


def _start() -> dict[str, Any]:
    return {"marker": "o", "ms": 9, "mfc": "white", "mec": looks.INK, "mew": 1.8, "ls": "none"}


def _reached() -> dict[str, Any]:
    return {"marker": "*", "ms": 12, "mfc": looks.GOAL, "mec": "white", "mew": 0.9, "ls": "none"}


def _marks(episode: Episode) -> list[Line2D]:
    """Legend entries of the trail."""
    marks = [
        Line2D([], [], **_start(), label="start"),
        swatch("robot", "robot, at the end"),
        Line2D([], [], color=looks.COST, lw=6, solid_capstyle="butt", label="cost paid"),
    ]
    if episode.goals is not None:
        marks.append(Line2D([], [], **_reached(), label="goal reached"))
    return marks


def _time_bar(page: Page, episode: Episode) -> None:
    """The trail's colours and what they mean."""
    bar = page.figure.add_axes((PANEL, 0.075, 0.25, 0.014))
    bar.imshow(np.linspace(0, 1, 256)[None], cmap=TRAIL, aspect="auto")
    bar.set_axis_off()
    seconds = (len(episode.states) - 1) * episode.spec.dt
    style = {"size": 11.5, "color": looks.MUTED, "va": "top"}
    page.figure.text(PANEL, 0.065, "0 s", ha="left", **style)
    page.figure.text(PANEL + 0.125, 0.065, "time", ha="center", **style)
    page.figure.text(PANEL + 0.25, 0.065, f"{seconds:.1f} s", ha="right", **style)
