"""A stage of a study: the runs of one purpose, on every task and with every seed alike."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from saddle.config import LambdaStarMethod
from saddle.errors import SaddleError
from saddle.hints import Unfit, bring_to_hints, fitting, listed
from saddle.learners import LearnerSettings
from saddle.multipliers import Fixed, Lambda, Rule, each_lambda, lambda_name, lambda_of
from saddle.study.names import rule_differences

Limit = tuple[float, ...]  # one entry per constraint


@dataclass(frozen=True)
class Stage:
    """Runs of one purpose: each task x each variant x (lambdas, and limits x rules) x each seed."""

    name: str = "sweep"
    """What the runs table calls it."""
    lambdas: tuple[Lambda, ...] = ()
    """Fixed multipliers, each one number for every constraint or one for each; each is a run that
    needs no limit.
    """
    rules: tuple[Rule, ...] = ()
    """Rules that are run at every limit; a dial, whose episodes have multipliers of their own, is
    run once.
    """
    lambda_star: str | None = None
    """Stage whose frontier gives lambda*: adds, at every limit, the runs with lambda fixed
    there.
    """
    lambda_star_method: LambdaStarMethod = "profile"
    """How it is found: from the profile that `saddle analyze` shows, or as in the published study.
    """
    limits: tuple[Limit, ...] | Mapping[str, tuple[Limit, ...]] = ()
    """Cost limits, for all tasks or by task."""
    limits_from_frontier: int = 0
    """Instead of limits: so many, from restrictive to unrestrictive, taken from the frontier of the
    stage `lambda_star` once that has been run. For tasks with one constraint.
    """
    variants: tuple[LearnerSettings, ...] = ()
    """Learners that all of this is run with; none means the study's own."""

    def __post_init__(self) -> None:
        self._bring_to_types()
        _check_lambdas(self.name, self.lambdas)
        self._check_limits_from_frontier()
        self._check_has_runs()
        if any(isinstance(rule, Fixed) for rule in self.rules):
            raise SaddleError(
                f"stage {self.name!r} has the rule 'fixed'; write its multipliers as lambdas"
            )
        by_task = self.limits.values() if isinstance(self.limits, Mapping) else (self.limits,)
        for limits in by_task:
            _check_limits(self.name, limits)
            for rule, limit in itertools.product(self.moving, limits):
                rule.check_limits(limit)
            self._check_method(limits)

    def _bring_to_types(self) -> None:
        """Values that a Python program gives, as a study file has them."""
        for name in ("lambdas", "rules", "variants"):
            object.__setattr__(self, name, listed(getattr(self, name)))
        if isinstance(self.lambdas, list | tuple):
            object.__setattr__(self, "lambdas", tuple(map(lambda_of, self.lambdas)))
        if isinstance(self.limits, Mapping):
            limits = {task: _sets(some) for task, some in self.limits.items()}
        else:
            limits = _sets(self.limits)
        object.__setattr__(self, "limits", limits)
        bring_to_hints(self, f"stage {self.name!r}: ")
        if not self.name or self.lambda_star == "":
            raise SaddleError("a stage's name is empty; name the stage, and what lambda_star is of")

    def _check_has_runs(self) -> None:
        """There is something to run, with limits where they are needed and none where not."""
        needs_limits = bool(self.moving) or self.lambda_star is not None
        wants = needs_limits and self.limits_from_frontier == 0
        if not self.rules and self.lambda_star is None and not self.lambdas:
            raise SaddleError(
                f"stage {self.name!r} has no runs: give it lambdas, or rules and limits"
            )
        if wants and not self.limits:
            raise SaddleError(
                f"stage {self.name!r} has rules that need a cost limit, but no limits"
            )
        if isinstance(self.limits, Mapping):
            for task, limits in self.limits.items():
                if not limits:
                    raise SaddleError(f"stage {self.name!r} has no limits for {task}; give some")
        if self.limits and not wants:
            raise SaddleError(
                f"stage {self.name!r} has limits, but no rule that uses them: fixed lambdas and "
                f"dials do not"
            )

    def _check_method(self, limits: tuple[Limit, ...]) -> None:
        """What the published study did it did with one constraint, and with a sweep."""
        if self.lambda_star_method == "profile":
            return
        if self.lambda_star is None:
            raise SaddleError(
                f"stage {self.name!r} has a lambda_star_method, but no lambda_star: name the stage "
                f"that gives it"
            )
        if any(len(limit) > 1 for limit in limits):
            raise SaddleError(
                f"stage {self.name!r} has several constraints, for which lambda* was never "
                f"published; leave lambda_star_method out"
            )

    def _check_limits_from_frontier(self) -> None:
        if self.limits_from_frontier < 0:
            raise SaddleError(
                f"stage {self.name!r} takes {self.limits_from_frontier} limits from a frontier; "
                f"it must be 1 or more"
            )
        if self.limits_from_frontier and self.limits:
            raise SaddleError(
                f"stage {self.name!r} has limits, and takes limits from a frontier; leave one out"
            )
        if self.limits_from_frontier and self.lambda_star is None:
            raise SaddleError(
                f"stage {self.name!r} takes limits from a frontier, but names no stage that has "
                f"one: add lambda_star"
            )

    @property
    def moving(self) -> tuple[Rule, ...]:
        """The rules that are run at every limit; a dial is run once."""
        return tuple(rule for rule in self.rules if not rule.drawn)

    @property
    def rules_at_a_limit(self) -> int:
        """How many rules are run at each limit, lambda* among them."""
        with_star = self.lambda_star is not None
        return len(self.moving) + with_star

    @property
    def compares(self) -> bool:
        """Whether it has two rules or more at a limit, lambda* among them."""
        return bool(self.moving) and self.rules_at_a_limit > 1

    def limits_of(self, task: str) -> tuple[Limit, ...]:
        """The stage's limits on this task."""
        return self.limits[task] if isinstance(self.limits, Mapping) else self.limits

    def count_limits(self, task: str) -> int:
        """How many limits the stage has on this task."""
        limits = self.limits.get(task, ()) if isinstance(self.limits, Mapping) else self.limits
        return self.limits_from_frontier or len(limits)

    def runs_of_a_seed(self, task: str) -> int:
        """How many runs the stage has on this task with each seed."""
        count = self.count_limits(task)
        dials = len(self.rules) - len(self.moving)
        variants = max(1, len(self.variants))
        return variants * (len(self.lambdas) + dials + count * self.rules_at_a_limit)


class Condition(NamedTuple):
    """What makes a run of a stage, but for its learner and seed."""

    label: str
    rule: Rule | None = None
    """None where lambda* is not known yet."""
    limit: Limit | None = None
    star: str | None = None
    """The stage that gives lambda*, or the limit."""
    place: tuple[int, int] | None = None
    """Of a limit that a frontier gives: which, from 1, among how many."""


def conditions(stage: Stage, task: str, pace: float) -> Iterator[Condition]:
    """All conditions of a stage on a task; the rates of its rules are multiplied by `pace`."""
    for value in stage.lambdas:
        yield Condition(f"fixed-{lambda_name(value)}", Fixed(value))
    for rule in stage.rules:
        if rule.drawn:
            yield Condition(f"{rule.name}{rule_differences(rule)}", rule)
    moving = [rule.faster(pace) for rule in stage.moving]
    count = stage.limits_from_frontier
    for i in range(1, count + 1):
        place = (i, count)
        yield Condition(f"star-limit{i}", star=stage.lambda_star, place=place)
        for rule in moving:
            label = f"{rule.name}-limit{i}{rule_differences(rule)}"
            yield Condition(label, rule, star=stage.lambda_star, place=place)
    if not stage.limits:
        return
    for limit in stage.limits_of(task):
        at = "d" + "_".join(f"{entry:g}" for entry in limit)
        if stage.lambda_star is not None:
            yield Condition(f"star-{at}", limit=limit, star=stage.lambda_star)
        for rule in moving:
            yield Condition(f"{rule.name}-{at}{rule_differences(rule)}", rule, limit)


def check_no_doubles(what: str, values: Iterable[object]) -> None:
    """None of the values is there twice; `what` says what they are."""
    seen = set()
    for value in values:
        if value in seen:
            raise SaddleError(f"{what} {value} is there twice")
        seen.add(value)


def _sets(limits: Any) -> tuple[Limit, ...]:
    """Cost limits, each a number or one for each constraint."""
    several = listed(limits)
    try:
        if not isinstance(several, list | tuple):
            raise Unfit
        sets = [fitting(limit, float | tuple[float, ...]) for limit in map(listed, several)]
    except Unfit:
        raise SaddleError(
            f"limits are {limits!r}; give a list of numbers, as (10, 25), or of lists with one for "
            f"each constraint"
        ) from None
    return tuple(limit if isinstance(limit, tuple) else (limit,) for limit in sets)


def _check_lambdas(stage: str, lambdas: tuple[Lambda, ...]) -> None:
    numbers = [number for value in lambdas for number in each_lambda(value, 1)]
    if not all(number >= 0 and math.isfinite(number) for number in numbers):
        raise SaddleError(f"stage {stage!r} has a lambda below 0 or not finite")
    counts = {len(value) for value in lambdas if isinstance(value, tuple)}
    if len(counts) > 1:
        raise SaddleError(f"stage {stage!r} has lambdas for different numbers of constraints")


def _check_limits(stage: str, limits: tuple[Limit, ...]) -> None:
    if not all(entry >= 0 and math.isfinite(entry) for limit in limits for entry in limit):
        raise SaddleError(f"stage {stage!r} has a cost limit below 0 or not finite")
    if len({len(limit) for limit in limits}) > 1:
        raise SaddleError(f"stage {stage!r} has limits for different numbers of constraints")
    written = [", ".join(f"{entry:g}" for entry in limit) for limit in limits]
    check_no_doubles(f"limit of stage {stage!r}:", written)
