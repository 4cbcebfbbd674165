"""What an agent does at several settings of its dial: an episode of each, drawn for the page.

Pictures are made where policies are trained and their task is loaded, and kept in the study, so
that its page needs no task.
"""

from typing import Any

import jax
import numpy as np

from saddle import policies, tasks
from saddle.policies import DialPolicy
from saddle.study import episodes
from saddle.study.store import Study

SETTINGS = 9


def draw_episodes(study: Study) -> None:
    """Draw an episode of the first policy with a dial at nine settings, all in the same world,
    where the task can be seen from above.
    """
    for run, name in study.runs.filter(status="done").sort("run").select("run", "task").iter_rows():
        task = tasks.make(name)
        if not hasattr(task, "top_view") or not study.policy_folder(run).is_dir():
            continue
        policy = policies.network(study.policy_folder(run))
        if isinstance(policy, DialPolicy):
            episodes.keep(study, run, *_drawn(run, task, policy))
            return


def _drawn(run: str, task: Any, policy: DialPolicy) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Lambda, return and cost of an episode at each setting, and its picture."""
    from saddle.draw import small
    from saddle.draw.record import states
    from saddle.draw.scene import Episode

    played = []
    facts = []
    for lam in map(float, np.geomspace(policy.dial.low, policy.dial.high, SETTINGS)):
        act = policies.by_mode(policy.at(lam))
        way = states(task, act, jax.random.key(0), task.spec.episode_length)
        episode = Episode(task, run, 0, way)
        played.append(episode)
        earned, paid = float(episode.rewards.sum()), float(episode.costs.sum())
        facts.append({"lambda": lam, "return": earned, "cost": paid})
    widest = max((episode.view for episode in played), key=lambda view: view[2])
    return facts, [small.png(episode, widest) for episode in played]
