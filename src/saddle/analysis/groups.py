"""Seeds that were run alike, together: every fixed lambda of a sweep, every rule at a limit."""

import dataclasses
from typing import NamedTuple

import numpy as np
import polars as pl

from saddle.analysis import findings as f
from saddle.analysis import geometry as geo
from saddle.analysis.compare import RuleRuns, gap, mark, pairs
from saddle.analysis.constraints import POINT, View
from saddle.analysis.frontier import trace
from saddle.analysis.limits import NO_ESTIMATE, difference
from saddle.analysis.margin import rule_margin
from saddle.analysis.options import Options
from saddle.analysis.over_seeds import of_seeds
from saddle.analysis.summary import cost_estimate, statistics, violation
from saddle.analysis.sweep import IS_SWEEP
from saddle.multipliers import Fixed, place


def groups(
    finals: pl.DataFrame, view: View, limits: list[float], options: Options
) -> tuple[f.Group, ...]:
    """Every fixed lambda; of several constraints, those at which the mean costs of the others keep
    their limits.
    """
    found = []
    swept = finals.filter(IS_SWEEP).with_columns(POINT).sort("lambda", "point", "run")
    for (lam, _), rows in swept.group_by(["lambda", "point"], maintain_order=True):
        elsewhere = _costs_elsewhere(rows, view)
        if not (elsewhere.mean(0) <= view.others).all():
            continue
        violates = _violating(elsewhere, view)
        costs = rows["cost"].to_numpy()
        lambdas = rows["lambdas"][0].to_list()
        group = f.Group(
            float(lam),
            violations=tuple(violation(costs, limit, violates) for limit in limits),
            env_steps=int(rows["env_steps"].to_numpy().min()),
            others=tuple(lambdas[i] for i in view.places),
            **vars(statistics(rows["return"].to_numpy(), costs, options.level)),
        )
        found.append(group)
    return tuple(found)


def _costs_elsewhere(rows: pl.DataFrame, view: View) -> np.ndarray:
    """Costs of the constraints that the view does not look at [runs, m - 1]."""
    costs = np.array(rows["costs"].to_list(), float)
    return costs[:, list(view.places)]


def _violating(elsewhere: np.ndarray, view: View) -> np.ndarray:
    """Which runs have costs elsewhere [runs, m - 1] above a limit: [runs]."""
    return np.asarray((elsewhere > view.others).any(1))


class _Runs(NamedTuple):
    """What was run of a rule at a limit."""

    rule: str
    limit: float
    rows: pl.DataFrame


def _rules(compared: pl.DataFrame) -> list[_Runs]:
    """Every rule at every limit, limits rising, the published three rules first."""
    found = []
    for (rule, limit), rows in compared.group_by(["rule", "limit"], maintain_order=True):
        found.append(_Runs(str(rule), float(limit), rows))
    return sorted(found, key=lambda runs: (runs.limit, place(runs.rule), runs.rule))


def with_rules(finding: f.LimitFinding, compared: pl.DataFrame, options: Options) -> f.LimitFinding:
    """Add the margins of the rules that were trained at this limit."""
    margins = []
    for rule, limit, rows in _rules(compared):
        if limit == finding.limit and rule != Fixed.name:
            training, reason = rule_margin(rows["cost"].to_numpy(), limit, options)
            away = difference(limit, training)
            margins.append(f.Margin(rule, options.satisfied_share, training, away, None, reason))
    return dataclasses.replace(finding, margins=finding.margins + tuple(margins))


def cells(
    compared: pl.DataFrame, view: View, shape: geo.Geometry | None, options: Options
) -> tuple[f.Cell, ...]:
    """Every rule at every limit that it was trained at."""
    parts = _rules(compared)
    marks = _marks(parts, view)
    found = []
    for part, violated, best in zip(parts, marks["violated"], marks["best"], strict=True):
        rule, limit, rows = part
        returns = rows["return"].to_numpy()
        costs = rows["cost"].to_numpy()
        elsewhere = _costs_elsewhere(rows, view)
        lambdas = rows["lambda"].drop_nulls().unique()
        away, share = _gap(returns, costs, shape, options)
        cell = f.Cell(
            rule=rule,
            limit=limit,
            lambda_=float(lambdas[0]) if len(lambdas) == 1 else None,
            violated=violated,
            best=best,
            violation=violation(costs, limit, _violating(elsewhere, view)),
            gap=away,
            gap_normalised=share,
            env_steps=int(rows["env_steps"].to_numpy().min()),
            other_costs=tuple(cost_estimate(own, options.level) for own in elsewhere.T),
            over_training=of_seeds(rows, options.level),
            **vars(statistics(returns, costs, options.level)),
        )
        found.append(cell)
    return tuple(found)


def _marks(parts: list[_Runs], view: View) -> pl.DataFrame:
    """Which of these is violated and which is best."""
    means = []
    for _, limit, rows in parts:
        others = _costs_elsewhere(rows, view).mean(0)
        means.append(
            {
                "limit": limit,
                "return_mean": rows["return"].mean(),
                "cost_mean": rows["cost"].mean(),
                "others_kept": bool((others <= view.others).all()),
            }
        )
    numbers = dict.fromkeys(("limit", "return_mean", "cost_mean"), pl.Float64)
    return mark(pl.DataFrame(means, schema={**numbers, "others_kept": pl.Boolean}))


def _gap(
    returns: np.ndarray, costs: np.ndarray, shape: geo.Geometry | None, options: Options
) -> tuple[f.Estimate, f.Estimate]:
    """Distance to the frontier in return, and as a share of the frontier's span of return."""
    if shape is None:
        return NO_ESTIMATE, NO_ESTIMATE
    kept = shape.kept
    own = trace(shape.points.costs.value[kept], shape.points.returns.value[kept])
    away = gap(returns, costs, own, shape.traces, options)
    if not shape.banded:
        away = f.Estimate(away.value)
    span = shape.arc.return_span if shape.arc else 0.0
    if span == 0:
        return away, NO_ESTIMATE
    ends = (None if end is None else end / span for end in (away.value, away.lo, away.hi))
    return away, f.Estimate(*ends)


def all_pairs(compared: pl.DataFrame, options: Options) -> tuple[f.Pair, ...]:
    """Every two rules that were trained at the same limit."""
    found: list[f.Pair] = []
    for limit in sorted(compared["limit"].unique()):
        here = []
        for rule, _, rows in _rules(compared.filter(pl.col("limit") == limit)):
            here.append(RuleRuns(rule, rows["return"].to_numpy(), rows["cost"].to_numpy()))
        found += pairs(float(limit), here, options.level)
    return tuple(found)
