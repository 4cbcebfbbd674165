"""`analyze`: from the two tables of a study to its findings."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import polars as pl

from saddle.analysis import constraints, dials, over_seeds
from saddle.analysis import findings as f
from saddle.analysis import geometry as geo
from saddle.analysis.compare import looser_but_poorer
from saddle.analysis.critics import critic_biases
from saddle.analysis.groups import all_pairs, cells, groups, with_rules
from saddle.analysis.joint import joint_lambda
from saddle.analysis.limits import at_limit, without_profile
from saddle.analysis.margin import spread
from saddle.analysis.options import Options
from saddle.analysis.published import comparison_limits
from saddle.analysis.resolution import unit_of
from saddle.analysis.settled import still_moving
from saddle.analysis.several import Look, Several, look_at_one
from saddle.analysis.summary import final_values
from saddle.analysis.sweep import IS_COMPARISON, IS_SWEEP
from saddle.words import counted


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
        notes=(*finals.notes, *_left_out(parts, chosen, options)),
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
            others = constraints.kept_by_others(found.constraint)
            view = constraints.View(found.constraint.index, part.called, others)
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
    left_out: int  # runs with fewer constraints than others of the task

    @classmethod
    def of(cls, finals: pl.DataFrame) -> "_Part":
        """Of these runs, sorted so that rounding does not depend on their order."""
        finals = finals.sort("run")
        called = constraints.called_in(finals)
        alike = finals.filter(pl.col("constraints") == len(called))
        left_out = finals.height - alike.height
        task, algorithm = finals.select("task", "algorithm").row(0)
        return cls(task, algorithm, called, alike, left_out)


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


def _left_out(
    parts: Sequence[_Part], chosen: dict[str, tuple[int, ...]], options: Options
) -> list[str]:
    notes = []
    for part in parts:
        if not chosen[part.task]:
            notes.append(f"{part.task} has no constraint {options.constraint}: it is left out.")
        if part.left_out:
            have = counted(part.left_out, "run", "runs")
            notes.append(
                f"{have} of {part.task} with fewer constraints than the others left out: they do "
                f"not compare."
            )
    return notes


def _task(
    part: _Part, chosen: Sequence[int], options: Options
) -> tuple[list[f.TaskFindings], list[f.JointLambda]]:
    """Findings of the chosen constraints, and lambda* of all of them together."""
    if not chosen:
        return [], []
    sets = _limit_sets(part, options)
    if len(part.called) == 1:
        look = look_at_one(part.finals, options)
        limits = [limit for (limit,) in sets]
        return [_view(part, constraints.View(0, part.called), limits, look, options)], []
    several = Several(part.finals, options)
    found = []
    for view in constraints.views(part.called, sets, chosen):
        own = [one for one in sets if constraints.without(one, view.index) == view.others]
        limits = sorted({one[view.index] for one in own})
        found.append(_view(part, view, limits, several.look(view), options))
    joint = []
    for one in sets:
        star = joint_lambda(several, part.task, part.algorithm, part.called, one)
        multipliers = dials.with_noise(star.multipliers, part.finals)
        joint.append(dataclasses.replace(star, multipliers=multipliers))
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
    # Runs at other limits of the other constraints are no seeds of these.
    alike = pl.concat([finals.filter(~IS_COMPARISON), compared])
    sweep, shape = look.sweep, look.geometry
    notes = constraints.note(constraint) + look.notes + _mixed(finals)
    notes += dials.notes(finals)
    notes += still_moving(finals.filter(IS_SWEEP))
    slope, regimes = geo.slope(shape) if shape else (None, ())
    if shape and slope is None:
        notes.append(
            "The frontier spans no cost or no return: there is no slope, and no regime to "
            "recommend from."
        )
    frontier = geo.frontier(shape) if shape else None
    comparison = cells(compared, view, shape, options)
    notes += looser_but_poorer(comparison)
    notes += over_seeds.notes(comparison)
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
        groups=groups(finals, view, limits, options),
        profile=geo.profile(shape) if shape else None,
        frontier=frontier,
        slope=slope,
        regimes=regimes,
        recommended=advice.limits,
        published_limits=geo.published_limits(shape, regimes, part.task),
        limits=tuple(
            with_rules(finding, compared, options) for finding in dials.with_noise(found, finals)
        ),
        comparison=comparison,
        pairs=all_pairs(compared, options),
        scatter=_scatter(alike),
        notes=tuple(notes),
        constraint=constraint,
        critics=critic_biases(alike, view, options.level),
    )


def _mixed(finals: pl.DataFrame) -> list[str]:
    steps = finals["steps"].drop_nulls().unique().sort()
    if len(steps) > 1:
        return [
            f"Runs of {', '.join(f'{n:,}' for n in steps)} env steps are mixed here; they may not "
            f"compare."
        ]
    return []


def _scatter(finals: pl.DataFrame) -> tuple[f.Seed, ...]:
    columns = ("run", "rule", "lambda", "limit", "seed", "return", "cost")
    return tuple(f.Seed(*row) for row in finals.select(columns).iter_rows())
