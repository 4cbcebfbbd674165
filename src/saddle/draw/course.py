"""An episode of a task that no `top_view` shows: what it was paid and what it cost, in time, and
what its world drew of itself, if it draws.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from saddle.draw import film, looks
from saddle.draw.page import DPI, SIZE
from saddle.draw.pictures import SHORTEST, Pictures
from saddle.tasks.spec import TaskSpec

COSTS = (looks.COST, looks.GREMLIN, looks.BUTTON, looks.PILLAR)  # colours of constraints, in turn
MOMENTS = 4  # pictures on a still
CAPTION = 52  # pixels below a film's picture


@dataclass(frozen=True)
class Course:
    """One episode as it was played; row 0 is the reset, row t is after step t."""

    spec: TaskSpec
    policy: str
    seed: int
    reward: np.ndarray  # [T + 1]
    cost: np.ndarray  # [T + 1, m]
    pictures: Pictures | None = None
    """Of some steps, the first and the last among them."""

    def moments(self, count: int) -> list[int]:
        """So many steps with a picture, evenly from the first to the last."""
        assert self.pictures is not None
        places = np.linspace(0, self.pictures.steps[-1], count)
        return [self.pictures.nearest(place) for place in places]

    def paid(self, step: int) -> str:
        """What was paid up to that step, each constraint with its name."""
        totals = self.cost[: step + 1].sum(axis=0)
        pairs = zip(self.spec.constraints, totals, strict=True)
        return ", ".join(f"{name} {amount(total)}" for name, total in pairs)


def amount(cost: float) -> str:
    """A cost in words: whole where it is, else to two digits."""
    return f"{cost:.2f}".rstrip("0").rstrip(".")


def stride(spec: TaskSpec) -> int:
    """Env steps from one picture of a film to the next, in real time."""
    return max(1, round(1 / (film.FPS * spec.dt)))


def write_still(course: Course, out: Path) -> None:
    """Return and costs so far over env steps, below some moments of the episode where there are
    pictures, as a PNG of 1920 x 1440 pixels.
    """
    figure = Figure(figsize=SIZE, dpi=DPI, facecolor="white")
    figure.text(0.03, 0.947, course.spec.name, size=19, weight="bold", color=looks.INK)
    about = f"{course.policy} policy, seed {course.seed}"
    figure.text(0.03, 0.917, about, size=12.5, color=looks.MUTED)
    top = 0.86
    if course.pictures is not None:
        top = 0.58
        _draw_moments(figure, course)
    height = (top - 0.2) / 2
    steps = np.arange(len(course.reward))
    above = figure.add_axes((0.1, 0.2 + height, 0.86, height))
    above.plot(steps, np.cumsum(course.reward), color=looks.ROBOT, lw=1.6)
    _style(above, "return so far")
    below = figure.add_axes((0.1, 0.1, 0.86, height))
    for i, constraint in enumerate(course.spec.constraints):
        colour = COSTS[i % len(COSTS)]
        below.plot(steps, np.cumsum(course.cost[:, i]), color=colour, lw=1.6, label=constraint)
    _style(below, "cost so far")
    below.set_xlabel("env steps", size=12, color=looks.MUTED)
    below.legend(frameon=False, fontsize=12, labelcolor=looks.INK)
    figure.savefig(out, dpi=DPI, format="png")


def write_gif(course: Course, out: Path) -> None:
    """Save the episode's pictures as a GIF."""
    film.save_gif(_Film(course), out)


def write_mp4(course: Course, out: Path) -> None:
    """Save the episode's pictures as an H.264 film."""
    film.save_mp4(_Film(course), out)


class _Film(film.Film):
    """The pictures of an episode, each with the numbers so far below it."""

    def __init__(self, course: Course) -> None:
        assert course.pictures is not None
        self._course = course
        self._pictures = course.pictures
        self.steps = course.pictures.steps
        self.fps = float(np.clip(1 / course.spec.dt, film.SLOWEST, film.FPS))
        self._font = ImageFont.load_default(16)

    def frame(self, step: int) -> np.ndarray:
        """The picture after `step` env steps, [height, width, 3] uint8."""
        course = self._course
        width, height = self._pictures.size
        wide = max(width, SHORTEST)  # or there would be no room for the caption
        page = Image.new("RGB", (wide, height + CAPTION), "white")
        page.paste(Image.fromarray(self._pictures[step]), ((wide - width) // 2, 0))
        write = ImageDraw.Draw(page)
        reward = course.reward[: step + 1].sum()
        write.text(
            (10, height + 5),
            f"step {step}   return {reward:.2f}",
            fill=looks.INK,
            font=self._font,
        )
        pays = (course.cost[step] > 0).any()
        colour = looks.COST if pays else looks.INK
        write.text((10, height + 27), course.paid(step), fill=colour, font=self._font)
        return np.asarray(page)


def _draw_moments(figure: Figure, course: Course) -> None:
    """Some pictures from the first to the last, side by side."""
    assert course.pictures is not None
    width = 0.93 / MOMENTS
    for place, step in enumerate(dict.fromkeys(course.moments(MOMENTS))):
        ax = figure.add_axes((0.03 + place * width, 0.62, 0.97 * width, 0.25))
        ax.imshow(course.pictures[step])
        ax.set_title(f"step {step}", size=10, color=looks.MUTED)
        ax.set_axis_off()


def _style(ax: Any, label: str) -> None:
    ax.set_ylabel(label, size=12, color=looks.MUTED)
    ax.margins(x=0)
    ax.tick_params(labelsize=11, colors=looks.MUTED)
    ax.spines[["top", "right"]].set_visible(False)
