"""The option --learner:NAME: it chooses the learner, whose settings are then the options
--learner.SETTING of the verbs that train.
"""

import itertools
from collections.abc import Sequence

from saddle.learners import LearnerSettings, learner_class


def split_learner(argv: Sequence[str]) -> tuple[type[LearnerSettings] | None, list[str]]:
    """The learner that a command line names, None if it names none, and its other words."""
    named: list[str] = []
    others: list[str] = []
    for word in argv:
        if word.startswith("--learner:"):
            named.append(word)
        else:
            others.append(word)
    if not named:
        return None, others
    name = named[-1].partition(":")[2]
    return learner_class(name), others


def for_this_machine(
    learner: type[LearnerSettings] | None, words: Sequence[str]
) -> LearnerSettings:
    """The settings that `saddle frontier` begins with: of the learner that was named, or else of
    the one that --method takes.
    """
    from saddle.study.frontier import machine_learner, sized_for_here

    if learner is not None:
        return sized_for_here(learner)
    sweep = "--method=sweep" in words or ("--method", "sweep") in itertools.pairwise(words)
    return machine_learner("sweep" if sweep else "dial")
