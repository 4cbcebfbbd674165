"""One episode as a film in real time: GIF by Pillow, MP4 by ffmpeg."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from PIL import Image

from saddle.draw import looks
from saddle.draw.page import Page, swatch, tally
from saddle.draw.scene import Episode
from saddle.draw.world import Stage, World
from saddle.errors import SaddleError
from saddle.extras import install

FPS = 25
SLOWEST = 4.0  # pictures a second, however long a step takes
GIF_DPI, MP4_DPI = 100, 150  # 960 x 720 and 1440 x 1080 pixels
TAIL = 75  # env steps of the bright part of the trail
HOLD = 1.0  # s that the last picture stands
FADE = LinearSegmentedColormap.from_list("fade", [looks.WAKE, looks.ROBOT])(
    np.linspace(0, 1, TAIL)
).tolist()
COLOURS = 255  # of a GIF; one more is left for "unchanged"
FLAT = 96  # of these, colours taken over exactly: those of large areas
# Levels between two colours of a GIF; Pillow looks up rounded ones, and would mix up nearer ones
APART = 9
SAMPLES = 12  # frames that the colours are taken from


def write_gif(episode: Episode, out: Path, lidar: bool = False) -> None:
    """Save the episode as a GIF."""
    save_gif(_Film(episode, GIF_DPI, lidar), out)


def write_mp4(episode: Episode, out: Path, lidar: bool = False) -> None:
    """Save the episode as an H.264 film."""
    save_mp4(_Film(episode, MP4_DPI, lidar), out)


def save_gif(film: "Film", out: Path | IO[bytes]) -> None:
    """Write the frames as a GIF."""
    stride = max(1, len(film.steps) // SAMPLES)
    palette = _palette([film.frame(step) for step in film.steps[::stride]])
    frames = (
        Image.fromarray(film.frame(step)).quantize(palette=palette, dither=Image.Dither.NONE)
        for step in film.steps
    )
    durations = [round(1000 / film.fps)] * (len(film.steps) - 1) + [int(1000 * HOLD)]
    next(frames).save(out, "GIF", save_all=True, append_images=frames, duration=durations, loop=0)


def save_mp4(film: "Film", out: Path) -> None:
    """Write the frames as an H.264 film."""
    height, width, _ = film.frame(0).shape
    raw = [
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        f"{width}x{height}",
        "-r",
        f"{film.fps:g}",
        "-i",
        "-",
    ]
    coded = [
        "-an",
        "-c:v",
        "libx264",
        "-preset",
        "veryfast",
        "-pix_fmt",
        "yuv420p",
        "-crf",
        "20",
        "-movflags",
        "+faststart",
        "-f",
        "mp4",
    ]
    command = [ffmpeg(), "-y", "-loglevel", "error", *raw, *coded, str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stderr
        try:
            for frame in film.frames():
                process.stdin.write(frame.tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # it says why on stderr
        complaint = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        reason = complaint.splitlines()[-1] if complaint else "no reason given"
        raise SaddleError(f"ffmpeg could not write {out}: {reason}")


def ffmpeg() -> str:
    """Where the encoder is: imageio-ffmpeg's own, or the one on the PATH."""
    try:
        import imageio_ffmpeg

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        found = shutil.which("ffmpeg")
    if not found:
        raise SaddleError(f"an .mp4 needs ffmpeg: run {install('video')}, or write a .gif")
    return found


class Film:
    """Frames of some env steps of an episode."""

    steps: list[int]
    fps: float = FPS

    def frame(self, step: int) -> np.ndarray:
        """The picture after `step` env steps, [height, width, 3] uint8."""
        raise NotImplementedError

    def frames(self) -> Iterator[np.ndarray]:
        """The whole film; the last picture stands for a while."""
        for step in self.steps[:-1]:
            yield self.frame(step)
        last = self.frame(self.steps[-1])
        for _ in range(max(1, int(self.fps * HOLD))):
            yield last


class _Film(Film):
    """The frames of a point task's episode: the page as it changes."""

    def __init__(self, episode: Episode, dpi: float, lidar: bool) -> None:
        last = len(episode.states) - 1
        stride = max(1, round(1 / (FPS * episode.spec.dt)))
        self.steps = [*range(0, last, stride), last]
        self._episode = episode
        paid = Line2D([], [], color=looks.COST, lw=6, solid_capstyle="butt", label="cost paid")
        self._page = Page(episode, dpi, [swatch("robot"), paid], animated=True)
        self._world = World(self._page.world, episode.top_view, lidar, animated=True)
        self._trail = _Trail(self._page, episode)
        self._stage = Stage(self._page.figure)

    def frame(self, step: int) -> np.ndarray:
        """The page after `step` env steps, [height, width, 3] uint8."""
        self._world.update(self._episode.states[step])
        self._trail.update(step)
        self._page.count(tally(self._episode, step))
        world = [*self._world.below, *self._trail.artists, *self._world.above]
        return self._stage.shoot([*world, *self._page.values.values()])


class _Trail:
    """The way so far: thin, with a bright tail behind the robot and a halo where it paid."""

    def __init__(self, page: Page, episode: Episode) -> None:
        ax = page.world
        self._way = episode.positions
        starts = self._way[:-1]
        ends = self._way[1:]
        gaps = np.full_like(ends, np.nan)
        segments = np.stack([starts, ends, gaps], axis=1)
        paid = episode.costs[1:] > 0
        self._paid = np.where(paid[:, None, None], segments, np.nan).reshape(-1, 2)
        self._halo = Line2D([], [], color=looks.COST, lw=6, solid_capstyle="round", animated=True)
        self._line = Line2D([], [], color=looks.WAKE, lw=1.4, animated=True)
        self._tail = LineCollection([], lw=2.6, capstyle="round", animated=True)
        self.artists = [
            ax.add_line(self._halo),
            ax.add_line(self._line),
            ax.add_collection(self._tail, autolim=False),
        ]

    def update(self, step: int) -> None:
        self._line.set_data(*self._way[: step + 1].T)
        self._halo.set_data(*self._paid[: 3 * step].T)
        recent = self._way[max(0, step - TAIL) : step + 1]
        self._tail.set_segments(list(np.stack([recent[:-1], recent[1:]], axis=1)))
        self._tail.set_color(FADE[TAIL - (len(recent) - 1) :])


def _palette(frames: list[np.ndarray]) -> Image.Image:
    """One palette for all frames, from some of them: the commonest colours as they are, the rest by
    median cut.
    """
    pixels = Image.fromarray(np.concatenate([frame[::2, ::2] for frame in frames]))
    counted = pixels.getcolors(pixels.width * pixels.height) or []
    flat = [colour for _, colour in sorted(counted, reverse=True)[:FLAT]]
    mixed = pixels.quantize(COLOURS - FLAT, Image.Quantize.MEDIANCUT).getpalette() or []
    kept = np.zeros((0, 3), int)
    for colour in [*flat, *np.reshape(mixed, (-1, 3))]:
        distances = np.abs(kept - colour).max(axis=1)
        if (distances >= APART).all():
            kept = np.vstack([kept, colour])
    palette = Image.new("P", (1, 1))
    palette.putpalette(kept.ravel().tolist())
    return palette
