"""What a study consists of: stages, and the runs that they make."""

import dataclasses
import itertools
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from saddle.config import PUBLISHED_STEPS, PUBLISHED_UPDATES, LambdaStarMethod, whole
from saddle.errors import SaddleError
from saddle.hints import bring_to_hints, listed
from saddle.learners import PPO, LearnerSettings
from saddle.multipliers import Fixed, Rule
from saddle.study import room
from saddle.study.names import cell_name, run_name, task_names, variant_name
from saddle.study.sequential import Round, UntilDecided
from saddle.study.stage import Condition, Limit, Stage, check_no_doubles, conditions

MOST_EPOCHS = 99_999_999  # of a run: the names of metrics files have eight digits for them
MOST_SEED = 2**31  # exclusive
MOST_MEMBERS = 300
"""In a unit: room for a task's sweep with its adaptive rules; beyond, a GPU gains little."""


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
        bring_to_hints(self, "chunk: ")
        if self.epochs < 1 or not self.seconds > 0 or not self.share > 0:
            raise SaddleError("the chunks' epochs, seconds and share must be positive")


@dataclass(frozen=True)
class Plan:
    """A study before it is run."""

    name: str = "study"
    tasks: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    seeds: Sequence[int] = tuple(range(10))
    """A range is counted before it is unrolled; kept as a tuple. A number is a range to it."""
    steps: int = PUBLISHED_STEPS
    """Env steps of each run."""
    learner: LearnerSettings = field(default_factory=PPO)
    """Of all stages that name no variants."""
    chunk: Chunking = Chunking()
    members: int | None = None
    """Most runs in a unit; None takes what memory allows."""
    scale_rates: bool = False
    """Multiply the rates of the published rules, lr of 'ga' and ki of 'pid', by 1750 / updates of
    lambda, so that it can travel as far as in the published study.
    """
    until_decided: UntilDecided | None = None
    """Add seeds until it is decided which rule to use; `seeds` are then the first group."""
    rounds: tuple[Round, ...] = ()
    """Groups of seeds that were added so far. The study that is run adds them."""

    def __post_init__(self) -> None:
        self._bring_to_types()
        if not self.tasks or not self.stages or not self.seeds:
            raise SaddleError(f"study {self.name!r} has no runs: it needs tasks, stages and seeds")
        self._check_size()
        object.__setattr__(self, "seeds", tuple(self.seeds))
        self._check_seeds()
        check_no_doubles("task", self.tasks)
        check_no_doubles("seed", self.seeds)
        check_no_doubles("stage", [stage.name for stage in self.stages])
        for learner in self.learners:
            self._check_epochs(learner)
        if self.members is not None and self.members < 1:
            raise SaddleError(f"members is {self.members}; a unit has at least 1")
        for stage in self.stages:
            self._check_tasks_of(stage)
            self._check_variants_of(stage)
            self._check_rules_of(stage)
        self._check_until_decided()
        check_no_doubles("run", [run.name for run in runs(self)])

    def _bring_to_types(self) -> None:
        """Values that a Python program gives, as a study file has them."""
        for name in ("tasks", "stages", "seeds"):
            object.__setattr__(self, name, listed(getattr(self, name)))
        if isinstance(self.seeds, numbers.Integral):
            object.__setattr__(self, "seeds", range(whole("seeds", self.seeds)))
        bring_to_hints(self)

    @property
    def learners(self) -> tuple[LearnerSettings, ...]:
        """Every learner of the study once, in the order of the stages."""
        found = itertools.chain.from_iterable(map(self.learners_of, self.stages))
        return tuple(dict.fromkeys(found))

    def learners_of(self, stage: Stage) -> tuple[LearnerSettings, ...]:
        """Those that the stage's runs have."""
        return stage.variants or (self.learner,)

    def epochs_of(self, learner: LearnerSettings) -> int:
        """Epochs of each run of this learner."""
        return self.steps // learner.steps_per_epoch

    def pace_of(self, learner: LearnerSettings) -> float:
        """The published updates of lambda over those that a run of this learner has."""
        return PUBLISHED_UPDATES / learner.updates_of_lambda(self.steps)

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
                f"are counted: lower steps or raise steps_per_epoch"
            )

    def _check_variants_of(self, stage: Stage) -> None:
        """No variant is there twice, and what takes lambda* from a stage of this plan finds its own
        learner there.
        """
        names = [variant_name(learner, self.learner) for learner in stage.variants]
        said = [name or "(as the study)" for name in names]
        check_no_doubles(f"variant of stage {stage.name!r}:", said)
        source = next((other for other in self.stages if other.name == stage.lambda_star), None)
        if source is None:
            return
        for learner in self.learners_of(stage):
            if learner not in self.learners_of(source):
                name = variant_name(learner, self.learner) or "as the study"
                raise SaddleError(
                    f"stage {stage.name!r} takes lambda* from {source.name!r}, which lacks the "
                    f"variant {name}; give both stages the same variants"
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
        compared = [stage for stage in self.stages if stage.compares]
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
        first = len(self.seeds)
        most = wish.most_of(first)
        if most <= first:
            raise SaddleError(
                f"at most {most} seeds until decided, but study {self.name!r} begins with {first}; "
                f"allow more, or begin with fewer"
            )

    def _check_size(self) -> None:
        """Before anything is unrolled: there is room for all runs."""
        of_a_seed = sum(stage.runs_of_a_seed(task) for stage in self.stages for task in self.tasks)
        seeds = room.count(self.seeds)
        if self.until_decided is not None:
            seeds = max(seeds, self.until_decided.most_of(seeds))
        most = room.most_runs() // max(1, of_a_seed)
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
            odd = sorted(set(stage.limits) ^ set(self.tasks), key=str)[0]
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
    called = task_names(plan.tasks)
    for stage, task in itertools.product(plan.stages, plan.tasks):
        for learner in plan.learners_of(stage):
            pace = plan.pace_of(learner) if plan.scale_rates else 1.0
            for condition in conditions(stage, task, pace):
                found += _runs_of_cell(plan, stage, task, called[task], learner, condition)
    return found


def _runs_of_cell(
    plan: Plan,
    stage: Stage,
    task: str,
    called: str,
    learner: LearnerSettings,
    condition: Condition,
) -> list[Run]:
    """One run for each seed of the plan. `called` is the task in their names."""
    cell = cell_name(called, learner, plan.learner, condition.label)
    found = []
    for seed in plan.seeds:
        run = Run(
            name=run_name(called, learner, plan.learner, condition.label, seed),
            stage=stage.name,
            task=task,
            learner=learner,
            rule=condition.rule,
            limit=condition.limit,
            seed=seed,
            star=condition.star,
            star_method=stage.lambda_star_method,
            place=condition.place,
            cell=cell,
        )
        found.append(run)
    return found


def spaced(low: float, high: float, count: int) -> tuple[float, ...]:
    """`count` values from low to high, evenly spaced in their logarithm, ends included exactly."""
    inner = (low * (high / low) ** (i / (count - 1)) for i in range(1, count - 1))
    return (low, *inner, high)
