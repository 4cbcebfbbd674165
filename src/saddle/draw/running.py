"""An episode of a velocity task as a still or a film: MuJoCo's picture of the body, and its
speed.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from saddle.draw import film, looks
from saddle.draw.camera import Camera
from saddle.draw.page import DPI, SIZE
from saddle.tasks.velocity.body import Body

ROWS, COLUMNS = 2, 3  # of the pictures on a still
SMALL, LARGE = (640, 480), (960, 720)  # pixels of a picture on a still, and of a film


@dataclass(frozen=True)
class Run:
    """One episode as it was played; row 0 is the reset, row t is after step t."""

    body: Body
    policy: str
    seed: int
    qpos: np.ndarray  # [T + 1, nq]
    speed: np.ndarray  # [T + 1] m/s, what the cost looks at
    reward: np.ndarray  # [T + 1]
    cost: np.ndarray  # [T + 1]


def write_still(run: Run, out: Path) -> None:
    """Six moments of the episode over the course of its speed, 1920 x 1440 pixels."""
    figure = Figure(figsize=SIZE, dpi=DPI, facecolor="white")
    last = len(run.qpos) - 1
    spec = run.body.spec
    figure.text(0.03, 0.947, spec.name, size=19, weight="bold", color=looks.INK)
    figure.text(0.03, 0.917, f"{run.policy} policy, seed {run.seed}", size=12.5, color=looks.MUTED)
    totals = f"return {run.reward.sum():.1f}    cost {run.cost.sum():.0f}    env steps {last}"
    figure.text(
        0.97,
        0.93,
        totals.replace("-", "\N{MINUS SIGN}"),
        size=14,
        weight="bold",
        color=looks.INK,
        ha="right",
    )
    camera = Camera(run.body, SMALL)
    for place, step in enumerate(np.linspace(0, last, ROWS * COLUMNS).round().astype(int)):
        row, column = divmod(place, COLUMNS)
        ax = figure.add_axes((0.03 + column * 0.317, 0.585 - row * 0.315, 0.306, 0.306))
        ax.imshow(camera.frame(run.qpos[step]))
        ax.text(
            0.03,
            0.95,
            f"{step * spec.dt:.2f} s",
            transform=ax.transAxes,
            va="top",
            color=looks.INK,
            size=10,
        )
        ax.set_axis_off()
    camera.close()
    _draw_speed(figure.add_axes((0.08, 0.075, 0.89, 0.155)), run)
    figure.savefig(out, dpi=DPI, format="png")


def write_gif(run: Run, out: Path) -> None:
    """Save the episode as a GIF."""
    _with(run, lambda shots: film.save_gif(shots, out))


def write_mp4(run: Run, out: Path) -> None:
    """Save the episode as an H.264 film."""
    _with(run, lambda shots: film.save_mp4(shots, out))


def _with(run: Run, save: Any) -> None:
    shots = _Film(run)
    try:
        save(shots)
    finally:
        shots.camera.close()


class _Film(film.Film):
    """The frames of a run: the body, with numbers in the corner."""

    def __init__(self, run: Run) -> None:
        last = len(run.qpos) - 1
        stride = max(1, round(1 / (film.FPS * run.body.spec.dt)))
        self.steps = [*range(0, last, stride), last]
        self.camera = Camera(run.body, LARGE)
        self._run, self._font = run, ImageFont.load_default(22)

    def frame(self, step: int) -> np.ndarray:
        """The picture after `step` env steps, [height, width, 3] uint8."""
        run = self._run
        picture = Image.fromarray(self.camera.frame(run.qpos[step]))
        write = ImageDraw.Draw(picture)
        fast = run.speed[step] > run.body.threshold
        lines = {
            run.body.spec.name: looks.INK,
            f"{step * run.body.spec.dt:.2f} s   return "
            f"{run.reward[: step + 1].sum():.1f}": looks.INK,
            f"{run.speed[step]:.2f} m/s, limit {run.body.threshold:g}   cost "
            f"{run.cost[: step + 1].sum():.0f}": (looks.COST if fast else looks.INK),
        }
        for row, (text, colour) in enumerate(lines.items()):
            write.text((18, 14 + 30 * row), text, fill=colour, font=self._font)
        return np.asarray(picture)


def _draw_speed(ax: Any, run: Run) -> None:
    """Speed over time, red where it cost."""
    seconds = np.arange(len(run.speed)) * run.body.spec.dt
    limit = run.body.threshold
    ax.axhline(limit, color=looks.COST, lw=1.2, ls=(0, (4, 3)))
    ax.text(
        1.0,
        limit,
        f" {limit:g} m/s",
        color=looks.COST,
        size=9,
        va="bottom",
        ha="right",
        transform=_beside(ax),
    )
    ax.fill_between(
        seconds, limit, np.maximum(run.speed, limit), color=looks.COST, alpha=0.35, lw=0
    )
    ax.plot(seconds, run.speed, color=looks.ROBOT, lw=1.4)
    ax.set_xlabel("time in s", size=10, color=looks.MUTED)
    ax.set_ylabel("speed in m/s", size=10, color=looks.MUTED)
    ax.margins(x=0)
    ax.tick_params(labelsize=9, colors=looks.MUTED)
    ax.spines[["top", "right"]].set_visible(False)


def _beside(ax: Any) -> Any:
    """x in shares of the axes, y in data."""
    return ax.get_yaxis_transform()
