"""Whether epochs are long enough for episodes to end in them."""

import itertools

from saddle import tasks
from saddle.study.plan import Plan


def episode_notes(plan: Plan) -> list[str]:
    """A sentence for each task whose episodes may be longer than an epoch, which then sees no end
    of them.
    """
    notes: dict[str, None] = {}
    for task, learner in itertools.product(plan.tasks, plan.learners):
        length = tasks.spec_of(task).episode_length
        steps = learner.steps_per_epoch // learner.worlds_for(length)
        if not learner.goes_on and steps < length:
            notes[
                f"an epoch has {steps} steps of each world, and an episode of {task} up to "
                f"{length}: what does not end in an epoch has no return and no cost; raise "
                f"steps_per_epoch, or take the layout 'wide'"
            ] = None
    return list(notes)
