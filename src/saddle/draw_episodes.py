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
from saddle.dial_inputs import SETTINGS
from saddle.draw import course, record, small
from saddle.draw.scene import Episode
from saddle.errors import SaddleError
from saddle.multipliers import Fixed, Lambda
from saddle.policies import DialPolicy, NetworkPolicy
from saddle.study import episodes
from saddle.study.episodes import Drawing, DrawnEpisodes
from saddle.study.store import Study
from saddle.tasks.host import PicturedWorlds, close_worlds

PICTURES = 60  # most, of an episode's film


class Setting(NamedTuple):
    """A policy, and the multiplier that it was trained at or is set to."""

    run: str
    lam: Lambda
    policy: NetworkPolicy


def draw_episodes(study: Study, tell: Callable[[str], None]) -> None:
    """Draw an episode at up to nine multipliers, all in the same world, for each task and learner
    of the study whose task can be seen, from above or as its world draws itself: of a policy with a
    dial, or of the policies of a sweep. `tell` gets a line before each, and one where it cannot be
    drawn after all.
    """
    done = name_settings(study.runs).filter(status="done").sort("seed", "run")
    drawn = []
    drawings = []
    for (name, _), runs in done.group_by("task", "algorithm", maintain_order=True):
        settings = _settings(study, runs)
        if not settings:
            continue
        task = tasks.make(name)
        seen = record.pictured(task)
        if not hasattr(task, "top_view") and seen is None:
            continue
        tell(f"drawing episodes of {name}")
        if seen is None:
            facts, own = _from_above(task, settings)
        else:
            try:
                facts, own = _by_itself(seen, settings)
            except SaddleError as error:
                tell(f"no episodes are drawn: {error}")
                continue
            finally:
                close_worlds(seen)
        drawn.append(DrawnEpisodes(settings[0].run, facts))
        drawings.append(own)
    if drawn:
        episodes.keep(study, drawn, drawings)


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
        return [Setting(first, lam, policy.at(lam)) for lam in policy.dial.settings()]
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


Drawn = tuple[list[dict[str, Any]], list[Drawing]]
"""Lambda, return and cost of an episode at each setting, and what is drawn of it."""


def _from_above(task: Any, settings: list[Setting]) -> Drawn:
    """Of a task with a `top_view`."""
    played = []
    facts = []
    for run, lam, policy in settings:
        act = policies.by_mode(policy)
        way = record.states(task, act, jax.random.key(0), task.spec.episode_length)
        episode = Episode(task, run, 0, way)
        played.append(episode)
        facts.append(_facts(lam, episode.rewards, episode.costs))
    widest = max((episode.view for episode in played), key=lambda view: view[2])
    return facts, [Drawing(small.png(episode, widest)) for episode in played]


def _by_itself(world: PicturedWorlds, settings: list[Setting]) -> Drawn:
    """Of a world that draws itself."""
    length = world.spec.episode_length
    every = max(course.stride(world.spec), -(-length // PICTURES))
    drawings = []
    facts = []
    for run, lam, policy in settings:
        act = policies.by_mode(policy)
        played = record.course(world, world, act, run, 0, length, every)
        facts.append(_facts(lam, played.reward, played.cost))
        drawings.append(Drawing(small.moments(played), small.gif(played)))
    return facts, drawings


def _facts(lam: Lambda, rewards: np.ndarray, costs: np.ndarray) -> dict[str, Any]:
    return {"lambda": lam, "return": float(rewards.sum()), "cost": float(costs.sum())}
