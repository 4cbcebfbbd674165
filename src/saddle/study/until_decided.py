"""A study that adds seeds until it is decided which rule to use.

The plan's seeds are the first group. After each group rules are compared; those that it is still
open between get another one. Which these are follows from the runs alone, so a study that was
killed goes on as if it had not been: the longer plan goes into the manifest first and the runs
after it, and whoever opens it adds the runs that are missing.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from saddle.analysis.sequential import Looks
from saddle.analysis.until_decided import Family, families
from saddle.errors import SaddleError
from saddle.learners import LearnerSettings
from saddle.study import estimate
from saddle.study import plan as plans
from saddle.study.grow import add_runs, growing, with_plan
from saddle.study.listener import Listener
from saddle.study.local import Worker
from saddle.study.packing import pack
from saddle.study.plan import Plan
from saddle.study.prepare import Survey, constraints, plan_of, prepare, survey_here
from saddle.study.sequential import Round, design_of
from saddle.study.status import duration
from saddle.study.store import MANIFEST, Study
from saddle.words import counted

MOST_NAMED = 8
"""Looks at the rules that are said one by one."""

CarryOut = Callable[[Study], None]
"""Runs all units of the study that are left."""


def open_study_of(
    plan: Plan, out: Path, resume: bool, sweep: Path | None = None, survey: Survey = survey_here
) -> Study:
    """The study of any plan in `out`: new, or what is there of it already."""
    begin = prepare if plan.until_decided is None else open_until_decided
    return begin(plan, out, resume, sweep, survey)


def run_study_of(plan: Plan, study: Study, listener: Listener, carry_out: CarryOut) -> Study:
    """Carry out the study of any plan; returns it as it then is."""
    if plan.until_decided is not None:
        return run_until_decided(study, listener, carry_out)
    carry_out(study)
    return study


def open_until_decided(
    plan: Plan, out: Path, resume: bool, sweep: Path | None = None, survey: Survey = survey_here
) -> Study:
    """The study in `out`: new, or what is there of it already. One that was begun with as many
    seeds as its plan has may be gone on with.
    """
    _check_tasks(plan)
    _check_decidable(plan)
    if not (out / MANIFEST).exists():
        return prepare(plan, out, resume, sweep, survey)
    there = plan_of(Study(out))
    begun = dataclasses.replace(plan, rounds=there.rounds)
    if there.until_decided is None:
        begun = dataclasses.replace(begun, until_decided=None)
    study = prepare(begun, out, resume, sweep, survey)
    if there.until_decided is None:
        study = _asked_for(study, plan)
    return complete_rounds(study)


def _asked_for(study: Study, plan: Plan) -> Study:
    """The study, begun with given seeds, with what its plan now asks for, unless another process
    has asked already.
    """
    with growing(study) as now:
        if plan_of(now).until_decided is None:
            return with_plan(now, plan)
        return now


def _check_tasks(plan: Plan) -> None:
    for task in plan.tasks:
        if constraints(task) > 1:
            raise SaddleError(
                f"{task} has {constraints(task)} constraints; seeds are added until decided for "
                f"tasks with one"
            )


def _check_decidable(plan: Plan) -> None:
    """At the most seeds a difference could be told, however clear it is."""
    assert plan.until_decided is not None
    compared = _compared(plan)
    rules = max(compared)
    error = plan.until_decided.error
    if plan.until_decided.error_over == "study":
        error /= len(compared)
    looks = Looks(plan.until_decided.looks(len(plan.seeds)), error)
    if not any(looks.shares(rules)):
        raise SaddleError(
            f"{looks.seeds[-1]} seeds cannot tell {rules} rules apart with an error of "
            f"{plan.until_decided.error:g}, however they differ; allow more seeds or more error"
        )


def _compared(plan: Plan) -> list[int]:
    """How many rules there are at each limit at which there are several: of each task and
    learner.
    """
    rules: Counter[tuple[object, ...]] = Counter()
    for stage, task in itertools.product(plan.stages, plan.tasks):
        limits = range(stage.count_limits(task))
        if not stage.limits_from_frontier and stage.limits:
            limits = stage.limits_of(task)
        for learner, limit in itertools.product(plan.learners_of(stage), limits):
            rules[task, learner, limit] += stage.rules_at_a_limit
    return [count for count in rules.values() if count > 1]


def run_until_decided(study: Study, listener: Listener, carry_out: CarryOut) -> Study:
    """Carry the study through its groups of seeds, until it is decided which rules to use, or there
    are no more, or it is time to stop.
    """
    while True:
        units = study.units()
        carry_out(study)
        study = complete_rounds(Study(study.path))
        if study.units() != units:
            continue  # another process has added a group
        if not study.finished:
            return study
        found = _families(study)
        for line in lines(found):
            listener.say(line)
        added = next_round(study, found)
        if added is None:
            return study
        study = _add(study, added)


def _families(study: Study) -> list[Family]:
    design = design_of(study.manifest)
    assert design is not None
    with study.reading():
        return families(study.runs, study.scan_metrics(), design)


def lines(found: list[Family]) -> list[str]:
    """How many limits are decided, in one line."""
    if not found:
        return []
    looks = found[0].found.looks.seeds
    seeds = looks[found[0].found.seen - 1]
    decided = sum(len(family.found.use) == 1 for family in found)
    still_open = sum(bool(family.found.open) for family in found)
    rest = "the most there are" if seeds == looks[-1] else f"open at {still_open}"
    return [
        f"after {counted(seeds, 'seed')}: one rule to use at {decided} of "
        f"{counted(len(found), 'limit')}; {rest}"
    ]


def next_round(study: Study, found: list[Family]) -> Round | None:
    """The next group of seeds, for the rules that it is open between; None where there is none."""
    design = design_of(study.manifest)
    assert design is not None
    seeds = design.next_seeds()
    cell_of = {run.name: run.cell for run in plans.runs(plan_of(study))}
    cells = set()
    for family in found:
        for rule in {rule for pair in family.found.open for rule in pair}:
            cells |= {cell_of[run] for run in family.runs[rule]}
    return Round(seeds, tuple(sorted(cells))) if seeds and cells else None


def _add(study: Study, added: Round) -> Study:
    """The study with one more group of seeds, unless another process has added it."""
    with growing(study) as now:
        plan = plan_of(now)
        if all(there.seeds != added.seeds for there in plan.rounds):
            now = with_plan(now, dataclasses.replace(plan, rounds=(*plan.rounds, added)))
        return _with_runs(now)


def complete_rounds(study: Study) -> Study:
    """The study with every run of its groups of seeds."""
    if not _lacks_runs(study):
        return study
    with growing(study) as now:
        return _with_runs(now)


def _lacks_runs(study: Study) -> bool:
    """Whether runs of groups that were added are missing."""
    plan = plan_of(study)
    there = set(study.runs["run"])
    planned = itertools.chain(*(plans.runs_of_round(plan, added) for added in plan.rounds))
    return any(run.name not in there for run in planned)


def _with_runs(study: Study) -> Study:
    """The study with the runs that are missing, in units no larger than those that it has.

    All runs of a group are packed, so that a process that was killed on the way and its successor
    make the same units.
    """
    plan = plan_of(study)
    sizes = _largest_units(study)
    for number, added in enumerate(plan.rounds, 2):
        runs = plans.runs_of_round(plan, added)
        packed = pack(plan, runs, lambda task, learner: sizes[task, learner])
        add_runs(study, plan, packed, f"round{number}")
    return Study(study.path)


def _largest_units(study: Study) -> dict[tuple[str, LearnerSettings], int]:
    """Runs in the largest unit of each task and learner: memory has room for so many."""
    program = {run.name: (run.task, run.learner) for run in plans.first_runs(plan_of(study))}
    sizes: dict[tuple[str, LearnerSettings], int] = {}
    for unit in study.units():
        frame = study.unit_runs(unit)
        own = program.get(frame["run"][0])
        if own is not None:
            sizes[own] = max(sizes.get(own, 0), frame.height)
    return sizes


def most_runs(plan: Plan) -> int:
    """How many runs there are if nothing is decided before the most seeds."""
    assert plan.until_decided is not None
    first = plans.first_runs(plan)
    compared = sum(run.limit is not None or run.place is not None for run in first)
    more = plan.until_decided.most_of(len(plan.seeds)) / len(plan.seeds) - 1
    return len(first) + round(compared * more)


def rounds_words(plan: Plan) -> str:
    """How often rules are looked at, and how many runs that makes at most."""
    assert plan.until_decided is not None
    looks = plan.until_decided.looks(len(plan.seeds))
    at = _shortened(looks)
    return f"until decided: rules compared after {at} seeds; {most_runs(plan)} runs at most"


def _shortened(looks: Sequence[int]) -> str:
    """Numbers of seeds, of many the first and the last."""
    if len(looks) <= MOST_NAMED:
        return ", ".join(map(str, looks))
    first = ", ".join(map(str, looks[: MOST_NAMED - 2]))
    return f"{first} … {looks[-1]}"


def say_most(worker: Worker, plan: Plan) -> None:
    """How long it takes at most, once it is known how long the first group does."""
    assert plan.until_decided is not None
    study = worker.study
    words = rounds_words(plan)
    measured = [pace.member_epoch > 0 for pace in worker.paces.values()]
    begun = any(study.progress(unit) for unit in study.units())
    if not begun and measured and all(measured):
        first = estimate.left(study, worker.paces)
        rounds = len(plan.until_decided.looks(len(plan.seeds)))
        training = (first.seconds - first.compiling) * most_runs(plan) / study.runs.height
        seconds = training + first.compiling * rounds
        words += f", about {duration(seconds)} here with one process"
    worker.listener.say(words)
