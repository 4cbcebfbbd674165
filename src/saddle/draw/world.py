"""A world as matplotlib artists: a still floor, and things that move with the state."""

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from PIL import Image

from saddle.draw import looks, scene
from saddle.draw.looks import LOOKS
from saddle.tasks import State, Task
from saddle.tasks.point.layout import EXTENT
from saddle.tasks.point.lidar import BINS
from saddle.tasks.point.view import TopView

LIDAR_RADIUS = 0.24  # m, of the innermost ring of bins
LIDAR_STEP = 0.07  # m, from one ring to the next
LIDAR_WIDTH = 0.055  # m
FAR = 1e3  # m, farther than any view reaches
NOTHING = Path(np.zeros((0, 2)))


class World:
    """Everything in the world that a state can move, in the order of painting."""

    def __init__(
        self, ax: Axes, view: TopView, lidar: bool = False, animated: bool = False
    ) -> None:
        self._view = view
        self._patches = {}
        for order, (kind, look) in enumerate(LOOKS.items()):
            over_trail = kind in ("alarm", "nose", "robot")
            patch = PathPatch(
                NOTHING,
                facecolor=to_rgba(*look.face),
                edgecolor=to_rgba(*look.edge),
                linewidth=look.width,
                linestyle=look.dashes,
                zorder=30 + order if over_trail else 2 + order / 20,
                animated=animated,
            )
            self._patches[kind] = ax.add_patch(patch)
        self._rings = _lidar_rings(ax, view, animated) if lidar else None
        self._to_data = ax.transData

    @property
    def below(self) -> list[Artist]:
        """What lies under the trail."""
        return [patch for patch in self._patches.values() if patch.get_zorder() < 10]

    @property
    def above(self) -> list[Artist]:
        """What lies over the trail: the robot and its lidar."""
        patches = [patch for patch in self._patches.values() if patch.get_zorder() >= 10]
        return [self._rings, *patches] if self._rings else [*patches]

    def update(self, state: State) -> None:
        """Move everything to where the state has it."""
        there = scene.poses(self._view, state)
        nowhere = np.zeros((0, 3))
        for kind, patch in self._patches.items():
            patch.set_path(placed(LOOKS[kind].outline, there.get(kind, nowhere)))
        if self._rings:
            around_robot = _moved_to(there["robot"][0])
            self._rings.set_transform(around_robot + self._to_data)
            self._rings.set_alpha(list(0.07 + 0.93 * scene.lidar(state).ravel()))


def placed(outline: Path, poses: np.ndarray) -> Path:
    """One path with a copy of the outline at every pose [n, 3]."""
    if not len(poses):
        return NOTHING
    copies = [_moved_to(pose).transform_path(outline) for pose in poses]
    return Path.make_compound_path(*copies)


def _moved_to(pose: np.ndarray) -> Affine2D:
    """From the frame of a thing to the world's. pose: x, y, yaw."""
    x, y, heading = pose
    return Affine2D().rotate(heading).translate(x, y)


def floor(ax: Axes, view: TopView, square: tuple[float, float, float]) -> None:
    """What never moves: the ground, a grid of metres, the arena or the boundary, a circle. square:
    as for `show`.
    """
    show(ax, square)
    ax.set_aspect("equal")
    ax.set(xticks=[], yticks=[], facecolor=looks.OUTSIDE)
    for spine in ax.spines.values():
        spine.set(color=looks.GRID, linewidth=1.0)
    lines = np.arange(-40, 41)
    grid = {"color": looks.GRID, "linewidth": 0.7, "zorder": 1}
    if view.boundary is not None:
        _strip(ax, view.boundary)
    else:
        side = 2 * EXTENT
        ax.add_patch(Rectangle((-EXTENT, -EXTENT), side, side, fc=looks.FLOOR, ec="none", zorder=0))
    if view.circle is not None:
        _circle(ax, view.circle)
    ax.vlines(lines, -FAR, FAR, **grid)
    ax.hlines(lines, -FAR, FAR, **grid)
    show(ax, square)


def show(ax: Axes, square: tuple[float, float, float]) -> None:
    """Look at a square: centre x, y and half-width; a wider or taller picture shows more."""
    x, y, half = square
    box = ax.get_window_extent()
    shorter = min(box.width, box.height)
    half_width = half * (box.width / shorter)
    half_height = half * (box.height / shorter)
    ax.set(xlim=(x - half_width, x + half_width), ylim=(y - half_height, y + half_height))


def _strip(ax: Axes, boundary: float) -> None:
    """The strip that is free, and the land beyond that costs."""
    ax.set_facecolor(looks.FLOOR)
    colour = to_rgba(looks.COST, 0.13)
    for side in (-1, 1):
        corner = (side * boundary, -FAR)
        ax.add_patch(Rectangle(corner, side * FAR, 2 * FAR, fc=colour, ec="none", zorder=0))
        ax.axvline(side * boundary, color=looks.COST, lw=1.6, zorder=1.5)


def _circle(ax: Axes, radius: float) -> None:
    """The circle to follow, with its direction."""
    ax.add_patch(
        PathPatch(looks.disc(radius), fc="none", ec=looks.GOAL, lw=1.8, ls=(0, (5, 3)), zorder=1.6)
    )
    head = np.array([[0.11, 0], [-0.07, 0.075], [-0.03, 0], [-0.07, -0.075]])
    for angle in np.pi * np.array([0.5, 1.5]):
        x = radius * np.cos(angle)
        y = radius * np.sin(angle)
        onto = _moved_to(np.array([x, y, angle + np.pi / 2]))
        ax.add_patch(Polygon(onto.transform(head), fc=looks.GOAL, ec="none", zorder=1.7))


def _lidar_rings(ax: Axes, view: TopView, animated: bool) -> PolyCollection:
    """One ring of 16 bins per lidar around the robot, in the colour of what it sees."""
    wedges = []
    colours = []
    for ring, kind in enumerate(view.lidars):
        inner = LIDAR_RADIUS + ring * LIDAR_STEP
        outer = inner + LIDAR_WIDTH
        for k in range(BINS):
            angle = 2 * np.pi * np.linspace(k + 0.04, k + 0.96, 6) / BINS
            arc = np.column_stack([np.cos(angle), np.sin(angle)])
            wedges.append(np.concatenate([inner * arc, outer * arc[::-1]]))
            colours.append(looks.LIDARS[kind])
    rings = PolyCollection(
        wedges, facecolors=colours, edgecolors="none", zorder=25, animated=animated
    )
    ax.add_collection(rings, autolim=False)
    return rings


class Stage:
    """Frames of one figure: what stands still is painted once, only the moving artists again and
    again.
    """

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        self._canvas = FigureCanvasAgg(figure)
        self._still = None

    def forget(self) -> None:
        """The still part has changed."""
        self._still = None

    def shoot(self, moving: list[Artist]) -> np.ndarray:
        """The figure with the moving artists painted in their order, [height, width, 3] uint8."""
        if self._still is None:
            self._canvas.draw()
            self._still = self._canvas.copy_from_bbox(self.figure.bbox)
        self._canvas.restore_region(self._still)
        renderer = self._canvas.get_renderer()
        for artist in moving:
            artist.draw(renderer)
        size = self._canvas.get_width_height()
        pixels = np.asarray(self._canvas.buffer_rgba())
        # Pillow drops the alpha channel many times faster than a strided copy does.
        return np.array(Image.frombuffer("RGBA", size, pixels).convert("RGB"))


class Canvas:
    """Frames of a world alone, as Gymnasium's rgb_array wants them. The view grows when the robot
    leaves it.
    """

    def __init__(self, task: Task, size: tuple[int, int] = (400, 400)) -> None:
        """task: one that can be drawn from above; size: width and height in pixels."""
        view = scene.top_view(task)
        figure = Figure(figsize=(size[0] / 100, size[1] / 100), dpi=100)
        self._ax = figure.add_axes((0, 0, 1, 1))
        self._stage = Stage(figure)
        self._half = EXTENT + scene.ROOM
        floor(self._ax, view, (0.0, 0.0, self._half))
        self._world = World(self._ax, view, animated=True)

    def frame(self, state: State) -> np.ndarray:
        """[height, width, 3] uint8."""
        needed = float(np.abs(state.agent[:2]).max()) + 0.2  # type: ignore[attr-defined]
        half = EXTENT + scene.ROOM
        while half < needed:
            half *= 1.25
        if half != self._half:
            self._half = half
            show(self._ax, (0.0, 0.0, half))
            self._stage.forget()
        self._world.update(state)
        return self._stage.shoot([*self._world.below, *self._world.above])
