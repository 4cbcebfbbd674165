"""How the runs of a plan are packed into units: populations that are trained as one program."""

import itertools
import math
from collections.abc import Callable, Sequence

from saddle.learners import LearnerSettings
from saddle.study.names import task_names, variant_name
from saddle.study.plan import Plan, Run, first_runs

Capacity = Callable[[str, LearnerSettings], int]
"""How many runs of a learner on a task fit into a unit."""


def units(plan: Plan, capacity: Capacity) -> dict[str, list[Run]]:
    """Units by name: the plan's runs, but those of added seeds."""
    return pack(plan, first_runs(plan), capacity)


def pack(plan: Plan, planned: Sequence[Run], capacity: Capacity) -> dict[str, list[Run]]:
    """Units by name: runs of one program (a task and a learner), as many as there is room for.

    Runs that wait for lambda*, or for their limit, have units of their own, so that nothing else
    waits with them.
    """
    packed: dict[str, list[Run]] = {}
    called = task_names(plan.tasks)
    for task, learner, waits in itertools.product(plan.tasks, plan.learners, (False, True)):
        alike = [
            run
            for run in planned
            if run.task == task and run.learner == learner and (run.star is not None) == waits
        ]
        if not alike:
            continue
        count = math.ceil(len(alike) / max(1, capacity(task, learner)))
        parts = [called[task], variant_name(learner, plan.learner) or learner.algorithm]
        if waits:
            parts.append("star")
        for i in range(count):
            share = alike[i * len(alike) // count : (i + 1) * len(alike) // count]
            packed["-".join([*parts, f"{i:02d}"])] = share
    return packed
