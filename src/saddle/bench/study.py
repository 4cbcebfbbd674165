"""Training speed with everything on: a real study's store, claims, metrics and checkpoints around
the learner.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from saddle import tasks
from saddle.bench.learner import flop, median_seconds
from saddle.bench.population import device
from saddle.config import Member
from saddle.errors import SaddleError
from saddle.learners import LearnerSettings
from saddle.machine import cores_to_use
from saddle.study import plan as plans
from saddle.study import presets
from saddle.study.listener import Messages
from saddle.study.local import Worker
from saddle.study.names import short
from saddle.study.plan import Plan, Stage, spaced
from saddle.study.prepare import check_members, prepare
from saddle.study.program import PopulationProgram
from saddle.study.stop import Stopper
from saddle.study.store import Study

OnMessage = Callable[[str], None]

ROLLOUTS = 2  # timed alone, after one that compiles


@dataclass(frozen=True)
class Result:
    """One task in one precision. Shares are of the time from the end of the first epoch to the end
    of the last.
    """

    task: str
    engine: str  # 'jax' for tasks that have no choice
    layout: str
    device: str
    cores: int
    members: int
    precision: str
    algorithm: str
    epochs: int  # timed
    steps_per_second: float  # env steps of all members
    first_epoch_s: float  # with compilation
    epoch_s: float  # median
    rollout_s: float  # median, timed alone
    rollout_share: float
    update_share: float
    waiting_share: float  # between epochs: metrics, the copy for the checkpoint, claims
    update_flops: float  # per second, of the update's matrix products, counted
    finish_s: float  # after the last epoch: last save, one policy per run; once in a study's unit


class Span(NamedTuple):
    """When an epoch was carried out, in seconds of `time.perf_counter`."""

    began: float
    ended: float


class Watched(PopulationProgram):
    """The study's program, and when each of its epochs began and ended."""

    def __init__(
        self, task: str, learner: LearnerSettings, members: tuple[Member, ...], steps: int
    ) -> None:
        super().__init__(task, learner, members, steps)
        self.times: list[Span] = []
        self.last: Any = None  # state after the newest epoch

    def epoch(self, state: Any) -> tuple[Any, dict[str, np.ndarray]]:
        """One epoch of all members, timed."""
        self.last = None
        began = time.perf_counter()
        self.last, metrics = super().epoch(state)
        self.times.append(Span(began, time.perf_counter()))
        return self.last, metrics


def measure_in(
    out: Path | None,
    name: str,
    members: int,
    epochs: int,
    learner: LearnerSettings,
    on_message: OnMessage,
) -> Result:
    """Run a small study in a folder of its own below `out`, or in a temporary one. on_message is
    told what its worker says.
    """
    if out is not None:
        folder = out / f"{short(name)}-{learner.precision}"
        return measure(name, members, epochs, learner, folder, on_message)
    with tempfile.TemporaryDirectory() as folder:
        return measure(name, members, epochs, learner, Path(folder) / "study", on_message)


def measure(
    name: str,
    members: int,
    epochs: int,
    learner: LearnerSettings,
    folder: Path,
    on_message: OnMessage,
) -> Result:
    """Run a small study in `folder`: one epoch that compiles, then `epochs` that count."""
    learner = _laid_out(name, learner)
    check_members(name, learner, members)
    plan = _plan(name, members, epochs, learner)
    program, finish_s = _carried_out(plan, folder, on_message)
    first, *counted = program.times
    seconds = [epoch.ended - epoch.began for epoch in counted]
    elapsed = counted[-1].ended - first.ended
    population = program.population
    rollout = population.compiled_rollout()
    rollout_s = median_seconds(rollout, program.last, ROLLOUTS)
    collecting = epochs * rollout_s
    learning = sum(seconds) - collecting
    work = epochs * members * flop(population)
    return Result(
        task=name,
        engine=getattr(tasks.make(name), "engine", "jax"),
        layout=learner.layout,
        device=device(),
        cores=cores_to_use(),
        members=members,
        precision=learner.precision,
        algorithm=learner.algorithm,
        epochs=epochs,
        steps_per_second=epochs * members * learner.steps_per_epoch / elapsed,
        first_epoch_s=first.ended - first.began,
        epoch_s=statistics.median(seconds),
        rollout_s=rollout_s,
        rollout_share=collecting / elapsed,
        update_share=learning / elapsed,
        waiting_share=1 - sum(seconds) / elapsed,
        update_flops=work / learning,
        finish_s=finish_s,
    )


def gpu_hours(results: Sequence[Result]) -> dict[str, float]:
    """Hours of the preset 'paper' at these rates, by precision; only where all its tasks were
    measured.
    """
    steps = study_steps()
    rates_of: dict[str, dict[str, float]] = {}
    for result in results:
        rates_of.setdefault(result.precision, {})[result.task] = result.steps_per_second
    hours = {}
    for precision, rates in rates_of.items():
        if set(steps) <= set(rates):
            hours[precision] = sum(count / rates[task] for task, count in steps.items()) / 3600
    return hours


def study_steps() -> dict[str, int]:
    """Env steps of the preset 'paper' by task."""
    plan = presets.load("paper")
    planned = [run.task for run in plans.runs(plan)]
    return {task: planned.count(task) * plan.steps for task in plan.tasks}


def _laid_out(name: str, learner: LearnerSettings) -> LearnerSettings:
    """In the layout that suits the task: one on MJX takes the wide one, whose batches of worlds
    fill an accelerator.
    """
    return learner.in_layout(getattr(tasks.make(name), "layout", learner.layout))


def _plan(name: str, members: int, epochs: int, learner: LearnerSettings) -> Plan:
    """One unit of runs that differ in lambda, saved as often as a study is by default: once in ten
    epochs.
    """
    lambdas = spaced(0.1, 10.0, members) if members > 1 else (1.0,)
    stages = (Stage("sweep", lambdas=lambdas),)
    steps = (epochs + 1) * learner.steps_per_epoch
    return Plan("bench", (name,), stages, seeds=(0,), steps=steps, learner=learner, members=members)


def _carried_out(plan: Plan, folder: Path, on_message: OnMessage) -> tuple[Watched, float]:
    """The program after its last epoch, and the seconds that the study took to end from there."""
    made: list[Watched] = []

    def make(
        task: str, learner: LearnerSettings, members: tuple[Member, ...], steps: int
    ) -> Watched:
        program = Watched(task, learner, members, steps)
        made.append(program)
        return program

    study = prepare(plan, folder, resume=False)
    notes = Messages()
    Worker(study, make, plan.chunk, notes, Stopper()).work()
    _check(study)
    for text in notes.said:
        on_message(text)
    program = made[0]
    return program, time.perf_counter() - program.times[-1].ended


def _check(study: Study) -> None:
    """A unit that broke has no speed."""
    errors = [study.progress(unit).get("error") for unit in study.units()]
    broken = [error for error in errors if error]
    if broken:
        hint = "; use fewer --members" if "RESOURCE_EXHAUSTED" in broken[0] else ""
        raise SaddleError(f"the bench's study failed: {broken[0]}{hint}")
