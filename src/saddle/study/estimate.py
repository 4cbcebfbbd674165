"""How long a plan, or what is left of a study, takes on this machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from saddle.config import USUAL_LIMIT, Member
from saddle.learners import LearnerSettings, learner_from
from saddle.study import pace, room
from saddle.study.pace import Pace
from saddle.study.plan import Plan
from saddle.study.prepare import constraints
from saddle.study.program import POPULATION, factory
from saddle.study.store import Study
from saddle.study.unit_rows import Kind, kind, steps_per_epoch

# Members of a unit that is timed in parts: from there on time grows with their number
MOST_TIMED = 64
UNMEASURED = Pace(15.0, 0.0)  # what a program takes to compile on any machine, or more

# Rates that any machine surpasses, by which a small plan is known to be small without measuring.
SLOW_STEPS = 2e3  # env steps a second
SLOW_LEARNING = 5e9  # floating-point operations a second
SMALL = 30.0  # seconds


@dataclass(frozen=True)
class Estimate:
    """Of what is left to do."""

    seconds: float
    """With one worker, compilation included."""
    compiling: float
    """Seconds of that."""


def is_small(plan: Plan, runs: int) -> bool:
    """Whether so many runs of the plan certainly take less than half a minute, apart from
    compilation.
    """
    steps = runs * plan.steps
    operations = runs * max(_operations(plan, learner) for learner in plan.learners)
    return steps / SLOW_STEPS + operations / SLOW_LEARNING < SMALL


def in_parts(program: str) -> bool:
    """Whether a unit's pace is put together from parts of an epoch: an accelerator takes a whole
    unit at once.
    """
    import jax

    return program == POPULATION and jax.default_backend() == "cpu"


def of_kind(units: Kind, members: int, program: str, steps: int) -> Pace:
    """The pace of units of this kind, each of so many members that train for so many env steps."""
    learner = learner_from(json.loads(units.learner))
    return of_task(units.task, learner, members, program, steps)


def of_task(task: str, learner: LearnerSettings, members: int, program: str, steps: int) -> Pace:
    """The pace of a task's units with this learner, each of so many members that train for so many
    env steps.
    """
    whole = not in_parts(program)
    count = members if whole else min(members, MOST_TIMED)
    limits = (USUAL_LIMIT,) * constraints(task)
    rule = learner.usual_rule()
    population = tuple(Member(seed, rule, limits) for seed in range(count))
    if not whole:
        return pace.of_population(task, learner, population, steps // learner.steps_per_epoch)
    if learner.in_cycles:
        learner = learner.for_bench()  # whose first epochs are like later ones
    timed = learner.steps_per_epoch * (1 + pace.EPOCHS)
    return pace.of_program(factory(program)(task, learner, population, timed), count)


def largest_units(study: Study) -> dict[Kind, int]:
    """Runs in the largest unfinished unit of each kind."""
    found: dict[Kind, int] = {}
    for unit in study.units():
        if study.progress(unit).get("state") == "done":
            continue
        frame = study.unit_runs(unit)
        own = kind(frame)
        found[own] = max(found.get(own, 0), frame.height)
    return found


def from_store(study: Study) -> dict[Kind, Pace]:
    """The pace of each kind whose units wrote it down when they ran."""
    found: dict[Kind, Pace] = {}
    for unit in study.units():
        progress = study.progress(unit)
        start = progress.get("start")
        epoch = progress.get("pace") or 0.0
        if start is None:
            continue
        frame = study.unit_runs(unit)
        found[kind(frame)] = Pace(max(start - epoch, 0.0), epoch / frame.height)
    return found


def left(study: Study, paces: Mapping[Kind, Pace]) -> Estimate:
    """What is left of the study at these paces, with one worker."""
    seconds = 0.0
    compiling = 0.0
    for unit in study.units():
        progress = study.progress(unit)
        if progress.get("state") == "done":
            continue
        frame = study.unit_runs(unit)
        one = paces[kind(frame)]
        epochs = frame["steps"][0] // steps_per_epoch(frame)
        seconds += one.seconds(frame.height, epochs - progress.get("epoch", 0))
        compiling += one.compile
    return Estimate(seconds, compiling)


def _operations(plan: Plan, learner: LearnerSettings) -> float:
    """Floating-point operations of one run's learning, on a task that is large."""
    return plan.epochs_of(learner) * learner.flop(*room.LARGE_TASK)
