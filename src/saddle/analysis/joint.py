"""lambda* of several constraints, found together.

Each constraint has its way through the grid of lambdas, on which the others keep their limits
(`surface.path`). Where its own cost falls through its limit on that way all of them are kept, each
by the smallest multiplier that does: the complementary slackness of a constrained optimum. So each
multiplier is read from its own way, with an interval in which the others move along.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from saddle.analysis import findings as f
from saddle.analysis import profile as prof
from saddle.analysis.constraints import View, without
from saddle.analysis.geometry import Geometry
from saddle.analysis.limits import NO_ESTIMATE, Crossing, crossing, lambda_between
from saddle.analysis.several import Several
from saddle.analysis.summary import cost_within
from saddle.analysis.surface import Surface, value_at
from saddle.analysis.violating import violating_any

OFF = 0.1  # of a limit: how far a cost that binds may be from it before that is said

COMMON = (
    "every run has one lambda for all constraints: the smallest that keeps all limits; a "
    "multiplier for each takes a grid of lambdas"
)
GRID = "each multiplier is the smallest with which its constraint keeps its limit"


def joint_lambda(
    several: Several, task: str, algorithm: str, called: tuple[str, ...], limits: Sequence[float]
) -> f.JointLambda:
    """lambda* of all constraints for one set of limits."""
    finder = _Finder(several, called, tuple(limits))
    if several.surface is not None:
        multipliers, expected, reason = finder.on_grid(several.surface)
    elif all(finder.crossings):
        multipliers, expected, reason = finder.in_common()
    else:
        multipliers, expected, reason = finder.nowhere()
    level = several.options.level
    violating = violating_any(several.finals, limits, multipliers, level)
    return f.JointLambda(task, algorithm, multipliers, expected, reason, violating)


Found = tuple[tuple[f.JointMultiplier, ...], f.Estimate, str]


class _Finder:
    """One set of limits. Rows are the estimate and its replicates."""

    def __init__(
        self, several: Several, called: tuple[str, ...], limits: tuple[float, ...]
    ) -> None:
        self.called, self.limits = called, limits
        each = several.finals["costs"].list
        self.costs = [each.get(i).to_numpy() for i in range(len(limits))]
        self.geometries: list[Geometry | None] = []
        self.crossings: list[Crossing | None] = []
        self.why: list[str] = []
        for i, limit in enumerate(limits):
            look = several.look(View(i, called, without(limits, i)))
            geometry = look.geometry
            self.geometries.append(geometry)
            self.crossings.append(crossing(geometry, limit) if geometry else None)
            self.why.append(look.notes[-1] if look.notes else "")

    def on_grid(self, surface: Surface) -> Found:
        """A multiplier for each constraint."""
        rows = len(surface.returns)
        at = np.stack([self._places(surface, i, rows) for i in range(len(self.limits))])[..., None]
        found = []
        for i in range(len(self.limits)):
            cost = self._cost(i, value_at(surface.places, surface.costs[i], at)[:, 0])
            train_at = float(surface.lambda_at(i, at[i, 0])[0])
            found.append(replace(self._multiplier(i), train_at=train_at, cost=cost))
        expected = self._estimate(value_at(surface.places, surface.returns, at)[:, 0])
        return tuple(found), expected, f"{GRID}{self._apart(found)}"

    def in_common(self) -> Found:
        """One multiplier for all constraints: the largest that one of them needs. That one
        binds.
        """
        crossings = [found for found in self.crossings if found is not None]
        each = np.stack([found.places for found in crossings])  # [m, rows]
        places = each.max(0)
        binds = (each == places) & np.isfinite(places)
        found = []
        returns = NO_ESTIMATE
        for i, geometry in enumerate(self.geometries):
            assert geometry is not None
            shape, alone = geometry.shape, self._multiplier(i)
            inside = np.clip(places, shape.axis[0], shape.axis[-1])
            returns = self._estimate(prof.value_at(shape.axis, shape.returns.rows, inside))
            found.append(
                replace(
                    alone,
                    binds=None if alone.binds is None else bool(binds[i, 0]),
                    binds_share=float(binds[i, 1:].mean()) if geometry.banded else None,
                    lambda_=lambda_between(geometry, places),
                    train_at=float(prof.from_axis(inside[:1], geometry.options)[0]),
                    cost=self._cost(i, prof.value_at(shape.axis, shape.costs.rows, inside)),
                )
            )
        return tuple(found), returns, COMMON

    def nowhere(self) -> Found:
        """Nothing can be told."""
        multipliers = tuple(self._multiplier(i) for i in range(len(self.limits)))
        return multipliers, NO_ESTIMATE, next(filter(None, self.why), "there is no sweep")

    def _places(self, surface: Surface, i: int, rows: int) -> np.ndarray:
        """Of a constraint's multiplier on its axis [rows]: where it crosses, or the end of its way
        that comes nearest.
        """
        geometry, found = self.geometries[i], self.crossings[i]
        if geometry is None or found is None:
            return np.full(rows, surface.places[i][-1])
        return np.clip(found.places, geometry.shape.axis[0], geometry.shape.axis[-1])

    def _multiplier(self, i: int) -> f.JointMultiplier:
        found = self.crossings[i]
        name, limit = self.called[i], self.limits[i]
        if found is None:
            return f.JointMultiplier(
                name, limit, None, None, NO_ESTIMATE, None, None, NO_ESTIMATE, self.why[i]
            )
        kept = found.status != "always above"
        return f.JointMultiplier(
            constraint=name,
            limit=limit,
            status=found.status,
            binds=found.status == "reached" if kept else None,
            lambda_=found.lambda_,
            train_at=None,
            binds_share=found.reached_share,
            cost=NO_ESTIMATE,
            reason=found.reason,
        )

    def _estimate(self, rows: np.ndarray) -> f.Estimate:
        """The first of these rows, with its interval from the others where seeds scatter."""
        geometry = next((found for found in self.geometries if found is not None), None)
        if geometry is None:
            return f.Estimate(float(rows[0]))
        return geometry.estimate(rows[0], rows[1:])

    def _cost(self, i: int, rows: np.ndarray) -> f.Estimate:
        """The same of a constraint's mean cost."""
        return cost_within(self._estimate(rows), self.costs[i])

    def _apart(self, found: Sequence[f.JointMultiplier]) -> str:
        """What to say where costs that bind are not at their limits together: the grid is too
        coarse there.
        """
        off = []
        for one in found:
            cost = one.cost.value
            if not one.binds or cost is None:
                continue
            if abs(cost - one.limit) > OFF * one.limit:
                off.append(f"{one.constraint} costs {cost:.3g} instead of {one.limit:g}")
        if not off:
            return ""
        return f"; between the lambdas that were run {' and '.join(off)}: run some closer to these"
