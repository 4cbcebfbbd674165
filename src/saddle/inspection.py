"""What would make a training on a task wrong or slow, each with one line that says what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from saddle.learners import LearnerSettings
from saddle.study.room import gigabytes
from saddle.tasks import TaskSpec
from saddle.trial import Trial

LARGE_REWARD = 1e3  # of a step: networks learn its value slowly
SMALL_REWARD = 1e-3
MANY = 1000  # numbers of an observation, from which on it is likely a picture
TOLERANCE = 1e-6  # beyond its bounds that an observation may be, relative to them


@dataclass(frozen=True)
class Problem:
    """One line."""

    text: str
    wrong: bool
    """Whether a training would be wrong; else it is slow, or should be looked at."""


def problems(
    spec: TaskSpec,
    trial: Trial,
    learner: LearnerSettings,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
) -> list[Problem]:
    """All that can be seen from a random policy's episodes. bounds: lowest and highest observation
    [obs_dim], where the task has such bounds.
    """
    if trial.not_finite:
        return [
            Problem(
                f"its {name} is NaN or infinite in some step, with which nothing can be trained; "
                f"find where it comes from",
                wrong=True,
            )
            for name in trial.not_finite
        ]
    return [
        *_of_episodes(spec, trial, learner),
        *_of_costs(spec, trial),
        *_of_rewards(trial),
        *_of_observations(trial, bounds),
    ]


def of_actions(low: np.ndarray, high: np.ndarray) -> list[Problem]:
    """What to say of an environment's actions. low, high [action_dim]: their bounds."""
    free = ~(np.isfinite(low) & np.isfinite(high))
    if not free.any():
        return []
    return [
        Problem(
            f"{int(free.sum())} of {len(free)} actions have no bounds, so that they are passed on "
            f"as they are: a policy begins with numbers of about -1 to 1, and hardly learns where "
            f"others are meant; scale them in the environment, or give their space bounds",
            wrong=False,
        )
    ]


def of_size(spec: TaskSpec, pixels: bool, memory: int) -> list[Problem]:
    """What to say of large observations. pixels: whether they are known to be pictures; memory:
    bytes that the default frontier takes here.
    """
    if not pixels and spec.obs_dim <= MANY:
        return []
    what = "pixels" if pixels else "many"
    return [
        Problem(
            f"its observations are {what}, {spec.obs_dim} numbers, and networks here have no "
            f"convolutions: they learn slowly from so many; observe what matters in a few numbers "
            f"if you can (a frontier takes about {gigabytes(memory)} of memory as it is)",
            wrong=False,
        )
    ]


def _of_episodes(spec: TaskSpec, trial: Trial, learner: LearnerSettings) -> Iterator[Problem]:
    if not trial.seeds_repeat:
        yield Problem(
            "the same seed and the same actions do not repeat an episode: no training can be "
            "repeated exactly; draw all that is random from the generator that reset(seed=...) "
            "seeds",
            wrong=False,
        )
    each = learner.steps_per_epoch
    if spec.episode_length > each:
        yield Problem(
            f"an episode of {spec.episode_length} steps is longer than an epoch of {each}, which "
            f"would see no whole one; train with --learner.steps-per-epoch "
            f"{4 * spec.episode_length}, or shorter episodes",
            wrong=True,
        )
    too_long = trial.lengths[trial.lengths > spec.episode_length]
    if len(too_long):
        yield Problem(
            f"an episode took {too_long.max():g} steps, but its episode_length is "
            f"{spec.episode_length}: epochs would hold no whole one; correct the spec, or end "
            f"episodes in time",
            wrong=True,
        )
    elif not len(trial.returns) and trial.steps_per_world > spec.episode_length:
        yield Problem(
            f"no episode ended within {trial.steps_per_world} steps, but its episode_length is "
            f"{spec.episode_length}: set truncated when so many steps are over",
            wrong=True,
        )
    elif not len(trial.returns):
        yield Problem(
            "no episode ended while it was tried; if its steps are so slow, shorten episodes with "
            "--episode-length",
            wrong=False,
        )
    elif trial.cut.all() and trial.lengths.max() < spec.episode_length:
        most = trial.lengths.max()
        yield Problem(
            f"all episodes were cut after {most:g} steps or fewer, though its episode_length is "
            f"{spec.episode_length}: make that {most:g} if it is the time limit, since epochs are "
            f"sized by it",
            wrong=False,
        )


def _of_costs(spec: TaskSpec, trial: Trial) -> Iterator[Problem]:
    for i, name in enumerate(spec.constraints):
        costs = trial.step_costs[:, i]
        if costs.min() < 0:
            yield Problem(
                f"{name}: its cost falls to {costs.min():g}; a cost is 0 or more, so change its "
                f"sign (reward:-I) or clip it in a cost function",
                wrong=True,
            )
        elif not costs.any():
            yield Problem(
                f"{name}: a random policy never pays, so nothing shows that this is the cost that "
                f"is meant; check its source",
                wrong=False,
            )
        elif costs.min() == costs.max():
            yield Problem(
                f"{name}: every step costs {costs[0]:g}, whatever is done; only the length of an "
                f"episode can change its cost",
                wrong=False,
            )
        elif not trial.ended.all() and not costs[~trial.ended].any():
            yield Problem(
                f"{name}: only the last step of an episode costs, which is hard to learn from; "
                f"if you can, let each step cost what brings that end nearer",
                wrong=False,
            )


def _of_rewards(trial: Trial) -> Iterator[Problem]:
    rewards = trial.step_rewards
    size = float(np.abs(rewards).mean())
    if rewards.min() == rewards.max():
        yield Problem(
            f"every step earns {rewards[0]:g}, whatever is done; only the length of an episode can "
            f"change its return",
            wrong=False,
        )
    elif size > LARGE_REWARD:
        yield Problem(
            f"a step earns {size:.3g} on average, which values take long to reach; divide it by "
            f"about that",
            wrong=False,
        )
    elif size < SMALL_REWARD:
        yield Problem(
            f"a step earns {size:.3g} on average, which drowns in noise unless few steps earn it "
            f"all; multiply it by about {1 / max(size, 1e-12):.0e}",
            wrong=False,
        )


def _of_observations(
    trial: Trial, bounds: tuple[np.ndarray, np.ndarray] | None
) -> Iterator[Problem]:
    if bounds is None:
        return
    low, high = bounds
    slack = TOLERANCE * (1 + np.maximum(_size(low), _size(high)))
    outside = (trial.lowest < low - slack) | (trial.highest > high + slack)
    if outside.any():
        place = int(np.flatnonzero(outside)[0])
        yield Problem(
            f"observations leave their space: entry {place} went from {trial.lowest[place]:g} to "
            f"{trial.highest[place]:g}, and its bounds are {low[place]:g} and {high[place]:g}; "
            f"correct the space (training does not mind)",
            wrong=False,
        )


def _size(bound: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(bound), np.abs(bound), 0.0)


def bounds_of(task: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Lowest and highest observations, where a task says so: [obs_dim] each."""
    facts = getattr(task, "facts", None)
    if facts is not None:
        return facts.low, facts.high
    if hasattr(task, "obs_bounds"):
        low, high = task.obs_bounds()
        return np.asarray(low), np.asarray(high)
    return None
