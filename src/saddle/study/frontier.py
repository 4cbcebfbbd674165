"""A task's frontier from nothing: by one policy for every multiplier, or by a sweep.

The sweep begins with a pilot, then puts multipliers where that says that they tell most: a study
that grows round by round. Either is stored, resumed and read as any other study.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from saddle.analysis import Options
from saddle.analysis.constraints import column, limit_sets
from saddle.analysis.summary import final_values
from saddle.analysis.sweep import IS_SWEEP
from saddle.config import check_limits, whole
from saddle.errors import SaddleError
from saddle.hints import bring_to_hints
from saddle.learners import PPO, Conditioned, LearnerSettings
from saddle.machine import check_device
from saddle.multipliers import Lambda, each_lambda, lambda_name, lambda_of
from saddle.multipliers.counts import usual_count
from saddle.study import estimate
from saddle.study.forecast import say_how_long
from saddle.study.grow import complete, grow, growing, with_runs
from saddle.study.lambdas import PILOT, Outcomes, next_lambdas
from saddle.study.listener import Listener
from saddle.study.local import Worker
from saddle.study.plan import Plan, Stage
from saddle.study.prepare import plan_of, prepare
from saddle.study.program import POPULATION, factory
from saddle.study.status import duration
from saddle.study.stop import Stopper
from saddle.study.store import MANIFEST, Study
from saddle.tasks.spec import TaskSpec

Method = Literal["dial", "sweep"]
"""One policy that takes lambda as an input, or policies at fixed lambdas."""

NAMES = ("pilot", "sweep", "bends")
"""Of a sweep's rounds: the pilot, and two in which multipliers are put where they tell most."""

EPOCHS: dict[Method, int] = {"dial": 70, "sweep": 60}
"""Of each run, unless its steps are told."""

EPISODES: dict[Method, int] = {"dial": 16, "sweep": 4}
"""At least so many whole episodes in an epoch, or they say too little about its mean cost: with a
dial at every multiplier.
"""


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
    """Env steps of each run; None: as many as make 70 epochs of a dial, 60 of a sweep."""
    lambdas: int | None = None
    """Multipliers of each constraint: of a sweep those that are trained, the pilot's three among
    them; of a dial those that its range is looked at. None: 9; of two constraints, whose grid has
    every pair, 5 each; of more 3 each.
    """
    learner: LearnerSettings | None = None
    """None: sized for this machine. Epochs of the machine's own size grow with the task's episodes.
    """
    method: Method | None = None
    """None: the learner's own; without one, a dial."""

    def __post_init__(self) -> None:
        bring_to_hints(self)
        if self.learner is not None and self.method not in (None, method_of(self.learner)):
            raise SaddleError(
                f"the method is {self.method!r}, but the learner {self.learner.algorithm!r} "
                f"trains a {method_of(self.learner)}; leave one of them out"
            )
        if self.lambdas is not None and self.lambdas < len(PILOT):
            raise SaddleError(f"lambdas is {self.lambdas}; a frontier takes at least {len(PILOT)}")
        whole("seeds", self.seeds, least=1)
        if self.steps is not None:
            whole("steps", self.steps, least=1)
        check_limits(itertools.chain(*self.limits))

    def count(self, constraints: int) -> int:
        """Multipliers of each of so many constraints."""
        if self.lambdas is not None:
            return self.lambdas
        return usual_count(constraints)

    def limits_of(self, names: tuple[str, ...]) -> list[tuple[float, ...]]:
        """Sets of limits, each with one number for each of these constraints of the task."""
        return limit_sets(self.limits, self.task, names)


def method_of(learner: LearnerSettings) -> Method:
    """How this learner finds a frontier."""
    return "dial" if learner.usual_rule.drawn else "sweep"


def machine_learner(method: Method) -> LearnerSettings:
    """Settings for what this machine computes with, before the task is known."""
    kinds: dict[Method, type[LearnerSettings]] = {"dial": Conditioned, "sweep": PPO}
    return sized_for_here(kinds[method])


def sized_for_here(kind: type[LearnerSettings]) -> LearnerSettings:
    """The same of any learner."""
    import jax

    check_device()
    return kind.for_machine(jax.default_backend() != "cpu")


def sized(learner: LearnerSettings, episode_length: int) -> LearnerSettings:
    """The same with epochs that hold some whole episodes of the task."""
    least = EPISODES[method_of(learner)] * episode_length
    if learner.steps_per_epoch >= least or learner.worlds is not None:
        return learner
    return dataclasses.replace(learner, steps_per_epoch=least)


def first_plan(wish: Wish, spec: TaskSpec) -> Plan:
    """The study before anything is known: a dial, or a sweep's pilot."""
    wish.limits_of(spec.constraints)  # says what is wrong with them
    method = wish.method or (method_of(wish.learner) if wish.learner else "dial")
    learner = wish.learner or machine_learner(method)
    default = sized_for_here(type(learner))
    if learner.steps_per_epoch == default.steps_per_epoch:
        learner = sized(learner, spec.episode_length)
    if method == "dial":
        stage = Stage("dial", rules=(learner.usual_rule(),))
        if wish.lambdas is not None:
            learner = learner.looked_at(wish.lambdas)
    else:
        stage = Stage(NAMES[0], lambdas=_grid([PILOT] * len(spec.constraints)))
    steps = wish.steps
    if steps is None:
        steps = EPOCHS[method] * learner.steps_per_epoch
    return Plan("frontier", (wish.task,), (stage,), range(wish.seeds), steps, learner=learner)


def open_frontier(wish: Wish, spec: TaskSpec, out: Path, resume: bool) -> Study:
    """The study in `out`: new, or what is there of it already."""
    plan = first_plan(wish, spec)
    if not (out / MANIFEST).exists():
        return prepare(plan, out, resume)
    there = plan_of(Study(out))
    before = method_of(there.learner)
    if before != method_of(plan.learner):
        raise SaddleError(f"{out} holds a frontier by the method {before!r}; go on with the same")
    begun = dataclasses.replace(plan, stages=(plan.stages[0], *there.stages[1:]))
    return complete(prepare(begun, out, resume))


def rounds_left(wish: Wish, constraints: int, stages: Sequence[Stage]) -> list[tuple[str, int]]:
    """Name of each round that is still to come after these stages, and how many multipliers it adds
    to each constraint.

    What is left after the pilot comes in two rounds, and what is asked for later in one more. A
    dial has no rounds.
    """
    if not all(stage.lambdas for stage in stages):
        return []
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
        study = complete(Study(study.path))  # another process may have added rounds
        if number == len(plan_of(study).stages):
            study = _with_round(study, wish, names, listener)
        stages = plan_of(study).stages
        if number == len(stages):
            return study
        coming = rounds_left(wish, len(names), stages)
        stage = stages[number]
        if stage.lambdas:
            shown = ", ".join(lambda_name(value) for value in stage.lambdas)
            total = len(stages) + len(coming)
            listener.say(f"round {number + 1} of {total}, {stage.name}: lambda {shown}")
        worker = Worker(study, factory(program), plan_of(study).chunk, listener, stop)
        say_how_long(worker, plan_of(study), stop, program)
        if len(stages) == 1 and coming and worker.paces:
            listener.say(_whole_time(study, wish, worker, len(names)))
        worker.work()
        if not study.finished and plan_of(Study(study.path)).stages == stages:
            return study
    return study


def _with_round(study: Study, wish: Wish, names: tuple[str, ...], listener: Listener) -> Study:
    """The study, all of whose rounds are through, with its next one: what another process has
    added, or else what is chosen here. As it was where none is to come.
    """
    through = len(plan_of(study).stages)
    if not rounds_left(wish, len(names), plan_of(study).stages):
        return study
    with growing(study) as now:
        stages = plan_of(now).stages
        if len(stages) > through:
            return with_runs(now)
        name, size = rounds_left(wish, len(names), stages)[0]
        lambdas = choose(now, wish.limits_of(names), len(names), size)
        if lambdas:
            return grow(now, Stage(name, lambdas=lambdas))
    listener.say("more multipliers would tell nothing: their outcomes are all alike")
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
        .group_by(lam, maintain_order=True)
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
