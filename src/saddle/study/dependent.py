"""Runs that wait for others: lambda* of a limit comes from the frontier of a sweep, and so may the
limits themselves.
"""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from saddle.config import LambdaStarMethod
from saddle.errors import SaddleError
from saddle.multipliers import Fixed, Lambda, rule_from, rule_to_dict
from saddle.study.columns import lambda_columns
from saddle.study.params import LIMIT_PLACE, facts_of, learner_fields
from saddle.study.plan import Limit
from saddle.study.store import Study
from saddle.study.writer import member_rows

if TYPE_CHECKING:
    from saddle.analysis.findings import JointLambda

NO_LAMBDA = (pl.col("rule") == Fixed.name) & pl.col("lambda").is_null()
NO_LIMIT = pl.col("limit").is_null() & pl.col("params").str.contains(
    f'"{LIMIT_PLACE}"', literal=True
)


class Origin(NamedTuple):
    """Where a run's lambda* comes from."""

    stage: str
    method: LambdaStarMethod


class Star(NamedTuple):
    """What is trained at a limit."""

    value: Lambda
    instead: str
    """Why this is not lambda*, in words; empty where it is."""


def waits(frame: pl.DataFrame) -> bool:
    """Whether a unit's runs have no lambda yet, or no limit."""
    return not frame.filter(NO_LAMBDA | NO_LIMIT).is_empty()


def ready(study: Study, frame: pl.DataFrame, sweep: Study | None) -> bool:
    """Whether all that the unit waits for is there: the task's sweep runs have ended, here or in
    another study.

    A run that failed has ended; a unit that broke has not, since a resumed study tries it again.
    """
    source = sweep or study
    return all(_have_ended(source, swept) for swept in _swept_runs(source, frame).values())


def _have_ended(source: Study, swept: pl.DataFrame) -> bool:
    """Whether there are such sweep runs, and none of them is still to come."""
    broken = any(source.progress(unit).get("state") == "failed" for unit in swept["unit"].unique())
    return not swept.is_empty() and swept["status"].is_in(["done", "failed"]).all() and not broken


def waiting(study: Study, sweep: Study | None) -> list[str]:
    """What each unit waits for that has not all that it needs, in a line."""
    source = sweep or study
    lines = []
    for unit in study.units():
        frame = study.unit_runs(unit)
        if waits(frame):
            for stage, swept in _swept_runs(source, frame).items():
                if not _have_ended(source, swept):
                    lines.append(
                        f"unit {unit} waits for stage {stage!r} of {source.path}, "
                        f"{_still_to_come(frame, swept)}"
                    )
    return lines


def _still_to_come(frame: pl.DataFrame, swept: pl.DataFrame) -> str:
    """Why a stage cannot give lambda* yet."""
    task, algorithm = frame.row(0, named=True)["task"], frame.row(0, named=True)["algorithm"]
    if swept.is_empty():
        return f"which has no runs of {task} by {algorithm}"
    return f"whose runs of {task} are not all done"


def resolve(
    study: Study, frame: pl.DataFrame, sweep: Study | None, say: Callable[[str], None]
) -> pl.DataFrame:
    """The unit's runs, each with its limit, and those without a rule with the lambda* of it. `say`
    is told of limits that have none.
    """
    source = sweep or study
    facts = [facts_of(params) for params in frame["params"]]
    with source.reading():
        swept = _swept_runs(source, frame)
        metrics = source.scan_metrics()
        limits = _limits(facts, swept, metrics)
        stars = _stars(facts, limits, swept, metrics)
    for (_, limit), star in stars.items():
        if star.instead:
            at = ", ".join(f"{entry:g}" for entry in limit)
            say(f"limit {at} of {frame['task'][0]}: {star.instead}")
    changes = []
    for own, limit in zip(facts, limits, strict=True):
        rule = rule_from(own["rule"]) if own["rule"] else Fixed(stars[_origin(own), limit].value)
        told = {**own, "rule": rule_to_dict(rule), "limits": list(limit)}
        columns = lambda_columns(rule, len(limit))
        columns |= {f"limit_{i}" if i else "limit": entry for i, entry in enumerate(limit)}
        known = {name: value for name, value in columns.items() if name in frame.columns}
        changes.append({**known, "params": json.dumps(told)})
    return member_rows(frame, changes)


def _origin(facts: dict[str, Any]) -> Origin:
    """Where a run's lambda* comes from. Older stores know one method."""
    return Origin(facts["star"], facts.get("star_method", "profile"))


def _limits(
    facts: Sequence[dict[str, Any]], swept: dict[str, pl.DataFrame], metrics: pl.LazyFrame
) -> list[Limit]:
    """Each run's limit: its own, or its place among those of its stage's frontier."""
    counts = {(own["star"], own[LIMIT_PLACE][1]) for own in facts if LIMIT_PLACE in own}
    ladders = {
        (stage, count): frontier_limits(swept[stage], metrics, count) for stage, count in counts
    }
    limits: list[Limit] = []
    for own in facts:
        if LIMIT_PLACE in own:
            place, count = own[LIMIT_PLACE]
            limits.append((ladders[own["star"], count][place - 1],))
        else:
            limits.append(tuple(own["limits"]))
    return limits


def _stars(
    facts: Sequence[dict[str, Any]],
    limits: Sequence[Limit],
    swept: dict[str, pl.DataFrame],
    metrics: pl.LazyFrame,
) -> dict[tuple[Origin, Limit], Star]:
    """What is trained at each limit of the runs without a rule, by where it comes from."""
    wanted: dict[Origin, list[Limit]] = {}
    for own, limit in zip(facts, limits, strict=True):
        if own["rule"] is None:
            wanted.setdefault(_origin(own), []).append(limit)
    stars: dict[tuple[Origin, Limit], Star] = {}
    for origin, some in wanted.items():
        found = lambda_stars(swept[origin.stage], metrics, some, origin.method)
        stars |= {(origin, limit): star for limit, star in found.items()}
    return stars


def frontier_limits(runs: pl.DataFrame, metrics: pl.LazyFrame, count: int) -> tuple[float, ...]:
    """So many limits from restrictive to unrestrictive, from the sweep `runs` of a task and
    learner, as `saddle analyze` finds its frontier with its defaults.
    """
    from saddle.analysis import analyze
    from saddle.analysis.spread_limits import spread_limits

    metrics = metrics.join(runs.lazy().select("run"), on="run", how="semi")
    found = analyze(runs, metrics).tasks
    if not found:
        raise SaddleError(
            f"limits of {runs['task'][0]} need a sweep of two lambdas or more that did not fail, "
            f"with episodes that ended in its last epochs"
        )
    return spread_limits(found[0], count)


def lambda_stars(
    runs: pl.DataFrame,
    metrics: pl.LazyFrame,
    limits: Sequence[Limit],
    method: LambdaStarMethod = "profile",
) -> dict[Limit, Star]:
    """lambda* of each limit, as `saddle analyze` says with its defaults or with --published, from
    the sweep `runs` of a task and learner; with several constraints, a multiplier for each.

    Where the profile never crosses a limit, the setting of the sweep that the analysis names.
    """
    from saddle.analysis import Options, analyze

    metrics = metrics.join(runs.lazy().select("run"), on="run", how="semi")
    wanted = tuple(sorted(set(limits)))
    options = Options.by_method(method, limits=wanted)
    findings = analyze(runs, metrics, options)
    if findings.joint:
        return _joint_stars(findings.joint)
    found = findings.tasks
    if not found or found[0].profile is None:
        raise SaddleError(
            f"lambda* of {runs['task'][0]} needs a sweep of two lambdas or more that did not fail, "
            f"with episodes that "
            "ended in its last epochs"
        )
    stars: dict[Limit, Star] = {}
    for at in found[0].limits:
        assert at.train_at is not None  # there is a profile
        instead = ""
        if at.status != "reached":
            instead = f"{at.reason}; the fixed lambda is {at.train_at:.3g}"
        stars[at.limit,] = Star(at.train_at, instead)
    return stars


def _joint_stars(joint: "Sequence[JointLambda]") -> dict[Limit, Star]:
    """lambda* of each set of limits, with a multiplier for each constraint."""
    stars: dict[Limit, Star] = {}
    for one in joint:
        limits = tuple(share.limit for share in one.multipliers)
        lambdas = [share.train_at for share in one.multipliers if share.train_at is not None]
        if len(lambdas) < len(limits):
            raise SaddleError(f"lambda* of {one.task} cannot be told: {one.reason}")
        stars[limits] = Star(tuple(lambdas), _instead(one, lambdas))
    return stars


def _instead(joint: "JointLambda", lambdas: Sequence[float]) -> str:
    """Why these multipliers are not lambda* of each constraint; empty where they are."""
    why = [
        f"{share.constraint}: {share.reason.rstrip('.')}"
        for share in joint.multipliers
        if share.status != "reached"
    ]
    if not why:
        return ""
    fixed = " and ".join(f"{value:.3g}" for value in lambdas)
    return f"{'; '.join(why)}; the fixed lambdas are {fixed}"


def _swept_runs(source: Study, frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The sweep runs that the unit waits for, by their stage."""
    stages = dict.fromkeys(facts_of(params)["star"] for params in frame["params"])
    return {stage: _sweep_runs(source, frame, stage) for stage in stages}


def _sweep_runs(source: Study, frame: pl.DataFrame, stage: str) -> pl.DataFrame:
    """The stage's runs that give the unit's lambda*: those of its task and of its learner.

    A sweep of another study may have had other settings; then its only learner of that algorithm
    serves.
    """
    first = frame.row(0, named=True)
    swept = source.runs.filter(
        pl.col("lambda").is_not_null(),
        stage=stage,
        task=first["task"],
        algorithm=first["algorithm"],
        rule=Fixed.name,
    )
    learner = learner_fields(first["params"])
    same = [learner_fields(params) == learner for params in swept["params"]]
    if any(same):
        return swept.filter(pl.Series(same, dtype=pl.Boolean))
    others = {json.dumps(learner_fields(params), sort_keys=True) for params in swept["params"]}
    if len(others) > 1:
        raise SaddleError(
            f"lambda* of {first['task']} needs a sweep with the same learner, and {source.path} "
            f"has "
            f"{len(others)} others"
        )
    return swept
