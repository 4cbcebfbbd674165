"""`analyze`: from the two tables of a study to its findings."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from saddle.analysis import constraints
from saddle.analysis import findings as f
from saddle.analysis import geometry as geo
from saddle.analysis.compare import gap, looser_but_poorer, mark, pairs
from saddle.analysis.frontier import trace
from saddle.analysis.joint import joint_lambda
from saddle.analysis.limits import NO_ESTIMATE, at_limit, difference, without_profile
from saddle.analysis.margin import rule_margin, spread
from saddle.analysis.options import Options
from saddle.analysis.published import comparison_limits
from saddle.analysis.resolution import unit_of
from saddle.analysis.settled import still_moving
from saddle.analysis.several import Look, Several, look_at_one
from saddle.analysis.summary import cost_estimate, final_values, statistics, violation
from saddle.analysis.sweep import IS_COMPARISON, IS_SWEEP
from saddle.multipliers import place


def analyze(
    runs: pl.DataFrame, metrics: pl.DataFrame | pl.LazyFrame, options: Options | None = None
) -> f.Findings:
    """Everything that a study's runs and metrics show, and what they do not.

    A task with several constraints has findings for each of them, at each set of the others'
    limits.
    """
    options = options or Options()
    finals = final_values(runs, metrics, options)
    parts = [_Part.of(rows) for _, rows in _by_task(finals.frame)]
    chosen = constraints.choose(options.constraint, {part.task: part.called for part in parts})
    found: list[f.TaskFindings] = []
    joint: list[f.JointLambda] = []
    for part in parts:
        more, together = _task(part, chosen[part.task], options)
        found += more
        joint += together
    return f.Findings(
        options=_as_understood(options, parts),
        runs=finals.counts,
        tasks=tuple(found),
        notes=(*finals.notes, *_without_the_constraint(parts, chosen, options)),
        joint=tuple(joint),
    )


def look_again(
    runs: pl.DataFrame,
    metrics: pl.DataFrame | pl.LazyFrame,
    found: f.TaskFindings,
    limits: list[float],
    options: Options,
) -> f.TaskFindings:
    """The same view of a task with several constraints, at other limits of its own."""
    assert found.constraint is not None
    finals = final_values(runs, metrics, options).frame
    for task, rows in _by_task(finals):
        if task == (found.task, found.algorithm):
            part = _Part.of(rows)
            others = [
                math.inf if one.limit is None else one.limit for one in found.constraint.others
            ]
            view = constraints.View(found.constraint.index, part.called, tuple(others))
            several = Several(part.finals, options)
            return _view(part, view, limits, several.look(view), options)
    raise ValueError(f"these runs have no {found.task} of {found.algorithm}")


def _by_task(finals: pl.DataFrame) -> Iterable[tuple[Any, pl.DataFrame]]:
    return finals.group_by(["task", "algorithm"], maintain_order=True)


class _Part(NamedTuple):
    """The runs of a task and an algorithm."""

    task: str
    algorithm: str
    called: tuple[str, ...]  # the task's constraints
    finals: pl.DataFrame

    @classmethod
    def of(cls, finals: pl.DataFrame) -> "_Part":
        """Of these runs, sorted so that rounding does not depend on their order."""
        finals = finals.sort("run")
        most = finals.row(int(finals["constraints"].arg_max() or 0), named=True)
        called = constraints.called(most["task"], most["constraints"], most["called"])
        finals = finals.filter(pl.col("constraints") == most["constraints"])
        return cls(most["task"], most["algorithm"], called, finals)


def _as_understood(options: Options, parts: Sequence[_Part]) -> dict[str, Any]:
    """The options as plain values; where no task has several constraints, every number is a limit
    and there is one constraint to look at.
    """
    shown = dataclasses.asdict(options)
    if all(len(part.called) == 1 for part in parts):
        flat = constraints.limit_sets(options.limits, "", ("cost",))
        shown["limits"] = tuple(limit for (limit,) in flat)
        shown["constraint"] = options.constraint or 0
    return shown


def _without_the_constraint(
    parts: Sequence[_Part], chosen: dict[str, tuple[int, ...]], options: Options
) -> list[str]:
    return [
        f"{part.task} has no constraint {options.constraint}: it is left out."
        for part in parts
        if not chosen[part.task]
    ]


def _task(
    part: _Part, chosen: Sequence[int], options: Options
) -> tuple[list[f.TaskFindings], list[f.JointLambda]]:
    """Findings of the chosen constraints, and lambda* of all of them together."""
    if len(part.called) == 1:
        view = constraints.View(0, part.called)
        limits = [limit for (limit,) in _limit_sets(part, options)]
        look = look_at_one(part.finals, options)
        return [_view(part, view, limits, look, options) for _ in chosen], []
    sets = _limit_sets(part, options)
    several = Several(part.finals, options)
    found = []
    for view in constraints.views(part.called, sets, chosen):
        own = [one for one in sets if constraints.without(one, view.index) == view.others]
        limits = sorted({one[view.index] for one in own})
        found.append(_view(part, view, limits, several.look(view), options))
    joint = [
        joint_lambda(several, part.task, part.algorithm, part.called, one) for one in sets if chosen
    ]
    return found, joint


def _limit_sets(part: _Part, options: Options) -> list[tuple[float, ...]]:
    """The limits to look at, one for each constraint: those asked for, else those of the runs and
    the published ones.
    """
    asked = constraints.limit_sets(options.limits, part.task, part.called)
    own = part.finals.filter(IS_COMPARISON)["limits"].to_list()
    found = set(asked) or {tuple(limits) for limits in own}
    if not asked and len(part.called) == 1:
        found |= {(limit,) for limit in comparison_limits(part.task)}
    return sorted(found)


def _view(
    part: _Part, view: constraints.View, limits: list[float], look: Look, options: Options
) -> f.TaskFindings:
    """Everything about one constraint while the others keep their limits."""
    finals = constraints.seen_by(part.finals.lazy(), view.index).collect()
    constraint = view.finding()
    compared = finals.filter(
        IS_COMPARISON, constraints.at_others("limits", constraint, view.others)
    )
    sweep, shape = look.sweep, look.geometry
    notes = constraints.note(constraint) + look.notes + _mixed(finals)
    notes += still_moving(finals.filter(IS_SWEEP))
    slope, regimes = geo.slope(shape) if shape else (None, ())
    if shape and slope is None:
        notes.append(
            "The frontier spans no cost or no return: there is no slope, and no regime to "
            "recommend from."
        )
    frontier = geo.frontier(shape) if shape else None
    comparison = _cells(compared, view, shape, options)
    notes += looser_but_poorer(comparison)
    unit = unit_of(finals)
    advice = geo.recommend(shape, regimes, part.task, unit) if shape else geo.Advice((), [])
    notes += advice.notes
    notes += geo.above_frontier(shape) if shape else []
    if sweep and shape:
        scatter = spread(sweep, shape.shape, options)
        found = [at_limit(shape, scatter, regimes, limit) for limit in limits]
    else:
        found = [
            without_profile(limit, "there is no profile to read lambda* from") for limit in limits
        ]
    return f.TaskFindings(
        task=part.task,
        algorithm=part.algorithm,
        groups=_groups(finals, view, limits, options),
        profile=geo.profile(shape) if shape else None,
        frontier=frontier,
        slope=slope,
        regimes=regimes,
        recommended=advice.limits,
        published_limits=geo.published_limits(shape, regimes, part.task),
        limits=tuple(_with_rules(finding, compared, options) for finding in found),
        comparison=comparison,
        pairs=_pairs(compared, options),
        scatter=_scatter(finals),
        notes=tuple(notes),
        constraint=constraint,
    )


def _mixed(finals: pl.DataFrame) -> list[str]:
    steps = finals["steps"].drop_nulls().unique().sort()
    if len(steps) > 1:
        return [
            f"Runs of {', '.join(f'{n:,}' for n in steps)} env steps are mixed here; they may not "
            f"compare."
        ]
    return []


def _groups(
    finals: pl.DataFrame, view: constraints.View, limits: list[float], options: Options
) -> tuple[f.Group, ...]:
    """Every fixed lambda; of several constraints, those at which the mean costs of the others keep
    their limits.
    """
    found = []
    swept = finals.filter(IS_SWEEP).with_columns(constraints.POINT)
    for (lam, _), rows in swept.sort("lambda", "point", "run").group_by(
        ["lambda", "point"], maintain_order=True
    ):
        elsewhere = _costs_elsewhere(rows, view)
        if not (elsewhere.mean(0) <= view.others).all():
            continue
        violates = _violating(elsewhere, view)
        returns, costs = rows["return"].to_numpy(), rows["cost"].to_numpy()
        stats = vars(statistics(returns, costs, options.level))
        lambdas = rows["lambdas"][0].to_list()
        found.append(
            f.Group(
                float(lam),
                violations=tuple(violation(costs, limit, violates) for limit in limits),
                others=tuple(lambdas[i] for i in view.places),
                **stats,
            )
        )
    return tuple(found)


def _costs_elsewhere(rows: pl.DataFrame, view: constraints.View) -> np.ndarray:
    """Costs of the constraints that the view does not look at [runs, m - 1]."""
    costs = np.array(rows["costs"].to_list(), float)
    return costs[:, list(view.places)]


def _violating(elsewhere: np.ndarray, view: constraints.View) -> np.ndarray:
    """Which runs have costs elsewhere [runs, m - 1] above a limit: [runs]."""
    return np.asarray((elsewhere > view.others).any(1))


def _rules(compared: pl.DataFrame) -> list[tuple[str, float, pl.DataFrame]]:
    """(rule, limit, rows), the published three rules first."""
    parts = [
        (str(rule), float(limit), rows)
        for (rule, limit), rows in compared.group_by(["rule", "limit"], maintain_order=True)
    ]
    return sorted(parts, key=lambda part: (part[1], place(part[0]), part[0]))


def _with_rules(
    finding: f.LimitFinding, compared: pl.DataFrame, options: Options
) -> f.LimitFinding:
    """Add the margins of the rules that were trained at this limit."""
    margins = []
    for rule, limit, rows in _rules(compared):
        if limit == finding.limit and rule != "fixed":
            training, reason = rule_margin(rows["cost"].to_numpy(), limit, options)
            away = difference(limit, training)
            margins.append(f.Margin(rule, options.satisfied_share, training, away, None, reason))
    return dataclasses.replace(finding, margins=finding.margins + tuple(margins))


def _cells(
    compared: pl.DataFrame, view: constraints.View, shape: geo.Geometry | None, options: Options
) -> tuple[f.Cell, ...]:
    parts = _rules(compared)
    elsewhere = [_costs_elsewhere(rows, view) for *_, rows in parts]
    means = {"return_mean": [rows["return"].mean() for *_, rows in parts]}
    means |= {
        "cost_mean": [rows["cost"].mean() for *_, rows in parts],
        "limit": [limit for _, limit, _ in parts],
    }
    kept = [bool((costs.mean(0) <= view.others).all()) for costs in elsewhere]
    marks = mark(
        pl.DataFrame(means, schema=dict.fromkeys(means, pl.Float64)).with_columns(
            pl.Series("others_kept", kept, pl.Boolean)
        )
    )
    found = []
    for (rule, limit, rows), others, violated, best in zip(
        parts, elsewhere, marks["violated"], marks["best"], strict=True
    ):
        returns, costs = rows["return"].to_numpy(), rows["cost"].to_numpy()
        lambdas = rows["lambda"].drop_nulls().unique()
        away, share = _gap(returns, costs, shape, options)
        found.append(
            f.Cell(
                rule=rule,
                limit=limit,
                lambda_=float(lambdas[0]) if len(lambdas) == 1 else None,
                violated=violated,
                best=best,
                violation=violation(costs, limit, _violating(others, view)),
                gap=away,
                gap_normalised=share,
                env_steps=int(rows["env_steps"].to_numpy().min()),
                other_costs=tuple(cost_estimate(own, options.level) for own in others.T),
                **vars(statistics(returns, costs, options.level)),
            )
        )
    return tuple(found)


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
    return away, f.Estimate(
        *(None if end is None else end / span for end in (away.value, away.lo, away.hi))
    )


def _pairs(compared: pl.DataFrame, options: Options) -> tuple[f.Pair, ...]:
    found: list[f.Pair] = []
    for limit in sorted(compared["limit"].unique()):
        here = [
            (rule, rows["return"].to_numpy(), rows["cost"].to_numpy())
            for rule, other, rows in _rules(compared)
            if other == limit
        ]
        found += pairs(float(limit), here, options.level)
    return tuple(found)


def _scatter(finals: pl.DataFrame) -> tuple[f.Seed, ...]:
    columns = ("run", "rule", "lambda", "limit", "seed", "return", "cost")
    return tuple(f.Seed(*row) for row in finals.select(columns).iter_rows())
