"""What an agent does at several settings of its dial: an episode of each, drawn for the page.

Pictures are made where policies are trained and their task is loaded, and kept in the study, so
that its page needs no task.
"""

from typing import Any

import jax

from saddle import policies, tasks
from saddle.policies import DialPolicy
from saddle.study import episodes
from saddle.study.store import Study

SETTINGS = 9


def draw_episodes(study: Study) -> None:
    """Draw an episode of the study's first policy, if that has a dial, at nine settings, all in the
    same world, where the task can be seen from above.
    """
    done = study.runs.filter(status="done").sort("run")
    there = [run for run in done["run"] if study.policy_folder(run).is_dir()]
    if not there:
        return
    policy = policies.network(study.policy_folder(there[0]))
    if not isinstance(policy, DialPolicy):
        return
    task = tasks.make(policy.task)
    if hasattr(task, "top_view"):
        episodes.keep(study, there[0], *_drawn(there[0], task, policy))


def _drawn(run: str, task: Any, policy: DialPolicy) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Lambda, return and cost of an episode at each setting, and its picture."""
    from saddle.draw import small
    from saddle.draw.record import states
    from saddle.draw.scene import Episode

    played = []
    facts = []
    for lam in policy.dial.settings(SETTINGS):
        act = policies.by_mode(policy.at(lam))
        way = states(task, act, jax.random.key(0), task.spec.episode_length)
        episode = Episode(task, run, 0, way)
        played.append(episode)
        earned, paid = float(episode.rewards.sum()), float(episode.costs.sum())
        facts.append({"lambda": lam, "return": earned, "cost": paid})
    widest = max((episode.view for episode in played), key=lambda view: view[2])
    return facts, [small.png(episode, widest) for episode in played]
