"""What an agent does at several multipliers: an episode of each, drawn for the page.

Pictures are made where a task is loaded, and kept in the study, so that its page needs no task.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import polars as pl

from saddle import policies, tasks
from saddle.analysis.constraints import further
from saddle.analysis.settings import name_settings
from saddle.multipliers import Fixed, Lambda
from saddle.policies import DialPolicy, NetworkPolicy
from saddle.study import episodes
from saddle.study.episodes import DrawnEpisodes
from saddle.study.store import Study

SETTINGS = 9  # most, of a task and learner


class Setting(NamedTuple):
    """A policy, and the multiplier that it was trained at or is set to."""

    run: str
    lam: Lambda
    policy: NetworkPolicy


def draw_episodes(study: Study, on_task: Callable[[str], None] | None = None) -> None:
    """Draw an episode at up to nine multipliers, all in the same world, for each task and learner
    of the study whose task can be seen from above: of a policy with a dial, or of the policies of a
    sweep. `on_task` is told before each.
    """
    done = name_settings(study.runs).filter(status="done").sort("seed", "run")
    drawn = []
    pictures = []
    for (name, _), runs in done.group_by("task", "algorithm", maintain_order=True):
        settings = _settings(study, runs)
        if not settings:
            continue
        task = tasks.make(name)
        if not hasattr(task, "top_view"):
            continue
        if on_task is not None:
            on_task(str(name))
        facts, own = _drawn(task, settings)
        drawn.append(DrawnEpisodes(settings[0].run, facts))
        pictures.append(own)
    if drawn:
        episodes.keep(study, drawn, pictures)


def _settings(study: Study, runs: pl.DataFrame) -> list[Setting]:
    """What to draw of these runs of one task: the dial of the first, or a sweep's lambdas, each by
    its first seed.
    """
    kept = [row for row in runs.to_dicts() if study.policy_folder(row["run"]).is_dir()]
    if not kept:
        return []
    first = kept[0]["run"]
    policy = policies.network(study.policy_folder(first))
    if isinstance(policy, DialPolicy):  # then so are all of this learner's
        return [Setting(first, lam, policy.at(lam)) for lam in policy.dial.settings(SETTINGS)]
    swept: dict[float, str] = {}
    for row in kept:
        others = [row[name] for name in further(runs.columns, "lambda")]
        alike = all(lam in (None, row["lambda"]) for lam in others)  # as a dial's settings are
        if row["rule"] == Fixed.name and row["limit"] is None and alike:
            swept.setdefault(row["lambda"], row["run"])
    lambdas = sorted(swept)
    places = np.unique(np.linspace(0, len(lambdas) - 1, min(SETTINGS, len(lambdas))).round())
    found = []
    for place in places.astype(int):
        run = swept[lambdas[place]]
        policy = policies.network(study.policy_folder(run))
        assert isinstance(policy, NetworkPolicy)
        found.append(Setting(run, lambdas[place], policy))
    return found


def _drawn(task: Any, settings: list[Setting]) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Lambda, return and cost of an episode at each setting, and its picture."""
    from saddle.draw import small
    from saddle.draw.record import states
    from saddle.draw.scene import Episode

    played = []
    facts = []
    for run, lam, policy in settings:
        way = states(task, policies.by_mode(policy), jax.random.key(0), task.spec.episode_length)
        episode = Episode(task, run, 0, way)
        played.append(episode)
        earned, paid = float(episode.rewards.sum()), float(episode.costs.sum())
        facts.append({"lambda": lam, "return": earned, "cost": paid})
    widest = max((episode.view for episode in played), key=lambda view: view[2])
    return facts, [small.png(episode, widest) for episode in played]
