"""Training speed with everything on: a real study's store, claims, metrics and checkpoints around
the learner.
"""

import dataclasses
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from saddle import tasks
from saddle.bench.learner import flop, median_seconds
from saddle.config import Member
from saddle.console import console
from saddle.errors import SaddleError
from saddle.learners import LearnerSettings, Precision, learner_to_dict
from saddle.study import plan as plans
from saddle.study import presets
from saddle.study.local import Worker
from saddle.study.plan import Plan, Stage, spaced
from saddle.study.prepare import check_members, prepare
from saddle.study.program import PopulationProgram
from saddle.study.stop import Stopper
from saddle.study.store import Study
from saddle.study.unit import Messages
from saddle.tables import Column, print_table
from saddle.words import counted

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


class Watched(PopulationProgram):
    """The study's program, and when each of its epochs began and ended."""

    def __init__(
        self, task: str, learner: LearnerSettings, members: tuple[Member, ...], steps: int
    ) -> None:
        super().__init__(task, learner, members, steps)
        self.times: list[tuple[float, float]] = []  # s
        self.last: Any = None  # state after the newest epoch

    def epoch(self, state: Any) -> tuple[Any, dict[str, np.ndarray]]:
        """One epoch of all members, timed."""
        self.last = None
        began = time.perf_counter()
        self.last, metrics = super().epoch(state)
        self.times.append((began, time.perf_counter()))
        return self.last, metrics


def run(
    names: Sequence[str],
    members: int,
    epochs: int,
    precisions: Sequence[Precision],
    learner: LearnerSettings,
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """Measure each task in each precision, and print each result as soon as there is one. No tasks
    means all.

    As JSON the whole comes at the end; each result is then also a line on stderr, so that none is
    lost to a time limit.
    """
    if members < 1 or epochs < 1 or not precisions:
        raise SaddleError(
            "--members and --epochs must be at least 1, and --precision must name at least one"
        )
    chosen = tuple(names) or tasks.names()
    for name in chosen:
        tasks.make(name)
    results = []
    for name in chosen:
        for precision in dict.fromkeys(precisions):
            result = _in_store(
                name, members, epochs, dataclasses.replace(learner, precision=precision), out
            )
            results.append(result)
            _say(result, as_json, first=len(results) == 1)
    hours = gpu_hours(results)
    if as_json:
        found = [dataclasses.asdict(result) for result in results]
        print(
            json.dumps(
                {"learner": learner_to_dict(learner), "results": found, "study_hours": hours},
                indent=2,
            )
        )
    else:
        for precision, value in hours.items():
            steps = sum(_study_steps().values())
            print(
                f"the whole published study, {steps:.3g} env steps, in {precision}: {value:.1f} "
                f"hours"
            )


def measure(name: str, members: int, epochs: int, learner: LearnerSettings, folder: Path) -> Result:
    """Run a small study in `folder`: one epoch that compiles, then `epochs` that count."""
    learner = _laid_out(name, learner)
    check_members(name, learner, members)
    plan = _plan(name, members, epochs, learner)
    program, finish_s = _carried_out(plan, folder)
    seconds = [end - began for began, end in program.times[1:]]
    elapsed = program.times[-1][1] - program.times[0][1]
    population = program.population
    rollout_s = median_seconds(population.compile(population.rollout), program.last, ROLLOUTS)
    learning = sum(seconds) - epochs * rollout_s
    work = epochs * members * flop(population)
    device = jax.devices()[0]
    return Result(
        task=name,
        engine=getattr(tasks.make(name), "engine", "jax"),
        layout=learner.layout,
        device=f"{device.platform} {device.device_kind}",
        cores=os.cpu_count() or 1,
        members=members,
        precision=learner.precision,
        algorithm=learner.algorithm,
        epochs=epochs,
        steps_per_second=epochs * members * learner.steps_per_epoch / elapsed,
        first_epoch_s=program.times[0][1] - program.times[0][0],
        epoch_s=statistics.median(seconds),
        rollout_s=rollout_s,
        rollout_share=epochs * rollout_s / elapsed,
        update_share=learning / elapsed,
        waiting_share=1 - sum(seconds) / elapsed,
        update_flops=work / learning,
        finish_s=finish_s,
    )


def gpu_hours(results: Sequence[Result]) -> dict[str, float]:
    """Hours of the preset 'paper' at these rates, by precision; only where all its tasks were
    measured.
    """
    steps, hours = _study_steps(), {}
    for precision in dict.fromkeys(result.precision for result in results):
        rates = {
            result.task: result.steps_per_second
            for result in results
            if result.precision == precision
        }
        if set(steps) <= set(rates):
            hours[precision] = sum(count / rates[task] for task, count in steps.items()) / 3600
    return hours


def _study_steps() -> dict[str, int]:
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
    stages, steps = (Stage("sweep", lambdas=lambdas),), (epochs + 1) * learner.steps_per_epoch
    return Plan("bench", (name,), stages, seeds=(0,), steps=steps, learner=learner, members=members)


def _carried_out(plan: Plan, folder: Path) -> tuple[Watched, float]:
    """The program after its last epoch, and the seconds that the study took to end from there."""
    made: list[Watched] = []

    def make(
        task: str, learner: LearnerSettings, members: tuple[Member, ...], steps: int
    ) -> Watched:
        made.append(Watched(task, learner, members, steps))
        return made[0]

    study, notes = prepare(plan, folder, resume=False), Messages()
    Worker(study, make, plan.chunk, notes, Stopper()).work()
    _check(study, notes)
    return made[0], time.perf_counter() - made[0].times[-1][1]


def _check(study: Study, notes: Messages) -> None:
    """A unit that broke has no speed."""
    broken = [
        progress["error"]
        for unit in study.units()
        if (progress := study.progress(unit)).get("error")
    ]
    if broken:
        hint = "; use fewer --members" if "RESOURCE_EXHAUSTED" in broken[0] else ""
        raise SaddleError(f"the bench's study failed: {broken[0]}{hint}")
    if notes.said:
        print("\n".join(notes.said), file=sys.stderr)


def _in_store(
    name: str, members: int, epochs: int, learner: LearnerSettings, out: Path | None
) -> Result:
    if out is not None:
        return measure(
            name, members, epochs, learner, out / f"{plans.short(name)}-{learner.precision}"
        )
    with tempfile.TemporaryDirectory() as folder:
        return measure(name, members, epochs, learner, Path(folder) / "study")


def _say(result: Result, as_json: bool, first: bool) -> None:
    """One line of JSON on stderr, or of the table on stdout; its heading before the first."""
    if as_json:
        print(json.dumps(dataclasses.asdict(result)), file=sys.stderr, flush=True)
        return
    if first:
        runs, cores = counted(result.members, "run"), counted(result.cores, "core")
        print(f"{runs} of {result.algorithm}, {result.device}, {cores}")
    titles = ("env steps/s", "epoch s", "rollout", "update", "waiting", "TFLOP/s", "compile s")
    columns = [Column("task", identifies=True, least=28), Column("precision", identifies=True)]
    columns += [Column(title, right=True, least=11) for title in titles]
    shares = (result.rollout_share, result.update_share, result.waiting_share)
    cells = [
        result.task,
        result.precision,
        f"{result.steps_per_second:,.0f}",
        f"{result.epoch_s:.2f}",
    ]
    cells += [
        *(f"{share:.1%}" for share in shares),
        f"{result.update_flops / 1e12:.3g}",
        f"{result.first_epoch_s:.1f}",
    ]
    print_table(console(), columns, [cells], heading=first)
