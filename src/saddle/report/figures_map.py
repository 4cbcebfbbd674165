"""A figure of the map of rules: gap to the frontier and violation, rules by limits."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from saddle.analysis.findings import MapCell, TaskMap
from saddle.report import style

ROW = 0.24  # inches
DARK = 0.6  # of the colours' range: beyond, words are white


def heat(found: TaskMap) -> Figure:
    """Two panels of rules by limits: return gap to the frontier in per cent of its span, a frame
    around the rules to use; and the share of seeds that violate, a cross where the mean cost is
    above the limit.
    """
    drawn = style.figure(height=2 * ROW * len(found.rules) + 1.5)
    above, below = drawn.subplots(2, 1, sharex=True)
    gaps = _grid(found, lambda cell: cell.gap_normalised.value)
    largest = _largest(gaps)
    _panel(above, found, gaps, TwoSlopeNorm(0.0, -largest, largest), "RdBu")
    violating = _grid(found, lambda cell: cell.violating.value)
    _panel(below, found, violating, Normalize(0, 1), "OrRd")
    for column, limit in enumerate(found.limits):
        for rule in limit.use:
            _frame(above, found.rules.index(rule), column)
    for cell in found.cells:
        if cell.keeps == "broken":
            row, column = _place(found, cell)
            ink = _ink(violating[row, column], 1.0)
            below.plot(column + 0.38, row - 0.3, "x", color=ink, markersize=3)
    above.set_title(f"{style.short(found.task)}: gap to the frontier, % of its span")
    below.set_title("seeds violating, %")
    below.set_xticks(range(len(found.limits)), [f"{limit.limit:g}" for limit in found.limits])
    below.set_xlabel("cost limit")
    return drawn


def _largest(gaps: np.ndarray) -> float:
    """The largest gap to either side; 1 where there is none."""
    if not np.isfinite(gaps).any():
        return 1.0
    return np.nanmax(np.abs(gaps)) or 1.0


def _grid(found: TaskMap, value: Callable[[MapCell], float | None]) -> np.ndarray:
    """A number of each rule at each limit [rules, limits], NaN where there is none."""
    grid = np.full((len(found.rules), len(found.limits)), np.nan)
    for cell in found.cells:
        known = value(cell)
        if known is not None:
            grid[_place(found, cell)] = known
    return grid


def _place(found: TaskMap, cell: MapCell) -> tuple[int, int]:
    limits = [limit.limit for limit in found.limits]
    return found.rules.index(cell.rule), limits.index(cell.limit)


def _panel(axes: Axes, found: TaskMap, grid: np.ndarray, norm: Normalize, colours: str) -> None:
    axes.imshow(grid, norm=norm, cmap=colours, aspect="auto")
    darkest = max(abs(norm.vmin or 0), abs(norm.vmax or 0))
    for (row, column), value in np.ndenumerate(grid):
        words = f"{100 * value:z.0f}" if np.isfinite(value) else "-"
        ink = _ink(value, darkest)
        axes.text(column, row, words, ha="center", va="center", fontsize=6, color=ink)
    axes.set_yticks(range(len(found.rules)), [style.rule_name(rule) for rule in found.rules])
    axes.tick_params(length=0)


def _ink(value: float, darkest: float) -> str:
    """What is legible on the colour of this value; NaN has none."""
    dark = abs(value) > DARK * darkest
    return "white" if dark else style.INK


def _frame(axes: Axes, row: int, column: int) -> None:
    corner = (column - 0.47, row - 0.44)
    axes.add_patch(Rectangle(corner, 0.94, 0.88, fill=False, edgecolor=style.INK, linewidth=1))
