"""What a study consists of: stages, and the runs that they make."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from saddle.config import PUBLISHED_STEPS, PUBLISHED_UPDATES, LambdaStarMethod
from saddle.errors import SaddleError
from saddle.learners import PPO, LearnerSettings
from saddle.multipliers import (
    Fixed,
    Lambda,
    Rule,
    each_lambda,
    lambda_name,
    lambda_of,
)
from saddle.study import room
from saddle.study.names import cell_name, rule_differences, run_name, variant_name
from saddle.study.sequential import Round, UntilDecided

Limit = tuple[float, ...]  # one entry per constraint
MOST_EPOCHS = 99_999_999  # of a run: the names of metrics files have eight digits for them
MOST_SEED = 2**31  # exclusive
MOST_MEMBERS = (
    300  # in a unit: room for a task's sweep with its adaptive rules; beyond, a GPU gains little
)


@dataclass(frozen=True)
class Chunking:
    """When a running unit is saved: a kill loses at most what came after the last save."""

    epochs: int = 10
    """Save after this many epochs, ..."""
    seconds: float = 60.0
    """... or after this time, whichever comes first, ..."""
    share: float = 0.01
    """... but saving may not take more than this share of the time."""
    keep: bool = False
    """Keep the checkpoints of finished units."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or not self.seconds > 0 or not self.share > 0:
            raise SaddleError("the chunks' epochs, seconds and share must be positive")


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
        object.__setattr__(self, "lambdas", tuple(map(lambda_of, self.lambdas)))
        _check_lambdas(self.name, self.lambdas)
        self._check_limits_from_frontier()
        wants = self.limits_from_frontier == 0 and (
            bool(self.moving) or self.lambda_star is not None
        )
        if not self.rules and self.lambda_star is None and not self.lambdas:
            raise SaddleError(
                f"stage {self.name!r} has no runs: give it lambdas, or rules and limits"
            )
        if wants and not self.limits:
            raise SaddleError(
                f"stage {self.name!r} has rules that need a cost limit, but no limits"
            )
        if self.limits and not wants:
            raise SaddleError(
                f"stage {self.name!r} has limits, but no rule that uses them: fixed lambdas and "
                f"dials do not"
            )
        if any(isinstance(rule, Fixed) for rule in self.rules):
            raise SaddleError(
                f"stage {self.name!r} has the rule 'fixed'; write its multipliers as lambdas"
            )
        for limits in self.limits.values() if isinstance(self.limits, Mapping) else (self.limits,):
            _check_limits(self.name, limits)
            for rule, limit in itertools.product(self.moving, limits):
                rule.check_limits(limit)
            self._check_method(limits)

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
        adaptive = len(self.moving) + (self.lambda_star is not None)
        dials = len(self.rules) - len(self.moving)
        variants = max(1, len(self.variants))
        return variants * (len(self.lambdas) + dials + count * adaptive)


@dataclass(frozen=True)
class Plan:
    """A study before it is run."""

    name: str = "study"
    tasks: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    seeds: Sequence[int] = tuple(range(10))
    """A range is counted before it is unrolled; kept as a tuple."""
    steps: int = PUBLISHED_STEPS
    """Env steps of each run."""
    learner: LearnerSettings = field(default_factory=PPO)
    """Of all stages that name no variants."""
    chunk: Chunking = Chunking()
    members: int | None = None
    """Most runs in a unit; None takes what memory allows."""
    scale_rates: bool = False
    """Multiply the rates of the published rules, lr of 'ga' and ki of 'pid', by 1750 / epochs, so
    that lambda can travel as far as in the published study.
    """
    until_decided: UntilDecided | None = None
    """Add seeds until it is decided which rule to use; `seeds` are then the first group."""
    rounds: tuple[Round, ...] = ()
    """Groups of seeds that were added so far. The study that is run adds them."""

    def __post_init__(self) -> None:
        if not self.tasks or not self.stages or not self.seeds:
            raise SaddleError(f"study {self.name!r} has no runs: it needs tasks, stages and seeds")
        self._check_size()
        object.__setattr__(self, "seeds", tuple(self.seeds))
        self._check_seeds()
        _no_doubles("task", self.tasks)
        _no_doubles("seed", self.seeds)
        _no_doubles("stage", [stage.name for stage in self.stages])
        for learner in self.learners:
            self._check_epochs(learner)
        if self.members is not None and self.members < 1:
            raise SaddleError(f"members is {self.members}; a unit has at least 1")
        for stage in self.stages:
            self._check_tasks_of(stage)
            self._check_variants_of(stage)
            self._check_rules_of(stage)
        self._check_until_decided()
        _no_doubles("run", [run.name for run in runs(self)])

    @property
    def learners(self) -> tuple[LearnerSettings, ...]:
        """Every learner of the study once, in the order of the stages."""
        return tuple(
            dict.fromkeys(learner for stage in self.stages for learner in self.learners_of(stage))
        )

    def learners_of(self, stage: Stage) -> tuple[LearnerSettings, ...]:
        """Those that the stage's runs have."""
        return stage.variants or (self.learner,)

    def epochs_of(self, learner: LearnerSettings) -> int:
        """Epochs of each run of this learner."""
        return self.steps // learner.steps_per_epoch

    def pace_of(self, learner: LearnerSettings) -> float:
        """The published updates of lambda over those that a run of this learner has."""
        updates = self.epochs_of(learner)
        if learner.rule_clock.each_cycle:
            updates *= learner.steps_per_epoch // learner.steps_per_cycle
        return PUBLISHED_UPDATES / updates

    def _check_epochs(self, learner: LearnerSettings) -> None:
        each = learner.steps_per_epoch
        learner.check_steps(self.steps)
        epochs = self.epochs_of(learner)
        if epochs < 1:
            raise SaddleError(
                f"steps is {self.steps}, less than one epoch of {each}; raise steps or lower "
                f"steps_per_epoch"
            )
        if epochs > MOST_EPOCHS:
            raise SaddleError(
                f"steps is {self.steps}, which is {epochs} epochs of {each}; at most {MOST_EPOCHS} "
                f"are counted: "
                "lower steps or raise steps_per_epoch"
            )

    def _check_variants_of(self, stage: Stage) -> None:
        """No variant is there twice, and what takes lambda* from a stage of this plan finds its own
        learner there.
        """
        names = [variant_name(learner, self.learner) for learner in stage.variants]
        _no_doubles(
            f"variant of stage {stage.name!r}:", [name or "(as the study)" for name in names]
        )
        source = next((other for other in self.stages if other.name == stage.lambda_star), None)
        if source is None:
            return
        for learner in self.learners_of(stage):
            if learner not in self.learners_of(source):
                name = variant_name(learner, self.learner) or "as the study"
                raise SaddleError(
                    f"stage {stage.name!r} takes lambda* from {source.name!r}, which lacks the "
                    f"variant {name}; give "
                    "both stages the same variants"
                )

    def _check_rules_of(self, stage: Stage) -> None:
        """Every learner of the stage can be trained with all of its multipliers."""
        fixed = tuple(Fixed(value) for value in stage.lambdas[:1])
        for learner in self.learners_of(stage):
            for rule in (*fixed, *stage.rules):
                learner.check_rule(rule)

    def _check_until_decided(self) -> None:
        """There are rules to compare, by a score that the plan has runs for, and seeds to add."""
        wish = self.until_decided
        if wish is None:
            return
        compared = [stage for stage in self.stages if _compares(stage)]
        if not compared:
            raise SaddleError(
                f"study {self.name!r} compares no rules, so there is nothing to decide: seeds are "
                f"added until decided where a stage has two rules or more at a limit"
            )
        if wish.score == "gap" and not any(len(stage.lambdas) > 1 for stage in self.stages):
            raise SaddleError(
                f"study {self.name!r} has no sweep of fixed lambdas to measure a gap from; compare "
                f"by another score: return or violation"
            )
        first, most = len(self.seeds), wish.most_of(len(self.seeds))
        if most <= first:
            raise SaddleError(
                f"at most {most} seeds until decided, but study {self.name!r} begins with {first}; "
                f"allow more, or begin with fewer"
            )

    def _check_size(self) -> None:
        """Before anything is unrolled: there is room for all runs."""
        of_a_seed = sum(stage.runs_of_a_seed(task) for stage in self.stages for task in self.tasks)
        seeds, most = room.count(self.seeds), room.most_runs() // max(1, of_a_seed)
        if seeds > most:
            raise SaddleError(
                f"{seeds} seeds of {of_a_seed} run(s) each do not fit into memory; at most {most} "
                f"do here"
            )

    def _check_seeds(self) -> None:
        for seed in self.seeds:
            if not 0 <= seed < MOST_SEED:
                raise SaddleError(f"seed {seed} must lie in [0, 2**31); choose a smaller one")

    def _check_tasks_of(self, stage: Stage) -> None:
        if isinstance(stage.limits, Mapping) and set(stage.limits) != set(self.tasks):
            odd = sorted(set(stage.limits) ^ set(self.tasks))[0]
            where = "is not a task of the study" if odd in stage.limits else "has none"
            raise SaddleError(f"stage {stage.name!r} gives limits by task, but {odd} {where}")
        known = {other.name: other for other in self.stages}
        source = known.get(stage.lambda_star or "")
        if source is not None and not source.lambdas:
            raise SaddleError(
                f"stage {stage.name!r} takes lambda* from {source.name!r}, which has no fixed "
                f"lambdas"
            )


@dataclass(frozen=True)
class Run:
    """One planned run. `rule` is None where lambda* is not known yet; `star` then names the stage
    that gives it, and `star_method` says how. Where that stage gives the limit too, `place` is the
    limit's among how many.
    """

    name: str
    stage: str
    task: str
    learner: LearnerSettings
    rule: Rule | None
    limit: Limit | None
    seed: int
    star: str | None = None
    star_method: LambdaStarMethod = "profile"
    place: tuple[int, int] | None = None
    cell: str = ""
    """The name without the seed: runs of one cell differ in nothing else."""


def runs(plan: Plan) -> list[Run]:
    """All runs of the plan, in the order of its stages and tasks, then those of added seeds."""
    found = first_runs(plan)
    for added in plan.rounds:
        found += runs_of_round(plan, added)
    return found


def runs_of_round(plan: Plan, added: Round) -> list[Run]:
    """The runs that a group of added seeds makes."""
    again = dataclasses.replace(plan, seeds=added.seeds, rounds=(), until_decided=None)
    wanted = set(added.cells)
    return [run for run in first_runs(again) if run.cell in wanted]


def first_runs(plan: Plan) -> list[Run]:
    """All runs but those of added seeds."""
    found: list[Run] = []
    for stage, task in itertools.product(plan.stages, plan.tasks):
        for learner in plan.learners_of(stage):
            pace = plan.pace_of(learner) if plan.scale_rates else 1.0
            for label, rule, limit, star, place in _multipliers(stage, task, pace):
                for seed in plan.seeds:
                    name = run_name(task, learner, plan.learner, label, seed)
                    run = Run(
                        name,
                        stage.name,
                        task,
                        learner,
                        rule,
                        limit,
                        seed,
                        star,
                        stage.lambda_star_method,
                        place,
                        cell_name(task, learner, plan.learner, label),
                    )
                    found.append(run)
    return found


def spaced(low: float, high: float, count: int) -> tuple[float, ...]:
    """`count` values from low to high, evenly spaced in their logarithm, ends included exactly."""
    inner = (low * (high / low) ** (i / (count - 1)) for i in range(1, count - 1))
    return (low, *inner, high)


class _Multiplier(NamedTuple):
    """What makes a run of a stage, but for its learner and seed."""

    label: str
    rule: Rule | None = None
    limit: Limit | None = None
    star: str | None = None
    place: tuple[int, int] | None = None


def _multipliers(stage: Stage, task: str, pace: float) -> Iterator[_Multiplier]:
    for value in stage.lambdas:
        yield _Multiplier(f"fixed-{lambda_name(value)}", Fixed(value))
    for rule in stage.rules:
        if rule.drawn:
            yield _Multiplier(f"{rule.name}{rule_differences(rule)}", rule)
    moving = [rule.faster(pace) for rule in stage.moving]
    count = stage.limits_from_frontier
    for i in range(1, count + 1):
        own = {"star": stage.lambda_star, "place": (i, count)}
        yield _Multiplier(f"star-limit{i}", **own)
        for rule in moving:
            yield _Multiplier(f"{rule.name}-limit{i}{rule_differences(rule)}", rule, **own)
    if not stage.limits:
        return
    for limit in stage.limits_of(task):
        at = "d" + "_".join(f"{entry:g}" for entry in limit)
        if stage.lambda_star is not None:
            yield _Multiplier(f"star-{at}", limit=limit, star=stage.lambda_star)
        for rule in moving:
            yield _Multiplier(f"{rule.name}-{at}{rule_differences(rule)}", rule, limit)


def _compares(stage: Stage) -> bool:
    """Whether the stage has two rules or more at a limit, lambda* among them."""
    return bool(stage.moving) and len(stage.moving) + (stage.lambda_star is not None) > 1


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
    _no_doubles(
        f"limit of stage {stage!r}:",
        [", ".join(f"{entry:g}" for entry in limit) for limit in limits],
    )


def _no_doubles(what: str, values: Any) -> None:
    seen = set()
    for value in values:
        if value in seen:
            raise SaddleError(f"{what} {value} is there twice")
        seen.add(value)
