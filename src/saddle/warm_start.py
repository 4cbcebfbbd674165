"""Training that begins from an exported policy instead of random weights."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle import policy_files
from saddle.collect.normalise import Moments
from saddle.errors import SaddleError
from saddle.learners.api import Learner
from saddle.learners.settings import LearnerSettings
from saddle.tasks.spec import TaskSpec


class Start(NamedTuple):
    """An exported policy to begin from."""

    arrays: dict[str, np.ndarray]  # as policy.npz holds them
    facts: dict[str, Any]  # as policy.json does


def read(settings: LearnerSettings, spec: TaskSpec) -> Start | None:
    """The policy that the settings name, if they name one and it fits task and settings."""
    if settings.start is None:
        return None
    arrays, facts = policy_files.read(settings.start, spec)
    clip = settings.obs_clip if settings.obs_norm else None
    if facts["obs_clip"] != clip:
        raise SaddleError(
            f"the policy {settings.start} clips normalised observations at {facts['obs_clip']}, "
            f"these settings at {clip}; give both the same obs_norm and obs_clip"
        )
    return Start(arrays, facts)


def begin(learner: Learner, states: Any, start: Start) -> Any:
    """The members' untrained states [M, ...], each acting as the policy does."""
    take_over = getattr(learner, "begin_from", None)
    if take_over is None:
        raise SaddleError(
            f"{type(learner).__name__} cannot begin from a policy: it has no function begin_from"
        )
    return jax.vmap(lambda state: take_over(state, start.arrays, start.facts))(states)


def check(learner: Learner, start: Start) -> None:
    """The learner can begin from the policy. Nothing is computed but shapes."""

    def begun(keys: Array) -> Any:
        return begin(learner, jax.vmap(learner.init)(keys), start)

    jax.eval_shape(begun, jax.random.split(jax.random.key(0), 1))


def moments(start: Start, members: int, count: int) -> Moments:
    """[M], what the policy knows of observations, which counts as much as `count` of them."""

    def of_all(values: np.ndarray | float) -> Array:
        array = jnp.asarray(values)
        return jnp.broadcast_to(array, (members, *array.shape))

    return Moments(
        count=of_all(jnp.int32(count)),
        mean=of_all(start.arrays["obs_mean"]),
        squares=of_all(start.arrays["obs_var"] * (count - 1)),
    )
