"""The sweep of a task with several constraints, as each of them sees it while the others keep their
limits.
"""

from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from saddle.analysis.constraints import View, seen_by
from saddle.analysis.geometry import Geometry, geometry
from saddle.analysis.options import Options
from saddle.analysis.profile import Sweep
from saddle.analysis.surface import Surface, grid_of, path, surface
from saddle.analysis.sweep import IS_SWEEP, sweep_notes, sweep_of
from saddle.words import counted

Kind = Literal["grid", "common", "neither"]

COMMON = (
    "Every run has one lambda for all constraints: each profile is along that one, whatever the "
    "others cost. A multiplier for each takes a grid of lambdas."
)
NEITHER = (
    "The fixed lambdas fill no grid, so there is no profile, frontier or lambda*: run every "
    "combination of two lambdas or more of each constraint."
)


class Look(NamedTuple):
    """A sweep seen from one constraint."""

    sweep: Sweep | None
    geometry: Geometry | None
    notes: list[str]


def look_at_one(finals: pl.DataFrame, options: Options) -> Look:
    """The sweep of a task with one constraint."""
    sweep, notes = sweep_of(finals, options)
    return Look(sweep, geometry(sweep, options) if sweep else None, notes)


class Several:
    """The sweep of a task with several constraints. What is fitted is fitted once."""

    def __init__(self, finals: pl.DataFrame, options: Options) -> None:
        self.finals, self.options = finals, options
        self.surface: Surface | None = None
        self.kind: Kind = "common"
        self._looks: dict[tuple[int, tuple[float, ...]], Look] = {}
        self._notes: list[str] = []
        swept = finals.filter(IS_SWEEP)
        points = np.unique(np.array(swept["lambdas"].to_list(), float), axis=0)
        if len(points) and (points == points[:, :1]).all():
            self._notes = [COMMON]
        elif len(points):
            self._fit(swept, len(points))

    def _fit(self, swept: pl.DataFrame, points: int) -> None:
        grid = grid_of(swept, self.options)
        if grid is None:
            self.kind = "neither"
            self._notes = [NEITHER]
            return
        self.kind = "grid"
        self.surface = surface(grid, self.options)
        left_out = points - int(np.prod([len(axis) for axis in grid.axes]))
        if left_out:
            have = counted(left_out, "combination of lambdas is", "combinations of lambdas are")
            self._notes = [f"{have} in no full grid: they are in the groups but not in profiles."]

    def look(self, view: View) -> Look:
        """The sweep from the view's constraint."""
        key = view.index, view.others
        if key not in self._looks:
            self._looks[key] = self._look(view)
        return self._looks[key]

    def _look(self, view: View) -> Look:
        if self.kind == "neither":
            return Look(None, None, self._notes)
        if self.surface is None:
            rows = seen_by(self.finals.lazy(), view.index).collect()
            found = look_at_one(rows, self.options)
            return found._replace(notes=[*self._notes, *found.notes])
        return self._on_grid(self.surface, view)

    def _on_grid(self, surface: Surface, view: View) -> Look:
        name = view.called[view.index]
        limits = list(view.others)
        limits.insert(view.index, np.inf)
        if len(surface.grid.axes[view.index]) < 2:
            only = f"There is only one fixed lambda of {name}: it has no profile, and no lambda*."
            return Look(None, None, [*self._notes, only])
        way = path(surface, view.index, limits)
        notes = list(self._notes)
        if len(way.lost):
            lambdas = ", ".join(f"{lam:.3g}" for lam in way.lost)
            notes.append(
                f"At lambda {lambdas} of {name} the other limits cannot be kept within the sweep: "
                f"left out of the profile."
            )
        if len(way.sweep.lambdas) < 2:
            notes.append(
                f"The other limits can be kept at fewer than two lambdas of {name}: no profile, "
                f"frontier or lambda* can be given."
            )
            return Look(None, None, notes)
        notes += sweep_notes(way.sweep.costs)
        return Look(way.sweep, geometry(way.sweep, self.options, way.means), notes)
