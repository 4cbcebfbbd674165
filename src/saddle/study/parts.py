"""What a plan would run, task by task, and how long that takes on this machine."""

from dataclasses import dataclass

from saddle.learners import LearnerSettings
from saddle.study import estimate
from saddle.study.packing import units
from saddle.study.plan import Plan, Run
from saddle.study.prepare import capacity_here, check_tasks, member_bytes
from saddle.study.program import POPULATION


@dataclass(frozen=True)
class TaskPart:
    """A plan's runs on one task."""

    task: str
    stages: dict[str, int]
    """Runs by stage."""
    runs: int
    units: int
    epochs: int
    """Of each run of the study's own learner."""
    env_steps: int
    """Of all runs."""
    memory: int
    """Bytes that the largest unit takes, roughly; of an accelerator, where there is one."""
    seconds: float | None
    """Estimated on this machine, compilation included; None without calibration."""


def parts(plan: Plan, calibrate: bool, program: str = POPULATION) -> list[TaskPart]:
    """The plan task by task. Calibration times the parts of each task's epoch, after compiling
    them.
    """
    check_tasks(plan)
    found = []
    packed = units(plan, lambda task, learner: capacity_here(plan, task, learner))
    for task in plan.tasks:
        own = [some for some in packed.values() if some[0].task == task]
        runs = [run for some in own for run in some]
        stages = {stage.name: 0 for stage in plan.stages}
        for run in runs:
            stages[run.stage] += 1
        part = TaskPart(
            task=task,
            stages=stages,
            runs=len(runs),
            units=len(own),
            epochs=plan.epochs_of(plan.learner),
            env_steps=sum(
                plan.epochs_of(run.learner) * run.learner.steps_per_epoch for run in runs
            ),
            memory=_memory(own),
            seconds=_seconds(plan, own, program) if calibrate else None,
        )
        found.append(part)
    return found


def _memory(units: list[list[Run]]) -> int:
    """What the largest of these units of one task takes."""
    largest: dict[LearnerSettings, int] = {}
    for unit in units:
        learner = unit[0].learner
        largest[learner] = max(largest.get(learner, 0), len(unit))
    task = units[0][0].task
    return max(members * member_bytes(task, learner) for learner, members in largest.items())


def _seconds(plan: Plan, units: list[list[Run]], program: str) -> float:
    """How long these units of one task take here: each learner is timed with its largest one."""
    seconds = 0.0
    for learner in plan.learners:
        own = [len(unit) for unit in units if unit[0].learner == learner]
        if own:
            pace = estimate.of_task(units[0][0].task, learner, max(own), program, plan.steps)
            seconds += sum(pace.seconds(members, plan.epochs_of(learner)) for members in own)
    return seconds
