"""`analyze`: from the two tables of a study to its findings."""

import dataclasses

import numpy as np
import polars as pl

from saddle.analysis import constraints
from saddle.analysis import findings as f
from saddle.analysis import geometry as geo
from saddle.analysis.compare import gap, looser_but_poorer, mark, pairs
from saddle.analysis.frontier import trace
from saddle.analysis.limits import NO_ESTIMATE, at_limit, difference, without_profile
from saddle.analysis.margin import rule_margin, spread
from saddle.analysis.options import Options
from saddle.analysis.profile import Sweep
from saddle.analysis.published import comparison_limits
from saddle.analysis.resolution import unit_of
from saddle.analysis.smooth import LEAST_NEIGHBOURS
from saddle.analysis.summary import final_values, statistics, violation
from saddle.multipliers import place
from saddle.words import counted

IS_SWEEP = (
    (pl.col("rule") == "fixed")
    & pl.col("lambda").is_not_null()
    & ((pl.col("stage") == "sweep") | pl.col("limit").is_null())
)
IS_COMPARISON = pl.col("limit").is_not_null() & (pl.col("stage") != "sweep")


def analyze(
    runs: pl.DataFrame, metrics: pl.DataFrame | pl.LazyFrame, options: Options | None = None
) -> f.Findings:
    """Everything that a study's runs and metrics show, and what they do not."""
    options = options or Options()
    finals = final_values(runs, metrics, options)
    groups = finals.frame.group_by(["task", "algorithm"], maintain_order=True)
    tasks = tuple(
        _task(str(task), str(algorithm), part, options) for (task, algorithm), part in groups
    )
    return f.Findings(dataclasses.asdict(options), finals.counts, tasks, tuple(finals.notes))


def sweep_of(finals: pl.DataFrame, options: Options) -> tuple[Sweep | None, list[str]]:
    """The sweep of one task and algorithm as arrays, and what there is to say about it."""
    rows = finals.filter(IS_SWEEP)
    notes = []
    if options.scale == "log" and (rows["lambda"] <= 0).any():
        rows = rows.filter(pl.col("lambda") > 0)
        notes.append(
            "Lambda 0 has no logarithm: its runs are in the groups but not in the profile."
        )
    count = rows["lambda"].n_unique()
    if count < 2:
        what = (
            "There is no sweep of fixed lambdas" if count == 0 else "There is only one fixed lambda"
        )
        notes.append(
            f"{what}: no profile, frontier, lambda*, regime or recommended limit can be given."
        )
        return None, notes
    if rows.select("lambda", "seed").is_duplicated().any():
        notes.append(
            "Some seeds were run more than once at the same lambda; their means count as one seed."
        )
    means = rows.group_by("lambda", "seed", maintain_order=True).agg(
        pl.col("return").mean(), pl.col("cost").mean()
    )
    lambdas, seeds = (np.sort(means[name].unique().to_numpy()) for name in ("lambda", "seed"))
    index = np.searchsorted(lambdas, means["lambda"]), np.searchsorted(seeds, means["seed"])
    returns, costs = np.full((2, len(lambdas), len(seeds)), np.nan)
    returns[index], costs[index] = means["return"], means["cost"]
    return Sweep(lambdas, seeds, returns, costs), notes + _sweep_notes(costs)


def _sweep_notes(costs: np.ndarray) -> list[str]:
    """costs [lambdas, seeds]."""
    notes = []
    seeds = np.isfinite(costs).sum(1)
    if len(costs) < LEAST_NEIGHBOURS:
        notes.append(
            f"The sweep has only {len(costs)} lambdas: between them lines are drawn where nothing "
            f"was run."
        )
    if seeds.max() == 1:
        notes.append("Every lambda has one seed: there are no intervals, no regimes and no margin.")
    elif seeds.min() == 1:
        alone = int((seeds == 1).sum())
        have = counted(alone, "lambda has", "lambdas have")
        notes.append(f"{have} one seed: no scatter is known there, so bands nearby are too narrow.")
    elif seeds.min() != seeds.max():
        notes.append(f"Lambdas have between {seeds.min()} and {seeds.max()} seeds.")
    if 1 < seeds.max() < 5:
        notes.append(
            f"With {seeds.max()} seeds intervals are wide: they allow for how little such a sample "
            f"shows."
        )
    if not np.nanmax(costs) > 0:
        notes.append(
            "Every final cost of the sweep is 0: no limit binds, and there is no trade-off to show."
        )
    return notes


def _task(task: str, algorithm: str, finals: pl.DataFrame, options: Options) -> f.TaskFindings:
    finals = finals.sort("run")  # so that rounding does not depend on the order of the runs
    compared = finals.filter(IS_COMPARISON)
    own_limits = {float(limit) for limit in compared["limit"].unique()}
    limits = sorted(set(options.limits) or own_limits | set(comparison_limits(task)))
    sweep, notes = sweep_of(finals, options)
    notes = _constraints(finals, options) + notes + _mixed(finals)
    shape = geo.geometry(sweep, options) if sweep else None
    slope, regimes = geo.slope(shape) if shape else (None, ())
    if shape and slope is None:
        notes.append(
            "The frontier spans no cost or no return: there is no slope, and no regime to "
            "recommend from."
        )
    frontier = geo.frontier(shape) if shape else None
    comparison = _cells(compared, shape, options)
    notes += looser_but_poorer(comparison)
    advice = geo.recommend(shape, regimes, task, unit_of(finals)) if shape else geo.Advice((), [])
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
        task=task,
        algorithm=algorithm,
        groups=_groups(finals, limits, options),
        profile=geo.profile(shape) if shape else None,
        frontier=frontier,
        slope=slope,
        regimes=regimes,
        recommended=advice.limits,
        published_limits=geo.published_limits(shape, regimes, task),
        limits=tuple(_with_rules(finding, compared, options) for finding in found),
        comparison=comparison,
        pairs=_pairs(compared, options),
        scatter=_scatter(finals),
        notes=tuple(notes),
    )


def _constraints(finals: pl.DataFrame, options: Options) -> list[str]:
    """Which constraint was looked at, where there are several."""
    if finals.is_empty():
        return []
    most = finals.row(int(finals["constraints"].arg_max() or 0), named=True)
    return constraints.notes(most["constraints"], most["called"], options.constraint)


def _mixed(finals: pl.DataFrame) -> list[str]:
    steps = finals["steps"].drop_nulls().unique().sort()
    if len(steps) > 1:
        return [
            f"Runs of {', '.join(f'{n:,}' for n in steps)} env steps are mixed here; they may not "
            f"compare."
        ]
    return []


def _groups(finals: pl.DataFrame, limits: list[float], options: Options) -> tuple[f.Group, ...]:
    found = []
    for (lam,), rows in (
        finals.filter(IS_SWEEP).sort("lambda", "run").group_by(["lambda"], maintain_order=True)
    ):
        returns, costs = rows["return"].to_numpy(), rows["cost"].to_numpy()
        stats = vars(statistics(returns, costs, options.level))
        found.append(
            f.Group(
                float(lam), violations=tuple(violation(costs, limit) for limit in limits), **stats
            )
        )
    return tuple(found)


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
    compared: pl.DataFrame, shape: geo.Geometry | None, options: Options
) -> tuple[f.Cell, ...]:
    parts = _rules(compared)
    means = {"return_mean": [rows["return"].mean() for *_, rows in parts]}
    means |= {
        "cost_mean": [rows["cost"].mean() for *_, rows in parts],
        "limit": [limit for _, limit, _ in parts],
    }
    marks = mark(pl.DataFrame(means, schema=dict.fromkeys(means, pl.Float64)))
    found = []
    for (rule, limit, rows), violated, best in zip(
        parts, marks["violated"], marks["best"], strict=True
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
                violation=violation(costs, limit),
                gap=away,
                gap_normalised=share,
                env_steps=int(rows["env_steps"].to_numpy().min()),
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
