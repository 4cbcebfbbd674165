"""The page around a world: title, numbers, legend. The same for stills and films, at different
resolutions.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from saddle.draw import looks, scene
from saddle.draw.looks import LOOKS
from saddle.draw.scene import Episode
from saddle.draw.world import floor

SIZE = (9.6, 7.2)  # inches
DPI = 200  # of a still: 1920 x 1440 pixels
WORLD = (0.03, 0.04, 0.645, 0.86)  # left, bottom, width, height of the world: a square on this page
PANEL = 0.712  # left edge of what stands beside it
TRAIL = LinearSegmentedColormap.from_list("trail", [looks.EARLY, looks.ROBOT, looks.LATE])


class Page:
    """A figure with the world's axes and the numbers beside it."""

    def __init__(
        self, episode: Episode, dpi: float, marks: Sequence[Artist], animated: bool = False
    ) -> None:
        """dpi: dots per inch of the 9.6 x 7.2 inch page; marks: what opens the legend: robot and
        trail.
        """
        self.figure = Figure(figsize=SIZE, dpi=dpi, facecolor="white")
        self.world: Axes = self.figure.add_axes(WORLD)
        name = episode.spec.name
        floor(self.world, episode.top_view, episode.view)
        self._scale_bar(episode.view[2])
        self._write(WORLD[0], 0.947, name, size=19, weight="bold")
        self._write(
            WORLD[0],
            0.917,
            f"{episode.policy} policy, seed {episode.seed}",
            size=12.5,
            color=looks.MUTED,
        )
        self.values = self._numbers(episode, animated)
        self._legend(episode, marks)

    def count(self, values: dict[str, str]) -> None:
        """Set the numbers: label -> text."""
        for label, text in values.items():
            self.values[label].set_text(text)

    def _write(self, x: float, y: float, text: str, **style: Any) -> Text:
        return self.figure.text(x, y, text, **{"color": looks.INK, "va": "baseline", **style})

    def _scale_bar(self, half: float) -> None:
        """One metre, under the world. half: of the world's width, m."""
        left = WORLD[0]
        y = 0.022
        length = WORLD[2] / (2 * half)
        self.figure.add_artist(
            Line2D([left, left + length], [y, y], color=looks.INK, lw=1.6, solid_capstyle="butt")
        )
        self._write(left + length + 0.008, y - 0.001, "1 m", size=11, va="center")

    def _numbers(self, episode: Episode, animated: bool) -> dict[str, Text]:
        """Two columns of large figures with small labels under them."""
        values = {}
        for i, label in enumerate(tally(episode, len(episode.states) - 1)):
            x = PANEL + 0.16 * (i % 2)
            y = 0.845 - 0.115 * (i // 2)
            colour = looks.COST if label == "cost" else looks.INK
            values[label] = self._write(
                x, y, "", size=23, weight="bold", color=colour, animated=animated
            )
            self._write(x, y - 0.035, label, size=12.5, color=looks.MUTED)
        return values

    def _legend(self, episode: Episode, marks: Sequence[Artist]) -> None:
        kinds = scene.poses(episode.top_view, episode.states[0])
        listed: list[Artist] = [
            swatch(kind)
            for kind in LOOKS
            if kind in kinds and LOOKS[kind].label and kind != "robot"
        ]
        if episode.top_view.circle is not None:
            listed.append(
                Line2D([], [], color=looks.GOAL, lw=1.8, ls=(0, (5, 3)), label="circle to follow")
            )
        if episode.top_view.boundary is not None:
            beyond = to_rgba(looks.COST, 0.13)
            listed.append(
                Patch(facecolor=beyond, edgecolor=looks.COST, label="beyond the boundary: cost")
            )
        legend = self.figure.legend(
            handles=[*marks, *listed],
            loc="upper left",
            bbox_to_anchor=(PANEL - 0.008, 0.645),
            frameon=False,
            fontsize=11.5,
            labelcolor=looks.INK,
            borderpad=0,
            handlelength=1.5,
            handletextpad=0.7,
            labelspacing=0.75,
        )
        legend.set_zorder(1)


def tally(episode: Episode, step: int) -> dict[str, str]:
    """The numbers after `step` env steps: label -> text."""
    values = {
        "return": f"{episode.rewards[: step + 1].sum():.2f}".replace("-", "\N{MINUS SIGN}"),
        "cost": f"{episode.costs[: step + 1].sum():.0f}",
        "env steps": str(step),
    }
    if episode.goals is not None:
        values["goals"] = str(episode.goals[: step + 1].sum())
    return values


def swatch(kind: str, label: str | None = None) -> Line2D:
    """The legend's entry of a kind: a dot for round things, a square for the others."""
    look = LOOKS[kind]
    return Line2D(
        [],
        [],
        ls="none",
        marker="s" if kind in ("vase", "gremlin", "box") else "o",
        ms=8 if kind in ("button", "goal button", "robot", "vase", "gremlin") else 12,
        mfc=to_rgba(*look.face),
        mec=to_rgba(*look.edge),
        mew=look.width,
        label=label or look.label,
    )
