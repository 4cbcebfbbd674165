"""What a study says before it begins: how long it will take here."""

from typing import TYPE_CHECKING

from saddle.study import dependent, estimate, pace
from saddle.study.local import Worker
from saddle.study.pace import Pace
from saddle.study.plan import Plan
from saddle.study.program import POPULATION
from saddle.study.status import counts, duration
from saddle.study.unit_rows import Kind, make_program
from saddle.study.unit_rows import kind as kind_of
from saddle.study.whole_episodes import episode_notes
from saddle.words import counted

if TYPE_CHECKING:
    from saddle.study.stop import Stopper

# Seconds that a time limit must leave, or none of them goes into measuring
LEAST_TO_MEASURE = 120.0


def say_how_long(worker: Worker, plan: Plan, stop: "Stopper", program: str = POPULATION) -> None:
    """Tell the worker's listener how long the rest of its study takes here, and the worker what to
    expect.

    The first task is measured, unless the store knows, or all is over in a moment, or time is too
    short for it; tasks that nobody knows are taken to be like the first.
    """
    study = worker.study
    members = estimate.largest_units(study)
    if not members or stop.before(0):
        return
    for note in episode_notes(plan):
        worker.listener.say(note)
    runs = counts(study)["left"]
    paces = estimate.from_store(study)
    unknown = [kind for kind in members if kind not in paces or not paces[kind].member_epoch]
    if unknown:
        if program == POPULATION:
            worker.paces = dict.fromkeys(unknown, estimate.UNMEASURED)
        if estimate.is_small(plan, runs):
            worker.listener.say(
                f"{counted(runs, 'run')}: about a minute at most here, much of it compiling"
            )
            return
        if stop.left is not None and stop.left < LEAST_TO_MEASURE:
            return
        worker.listener.say(f"{plan.name}: measuring how long this takes here")
        measured = _measure(worker, unknown[0], members[unknown[0]], program, plan.steps)
        paces |= dict.fromkeys(unknown, measured)
    found = estimate.left(study, paces)
    worker.paces = paces
    alike = f", as if all were like {unknown[0].task}" if len(unknown) > 1 else ""
    worker.listener.say(
        f"{counted(runs, 'run')} of {plan.steps:,} env steps in "
        f"{counted(len(study.units()), 'unit')}: about "
        f"{duration(found.seconds)} here with one process{alike}, {duration(found.compiling)} of "
        f"it compiling. "
        "Ctrl-C stops cleanly, --limit-time 9m does so by itself, --resume goes on."
    )


def _measure(worker: Worker, kind: Kind, members: int, program: str, steps: int) -> Pace:
    """The pace of such units, whose runs have so many env steps. Where a unit is timed whole, the
    worker keeps its program, which is compiled then.
    """
    if estimate.in_parts(program):
        return estimate.of_kind(kind, members, program, steps)
    for unit in worker.study.units():
        frame = worker.study.unit_runs(unit)
        if kind_of(frame) == kind and not dependent.waits(frame):
            worker.programs[unit] = make_program(frame, worker.make)
            return pace.of_program(worker.programs[unit], frame.height)
    return estimate.of_kind(kind, members, program, steps)
