"""From a plan to a study's directory: new, or the one that is there already."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from saddle import tasks
from saddle.config import USUAL_LIMIT, Member
from saddle.errors import RESUMED, SaddleError
from saddle.float32 import in_float32
from saddle.learners import LearnerSettings, learner_to_dict
from saddle.machine import check_device
from saddle.multipliers import Fixed, rule_to_dict
from saddle.study import plan as plans
from saddle.study import room
from saddle.study.columns import lambda_columns, runs_frame
from saddle.study.packing import units
from saddle.study.params import LIMIT_PLACE, upgraded_plan
from saddle.study.plan import MOST_MEMBERS, Plan, Run
from saddle.study.plan_dict import HOW_IT_RUNS, to_dict
from saddle.study.sequential import UntilDecided
from saddle.study.store import MANIFEST, Study
from saddle.study.sweep import check_sweep, facts_of_sweep, sweep_of
from saddle.study.toml import plan_from
from saddle.study.writer import Taken, check_writable, create, hardware, manifest, write_runs

# Of memory that a unit may take; the rest is for the compiler's temporaries and the machine
SHARE_OF_MEMORY = 0.5

Capacities = dict[tuple[str, LearnerSettings], int]
"""Members that a unit may have, by task and learner."""

Survey = Callable[[Plan], tuple[Capacities, dict[str, Any]]]


def survey_here(plan: Plan) -> tuple[Capacities, dict[str, Any]]:
    """Members that a unit may have on this machine, and its hardware."""
    capacities: Capacities = {}
    for task, learner in itertools.product(plan.tasks, plan.learners):
        capacities[task, learner] = capacity_here(plan, task, learner)
    return capacities, hardware()


def prepare(
    plan: Plan, out: Path, resume: bool, sweep: Path | None = None, survey: Survey = survey_here
) -> Study:
    """The study's directory, made with all runs planned, or found with the same plan in it."""
    if (out / MANIFEST).exists():
        return _existing(plan, out, resume, sweep)
    check_tasks(plan)
    check_sweep(plan, sweep)
    check_writable(out)
    capacity, machine = survey(plan)
    packed = units(plan, lambda task, learner: capacity[task, learner])

    def fill(folder: Path) -> None:
        for unit, some in packed.items():
            write_runs(folder, unit, runs_frame([row_of(plan, unit, run) for run in some]))

    facts = manifest(plan.name, plan.learner.precision, to_dict(plan), machine)
    facts |= facts_of_sweep(sweep)
    try:
        create(out, facts, fill)
    except Taken:
        return _existing(plan, out, resume, sweep)
    return Study(out)


def _existing(plan: Plan, out: Path, resume: bool, sweep: Path | None) -> Study:
    study = Study(out)
    _same_plan(plan, study)
    if not resume:
        raise SaddleError(f"{out} holds this study already; add {RESUMED}, to go on with it")
    check_sweep(plan, sweep_of(study, sweep))
    for remedy in study.lost_units():
        raise SaddleError(remedy)
    check_writable(out)
    return study


def row_of(plan: Plan, unit: str, run: Run) -> dict[str, Any]:
    """A run's row before it began."""
    count = constraints(run.task)
    limits = run.limit or (USUAL_LIMIT,) * count
    params = {
        "rule": rule_to_dict(run.rule) if run.rule else None,
        "limits": list(limits),
        "learner": learner_to_dict(run.learner),
        **({"star": run.star, "star_method": run.star_method} if run.star else {}),
        **({LIMIT_PLACE: list(run.place)} if run.place else {}),
    }
    if count > 1:
        params["constraints"] = list(constraint_names(run.task))
    return {
        "run": run.name,
        "unit": unit,
        "stage": run.stage,
        "task": run.task,
        "algorithm": run.learner.algorithm,
        "rule": run.rule.name if run.rule else Fixed.name,
        **lambda_columns(run.rule, count),
        "seed": run.seed,
        "steps": plan.steps,
        "params": json.dumps(params),
        "status": "planned",
        **{f"limit_{i}" if i else "limit": limit for i, limit in enumerate(run.limit or ())},
    }


def check_tasks(plan: Plan) -> None:
    """Every task exists and has as many constraints as its limits and lambdas have numbers."""
    for task in plan.tasks:
        constraints(task)
    for run in plans.runs(plan):
        if run.rule is not None:
            run.rule.check_constraints(run.task, constraint_names(run.task))
        if run.place is not None and constraints(run.task) > 1:
            raise SaddleError(
                f"{run.task} has {constraints(run.task)} constraints, but stage {run.stage!r} "
                f"takes limits from a frontier of one; give it limits"
            )
        if run.limit is not None and len(run.limit) != constraints(run.task):
            raise SaddleError(
                f"{run.task} has {constraints(run.task)} constraint(s), but stage {run.stage!r} "
                f"gives "
                f"{len(run.limit)} limit(s); give one per constraint"
            )


def constraints(task: str) -> int:
    """How many constraints a task has."""
    return len(constraint_names(task))


def constraint_names(task: str) -> tuple[str, ...]:
    """What a task's constraints are called. A task that did not come with Saddle is made for
    that.
    """
    return tasks.spec_of(task).constraints


def capacity_here(plan: Plan, task: str, learner: LearnerSettings) -> int:
    """Members of a unit that this machine's memory, or its accelerator's, has room for, or that the
    plan asks for.

    What the plan asks for may take all memory; more than that is an error, and so is a member that
    does not fit.
    """
    asked = min(plan.members or MOST_MEMBERS, _runs_of(plan, task))
    if plan.members is not None and room.surely(learner, asked):
        return plan.members  # without loading JAX
    if plan.members is not None:
        check_members(task, learner, asked)
        return plan.members
    return max(1, min(MOST_MEMBERS, int(SHARE_OF_MEMORY * members_that_fit(task, learner))))


def check_members(task: str, learner: LearnerSettings, members: int) -> None:
    """So many members of a population fit into memory."""
    most = members_that_fit(task, learner)
    if members > most:
        raise SaddleError(
            f"{members} members of {task} do not fit into memory; ask for at most {most}"
        )


def members_that_fit(task: str, learner: LearnerSettings) -> int:
    """How many members all memory has room for: 1 at least, or it is an error."""
    each = member_bytes(task, learner)
    there = memory()
    if each > there:
        spec = tasks.spec_of(task)
        dims = (spec.obs_dim, spec.action_dim, len(spec.constraints))
        raise SaddleError(
            f"a run of {task} takes about {room.gigabytes(each)}, and there are "
            f"{room.gigabytes(there)}; {learner.room_advice(there, *dims)}"
        )
    return there // each


@in_float32
def member_bytes(task: str, learner: LearnerSettings) -> int:
    """Memory that one more member of a population takes, roughly."""
    from saddle.population import Population

    check_device()
    limits = (USUAL_LIMIT,) * constraints(task)
    alone = Member(0, learner.usual_rule(), limits)
    return Population(task, learner, [alone], learner.steps_per_epoch).member_bytes


def _runs_of(plan: Plan, task: str) -> int:
    return len(plan.seeds) * sum(stage.runs_of_a_seed(task) for stage in plan.stages)


def memory() -> int:
    """Bytes of the first device: an accelerator's own memory, or what the machine has free."""
    import jax

    device = jax.devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"])
    return room.free()


def plan_of(study: Study) -> Plan:
    """The plan that the study was made from."""
    fields = upgraded_plan(study.manifest.get("plan", {}))
    if "stages" not in fields:
        raise SaddleError(f"{study.path} was imported or merged: it has no plan to run")
    return plan_from(fields, f"the plan in {study.path / MANIFEST}")


def _same_plan(plan: Plan, study: Study) -> None:
    wanted = to_dict(plan)
    there = to_dict(plan_of(study))
    for key in wanted | there:
        if wanted.get(key) != there.get(key) and key not in HOW_IT_RUNS:
            raise SaddleError(
                f"{study.path} holds a study with another plan "
                f"({_difference(key, wanted.get(key), there.get(key))}); choose "
                "another directory, or the plan that began it"
            )


def _difference(key: str, wanted: Any, there: Any) -> str:
    """Of the learner's settings the first that differs, with both values: it may be an option of
    the command.
    """
    if key == "until_decided" and wanted is None:
        return f"it adds seeds until decided; add {UntilDecided(**there).options}"
    if key not in ("learner", "until_decided") or not (wanted and there):
        return f"{key} differs"
    name = next(name for name in wanted if wanted[name] != there.get(name))
    return f"{name} is {there.get(name)} there, {wanted[name]} here"
