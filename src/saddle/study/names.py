"""Names of runs and units: task, algorithm, multiplier, seed, and what sets settings apart."""

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

from saddle import references
from saddle.learners import LearnerSettings
from saddle.learners.settings import differences
from saddle.multipliers import Rule, lambda_name
from saddle.words import setting


def short(task: str) -> str:
    """The task's name in run and unit names, safe as a file's name: without family prefix and
    version, or a reference with a short sum of its options.
    """
    if references.is_reference(task):
        return references.run_name(task.removeprefix("gym:"))
    return references.run_name(re.sub(r"^Safety|-v\d+$", "", task))


def task_names(tasks: Sequence[str]) -> dict[str, str]:
    """What each task is called in run and unit names: `short`, or longer where that would be two
    tasks' name, as of two versions of a task.
    """
    names = {task: short(task) for task in tasks}
    for longer in (references.run_name, _with_sum):
        taken = Counter(names.values())
        names = {task: longer(task) if taken[name] > 1 else name for task, name in names.items()}
    return names


def _with_sum(task: str) -> str:
    return f"{references.run_name(task)}_{references.sum_of(task)}"


def run_name(
    task: str, learner: LearnerSettings, base: LearnerSettings, label: str, seed: int
) -> str:
    """Task as `task_names` calls it, algorithm, multiplier, seed, and what sets the learner apart
    from the study's own.
    """
    return cell_name(task, learner, base, f"{label}-s{seed}")


def cell_name(task: str, learner: LearnerSettings, base: LearnerSettings, label: str) -> str:
    """The same of all seeds."""
    name = f"{task}-{learner.algorithm}-{label}"
    settings = settings_name(differences(learner, base))
    return f"{name}-{settings}" if settings else name


def variant_name(learner: LearnerSettings, base: LearnerSettings) -> str:
    """What sets a learner apart from the study's own, as part of a file's name; empty for that
    itself.
    """
    if learner == base:
        return ""
    settings = settings_name(differences(learner, base))
    return "-".join(part for part in (learner.algorithm, settings) if part)


def free_name(name: str, taken: Container[str]) -> str:
    """The name, or the first of NAME-2, NAME-3 ... that is not taken."""
    free = name
    for number in itertools.count(2):
        if free not in taken:
            break
        free = f"{name}-{number}"
    return free


def settings_name(settings: Mapping[str, Any]) -> str:
    """Settings of a learner as part of a file's name."""
    words = [f"{name}_{setting(value)}" for name, value in settings.items()]
    return "-".join(re.sub(r"[^\w.+-]+", "_", word) for word in words)


def rule_differences(rule: Rule) -> str:
    """The rule's settings that are not its defaults, as part of a name."""
    fields = [
        (f.name, getattr(rule, f.name))
        for f in dataclasses.fields(rule)
        if getattr(rule, f.name) != f.default
    ]
    words = []
    for name, value in fields:
        if isinstance(value, str):
            words.append(f"-{value}")
        elif isinstance(value, tuple):
            words.append(f"-{name}{lambda_name(value)}")
        else:
            words.append(f"-{name}{value:g}")
    return "".join(words)
