"""A task's frontier from nothing: a pilot, then multipliers where it says that they tell most.

It is a study that grows round by round: it is stored, resumed and read as any other.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from saddle.analysis import Options
from saddle.analysis.constraints import column, limit_sets
from saddle.analysis.summary import final_values
from saddle.analysis.sweep import IS_SWEEP
from saddle.errors import SaddleError
from saddle.learners import PPO, LearnerSettings
from saddle.learners.ppo.sizes import ACCELERATOR, LAPTOP
from saddle.multipliers import Lambda, each_lambda, lambda_name, lambda_of
from saddle.study import estimate
from saddle.study.forecast import say_how_long
from saddle.study.grow import complete, grow
from saddle.study.lambdas import PILOT, Outcomes, next_lambdas
from saddle.study.local import Worker
from saddle.study.plan import Plan, Stage
from saddle.study.prepare import plan_of, prepare
from saddle.study.program import POPULATION, factory
from saddle.study.status import duration
from saddle.study.stop import Stopper
from saddle.study.store import MANIFEST, Study
from saddle.study.unit import Listener
from saddle.tasks.spec import TaskSpec

NAMES = ("pilot", "sweep", "bends")
"""Of the rounds: the pilot, and two in which multipliers are put where they tell most."""

COUNTS = {1: 9, 2: 5}
"""Multipliers of each constraint, by how many constraints there are."""

EPOCHS = 60
"""Of each run, unless its steps are told."""

EPISODES = 4
"""At least so many whole episodes in an epoch, or its mean cost says too little."""


@dataclass(frozen=True)
class Wish:
    """What somebody wants to know of a task."""

    task: str
    limits: tuple[tuple[float, ...], ...] = ()
    """Cost limits at which lambda* is wanted, each with one number for each constraint; with one
    constraint every number is a limit.
    """
    seeds: int = 3
    steps: int | None = None
    """Env steps of each run; None: as many as make 60 epochs."""
    lambdas: int | None = None
    """Multipliers of each constraint, the pilot's three among them. None: 9; of two constraints,
    whose grid has every pair, 5 each; of more 3 each.
    """
    learner: LearnerSettings | None = None
    """None: sized for this machine. Epochs of the machine's own size grow with the task's episodes.
    """

    def __post_init__(self) -> None:
        if self.lambdas is not None and self.lambdas < len(PILOT):
            raise SaddleError(
                f"--lambdas is {self.lambdas}; a frontier takes at least {len(PILOT)}"
            )
        if self.seeds < 1:
            raise SaddleError(f"--seeds is {self.seeds}; it must be at least 1")
        for limit in itertools.chain(*self.limits):
            if not 0 <= limit < math.inf:
                raise SaddleError(f"--limit {limit:g} is not a cost; it is finite and 0 or more")

    def count(self, constraints: int) -> int:
        """Multipliers of each of so many constraints."""
        if self.lambdas is not None:
            return self.lambdas
        return COUNTS.get(constraints, len(PILOT))

    def limits_of(self, names: tuple[str, ...]) -> list[tuple[float, ...]]:
        """Sets of limits, each with one number for each of these constraints of the task."""
        return limit_sets(self.limits, self.task, names)


def machine_learner() -> PPO:
    """Settings for what this machine computes with, before the task is known."""
    import jax

    return LAPTOP if jax.default_backend() == "cpu" else ACCELERATOR


def sized(learner: LearnerSettings, episode_length: int) -> LearnerSettings:
    """The same with epochs that hold some whole episodes of the task."""
    least = EPISODES * episode_length
    if learner.steps_per_epoch >= least or learner.worlds is not None:
        return learner
    return dataclasses.replace(learner, steps_per_epoch=least)


def pilot_plan(wish: Wish, spec: TaskSpec) -> Plan:
    """The study before anything is known."""
    wish.limits_of(spec.constraints)  # says what is wrong with them
    default = machine_learner()
    learner = wish.learner or default
    if learner.steps_per_epoch == default.steps_per_epoch:
        learner = sized(learner, spec.episode_length)
    steps = wish.steps or EPOCHS * learner.steps_per_epoch
    stage = Stage(NAMES[0], lambdas=_grid([PILOT] * len(spec.constraints)))
    return Plan("frontier", (wish.task,), (stage,), range(wish.seeds), steps, learner=learner)


def open_frontier(wish: Wish, spec: TaskSpec, out: Path, resume: bool) -> Study:
    """The study in `out`: new, or what is there of it already."""
    plan = pilot_plan(wish, spec)
    if not (out / MANIFEST).exists():
        return prepare(plan, out, resume)
    there = plan_of(Study(out))
    begun = dataclasses.replace(plan, stages=(plan.stages[0], *there.stages[1:]))
    return complete(prepare(begun, out, resume))


def rounds_left(wish: Wish, constraints: int, stages: Sequence[Stage]) -> list[tuple[str, int]]:
    """Name of each round that is still to come after these stages, and how many multipliers it adds
    to each constraint.

    What is left after the pilot comes in two rounds, and what is asked for later in one more.
    """
    left = max(0, wish.count(constraints) - _axis_length(stages, constraints))
    sizes = [-(-left // 2), left // 2] if len(stages) == 1 else [left]
    found = []
    for number, size in enumerate(sizes, len(stages)):
        name = NAMES[number] if number < len(NAMES) else f"more-{number - len(NAMES) + 1}"
        if size:
            found.append((name, size))
    return found


def _axis_length(stages: Sequence[Stage], constraints: int) -> int:
    """How many multipliers every constraint has in these stages."""
    lambdas = [each_lambda(value, constraints) for stage in stages for value in stage.lambdas]
    return min(len(set(axis)) for axis in zip(*lambdas, strict=True))


def train_frontier(
    study: Study,
    wish: Wish,
    names: tuple[str, ...],
    stop: Stopper,
    listener: Listener,
    program: str = POPULATION,
) -> Study:
    """Carry the study through its rounds, until it is finished or it is time to stop.

    names: of the task's constraints.
    """
    for number in itertools.count():
        stages = plan_of(study).stages
        coming = rounds_left(wish, len(names), stages)
        if number == len(stages):
            if not coming:
                return study
            name, size = coming.pop(0)
            lambdas = choose(study, wish.limits_of(names), len(names), size)
            if not lambdas:
                listener.say("more multipliers would tell nothing: their outcomes are all alike")
                return study
            study = grow(study, Stage(name, lambdas=lambdas))
            stages = plan_of(study).stages
        stage = stages[number]
        shown = ", ".join(lambda_name(value) for value in stage.lambdas)
        total = len(stages) + len(coming)
        listener.say(f"round {number + 1} of {total}, {stage.name}: lambda {shown}")
        worker = Worker(study, factory(program), plan_of(study).chunk, listener, stop)
        say_how_long(worker, plan_of(study), stop, program)
        if len(stages) == 1 and worker.paces:
            listener.say(_whole_time(study, wish, worker, len(names)))
        worker.work()
        if not study.finished:
            return study
    return study


def _whole_time(study: Study, wish: Wish, worker: Worker, constraints: int) -> str:
    """How long all rounds take, as if the others were like the pilot."""
    plan = plan_of(study)
    lambdas = wish.count(constraints) ** constraints
    pilot = estimate.left(study, worker.paces)
    training = (pilot.seconds - pilot.compiling) * lambdas / len(PILOT) ** constraints
    seconds = training + pilot.compiling * (1 + len(rounds_left(wish, constraints, plan.stages)))
    return f"the whole frontier of {lambdas} lambdas: about {duration(seconds)}"


def choose(
    study: Study, limits: Sequence[tuple[float, ...]], constraints: int, count: int
) -> tuple[Lambda, ...]:
    """The next multipliers: `count` more for each constraint, in every combination.

    Each constraint's are chosen by what they come to on average over the others' multipliers.
    """
    axes: list[tuple[float, ...]] = []
    for i in range(constraints):
        found = outcomes(study, i)
        own = [limit[i] for limit in limits]
        axes.append((*found.lambdas, *next_lambdas(found, own, count)))
    there = {value for stage in plan_of(study).stages for value in stage.lambdas}
    return tuple(value for value in _grid(axes) if value not in there)


def outcomes(study: Study, constraint: int = 0) -> Outcomes:
    """Means of what the study's runs came to, by the multiplier of a constraint."""
    lam = column("lambda", constraint)
    cost = column("cost", constraint)
    with study.reading():
        finals = final_values(study.runs, study.scan_metrics(), Options()).frame
    means = (
        finals.filter(IS_SWEEP)
        .group_by(lam)
        .agg(pl.col(cost).mean(), pl.col("return").mean())
        .sort(lam)
    )
    if means.height < 2:
        raise SaddleError(
            f"only {means.height} of the lambdas in {study.path} came to a result, which is too "
            f"few to go on from; 'saddle study status {study.path}' says what failed"
        )
    return Outcomes(*(means[name].to_numpy() for name in (lam, cost, "return")))


def _grid(axes: Sequence[Sequence[float]]) -> tuple[Lambda, ...]:
    """Every combination of the multipliers of each constraint."""
    ordered = [sorted(float(value) for value in axis) for axis in axes]
    return tuple(lambda_of(values) for values in itertools.product(*ordered))
