"""A study that grows: stages, or groups of seeds, that follow from what earlier runs came to.

The manifest gets the new plan first, then the runs are written unit by unit. A kill in between
leaves a plan with runs that are missing, which are added when the study is opened again. Of several
processes one lets the study grow at a time, and what it goes by it reads when its turn has come.
"""

import contextlib
import dataclasses
import itertools
import time
from collections.abc import Iterator
from typing import Any

from saddle.files import write_json
from saddle.study import claims
from saddle.study.columns import runs_frame
from saddle.study.local import POLL
from saddle.study.names import free_name
from saddle.study.packing import units
from saddle.study.plan import Plan, Run, Stage, first_runs
from saddle.study.plan_dict import to_dict
from saddle.study.prepare import capacity_here, plan_of, row_of
from saddle.study.store import MANIFEST, Study
from saddle.study.writer import write_runs

CLAIM = "rounds"
"""What a process claims that lets a study grow."""

MEMBERS = "members"
"""In the manifest: how many runs a unit of each added stage may have. Free memory, which says so,
may be another when a killed process is resumed.
"""


@contextlib.contextmanager
def growing(study: Study) -> Iterator[Study]:
    """The study, read anew once nobody else lets it grow; nobody else does within the context."""
    claim = claims.take(study.path, CLAIM)
    while claim is None:
        time.sleep(POLL)
        claim = claims.take(study.path, CLAIM)
    with claim:
        yield Study(study.path)


def with_plan(study: Study, plan: Plan, **facts: Any) -> Study:
    """The study with this plan in its manifest, and these facts."""
    write_json(study.path / MANIFEST, {**study.manifest, "plan": to_dict(plan), **facts})
    return Study(study.path)


def add_runs(study: Study, plan: Plan, packed: dict[str, list[Run]], suffix: str) -> None:
    """Those of the packed runs that the study lacks, in units of their own.

    A unit that is there is never written: it may have been trained already.
    """
    there = set(study.runs["run"])
    taken = set(study.units())
    for unit, runs in packed.items():
        missing = [run for run in runs if run.name not in there]
        if missing:
            name = free_name(f"{unit}-{suffix}", taken)
            taken.add(name)
            rows = [row_of(plan, name, run) for run in missing]
            write_runs(study.path, name, runs_frame(rows))


def grow(study: Study, stage: Stage) -> Study:
    """The study with one more stage, whose runs are planned. Called within `growing`."""
    plan = plan_of(study)
    grown = dataclasses.replace(plan, stages=(*plan.stages, stage))
    members = {**study.manifest.get(MEMBERS, {}), stage.name: _members_here(grown)}
    return with_runs(with_plan(study, grown, **{MEMBERS: members}))


def complete(study: Study) -> Study:
    """The study with every run of its plan's stages."""
    if not _lacking(study):
        return study
    with growing(study) as now:
        return with_runs(now)


def with_runs(study: Study) -> Study:
    """The same. Called within `growing`."""
    plan = plan_of(study)
    members = study.manifest.get(MEMBERS, {})
    for stage in _lacking(study):
        alone = dataclasses.replace(plan, stages=(stage,))
        most = members.get(stage.name) or _members_here(plan)
        packed = units(alone, lambda task, learner, most=most: most)
        add_runs(study, plan, packed, stage.name)
    return Study(study.path)


def _lacking(study: Study) -> list[Stage]:
    """Stages of the plan of which runs are missing."""
    plan = plan_of(study)
    there = set(study.runs["run"])
    lacking = {run.stage for run in first_runs(plan) if run.name not in there}
    return [stage for stage in plan.stages if stage.name in lacking]


def _members_here(plan: Plan) -> int:
    """How many runs a unit may have on this machine, of whichever task and learner."""
    pairs = itertools.product(plan.tasks, plan.learners)
    return min(capacity_here(plan, task, learner) for task, learner in pairs)
