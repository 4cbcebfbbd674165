"""Names of runs and units: task, algorithm, multiplier, seed, and what sets settings apart."""

import dataclasses
import itertools
import re
from collections.abc import Container

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


def run_name(
    task: str, learner: LearnerSettings, base: LearnerSettings, label: str, seed: int
) -> str:
    """Task, algorithm, multiplier, seed, and what sets the learner apart from the study's own."""
    return cell_name(task, learner, base, f"{label}-s{seed}")


def cell_name(task: str, learner: LearnerSettings, base: LearnerSettings, label: str) -> str:
    """The same of all seeds."""
    name = f"{short(task)}-{learner.algorithm}-{label}"
    settings = _differing(learner, base)
    return f"{name}-{settings}" if settings else name


def variant_name(learner: LearnerSettings, base: LearnerSettings) -> str:
    """What sets a learner apart from the study's own, as part of a file's name; empty for that
    itself.
    """
    if learner == base:
        return ""
    settings = _differing(learner, base)
    return "-".join(part for part in (learner.algorithm, settings) if part)


def free_name(name: str, taken: Container[str]) -> str:
    """The name, or the first of NAME-2, NAME-3 ... that is not taken."""
    free = name
    for number in itertools.count(2):
        if free not in taken:
            break
        free = f"{name}-{number}"
    return free


def _differing(learner: LearnerSettings, base: LearnerSettings) -> str:
    words = [f"{name}_{setting(value)}" for name, value in differences(learner, base).items()]
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
