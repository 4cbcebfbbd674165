"""A study that grows: stages that follow from what earlier ones found.

The manifest gets the new plan first, then the runs are written unit by unit. A kill in between
leaves a plan with runs that are missing, which `complete` adds when the study is opened again.
"""

import dataclasses
from pathlib import Path

from saddle.files import write_json
from saddle.study.columns import runs_frame
from saddle.study.packing import units
from saddle.study.plan import Plan, Run, Stage
from saddle.study.plan_dict import to_dict
from saddle.study.prepare import capacity_here, plan_of, row_of
from saddle.study.store import MANIFEST, Study
from saddle.study.writer import write_runs


def grow(study: Study, stage: Stage) -> Study:
    """The study with one more stage, whose runs are planned. Nobody else may be working on it."""
    plan = plan_of(study)
    grown = dataclasses.replace(plan, stages=(*plan.stages, stage))
    write_json(study.path / MANIFEST, {**study.manifest, "plan": to_dict(grown)})
    return complete(Study(study.path))


def complete(study: Study) -> Study:
    """The study with every run of its plan."""
    plan = plan_of(study)
    there = set(study.runs["run"])
    for stage in plan.stages:
        _add_runs(study.path, plan, stage, there)
    return Study(study.path)


def _add_runs(path: Path, plan: Plan, stage: Stage, there: set[str]) -> None:
    """The stage's runs that are not there yet, in units of their own."""
    alone = dataclasses.replace(plan, stages=(stage,))
    packed = units(alone, lambda task, learner: capacity_here(plan, task, learner))
    for unit, runs in packed.items():
        missing: list[Run] = [run for run in runs if run.name not in there]
        if missing:
            name = f"{unit}-{stage.name}"
            write_runs(path, name, runs_frame([row_of(plan, name, run) for run in missing]))
