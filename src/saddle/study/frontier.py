"""A task's frontier from nothing: a pilot, then multipliers where it says that they tell most.

It is a study that grows round by round: it is stored, resumed and read as any other.
"""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from saddle.analysis import Options
from saddle.analysis.assemble import IS_SWEEP
from saddle.analysis.summary import final_values
from saddle.errors import SaddleError
from saddle.learners import PPO, LearnerSettings
from saddle.learners.ppo.sizes import ACCELERATOR, LAPTOP
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

ROUNDS = 3
"""The pilot, and two rounds in which multipliers are put where they tell most."""

EPOCHS = 60
"""Of each run, unless its steps are told."""

EPISODES = 4
"""At least so many whole episodes in an epoch, or its mean cost says too little."""


@dataclass(frozen=True)
class Wish:
    """What somebody wants to know of a task."""

    task: str
    limits: tuple[float, ...] = ()
    """Cost limits at which lambda* is wanted."""
    seeds: int = 3
    steps: int | None = None
    """Env steps of each run; None: as many as make 60 epochs."""
    lambdas: int = 9
    """Multipliers in all, the pilot's three among them."""
    learner: LearnerSettings | None = None
    """None: sized for this machine. Epochs of the machine's own size grow with the task's episodes.
    """

    def __post_init__(self) -> None:
        if self.lambdas < len(PILOT):
            raise SaddleError(
                f"--lambdas is {self.lambdas}; a frontier takes at least {len(PILOT)}"
            )
        if self.seeds < 1:
            raise SaddleError(f"--seeds is {self.seeds}; it must be at least 1")
        for limit in self.limits:
            if not 0 <= limit < math.inf:
                raise SaddleError(f"--limit {limit:g} is not a cost; it is finite and 0 or more")


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


def pilot_plan(wish: Wish, episode_length: int) -> Plan:
    """The study before anything is known."""
    default = machine_learner()
    learner = wish.learner or default
    if learner.steps_per_epoch == default.steps_per_epoch:
        learner = sized(learner, episode_length)
    steps = wish.steps or EPOCHS * learner.steps_per_epoch
    stage = Stage("pilot", lambdas=PILOT)
    return Plan("frontier", (wish.task,), (stage,), range(wish.seeds), steps, learner=learner)


def open_frontier(wish: Wish, episode_length: int, out: Path, resume: bool) -> Study:
    """The study in `out`: new, or what is there of it already."""
    plan = pilot_plan(wish, episode_length)
    if not (out / MANIFEST).exists():
        return prepare(plan, out, resume)
    there = plan_of(Study(out))
    begun = dataclasses.replace(plan, stages=(plan.stages[0], *there.stages[1:]))
    return complete(prepare(begun, out, resume))


def rounds(wish: Wish) -> list[tuple[str, int]]:
    """Name of each round, and how many multipliers it adds."""
    left = wish.lambdas - len(PILOT)
    second = -(-left // 2)
    sizes = {"sweep": second, "bends": left - second}
    return [("pilot", len(PILOT)), *((name, size) for name, size in sizes.items() if size)]


def train_frontier(
    study: Study, wish: Wish, stop: Stopper, listener: Listener, program: str = POPULATION
) -> Study:
    """Carry the study through its rounds, until it is finished or it is time to stop."""
    for number, (name, size) in enumerate(rounds(wish), 1):
        stages = {stage.name: stage for stage in plan_of(study).stages}
        if name not in stages:
            lambdas = next_lambdas(outcomes(study), wish.limits, size)
            if not lambdas:
                listener.say("more multipliers would tell nothing: their outcomes are all alike")
                return study
            stages[name] = Stage(name, lambdas=lambdas)
            study = grow(study, stages[name])
        shown = ", ".join(f"{value:g}" for value in stages[name].lambdas)
        listener.say(f"round {number} of {len(rounds(wish))}, {name}: lambda {shown}")
        if not _work(study, wish, stop, listener, program, first=number == 1):
            return study
    return study


def _work(
    study: Study, wish: Wish, stop: Stopper, listener: Listener, program: str, first: bool
) -> bool:
    """Train what is planned; whether all of it came to its end."""
    plan = plan_of(study)
    worker = Worker(study, factory(program), plan.chunk, listener, stop)
    say_how_long(worker, plan, stop, program)
    if first and worker.paces:
        seconds = estimate.left(study, worker.paces).seconds * wish.lambdas / len(PILOT)
        listener.say(f"the whole frontier of {wish.lambdas} lambdas: about {duration(seconds)}")
    worker.work()
    return study.finished


def outcomes(study: Study) -> Outcomes:
    """Means over seeds of what the study's runs came to, by multiplier."""
    with study.reading():
        finals = final_values(study.runs, study.scan_metrics(), Options()).frame
    means = (
        finals.filter(IS_SWEEP)
        .group_by("lambda")
        .agg(pl.col("cost").mean(), pl.col("return").mean())
        .sort("lambda")
    )
    if means.height < 2:
        raise SaddleError(
            f"only {means.height} of the lambdas in {study.path} came to a result, which is too "
            f"few to go on from; 'saddle study status {study.path}' says what failed"
        )
    return Outcomes(*(means[name].to_numpy() for name in ("lambda", "cost", "return")))
