"""What a population keeps of its members between epochs, and what becomes of those that fail."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.collect.episodes import Window
from saddle.collect.normalise import Moments
from saddle.collect.rollout import Rollout, Worlds
from saddle.errors import SaddleError
from saddle.learners.settings import LearnerSettings
from saddle.multipliers.stacked import Multiplier, Numbers

LEARN = 2  # what an epoch's key is folded with to learn; collect.steps has the others

FINE, BAD_OBSERVATION, BAD_UPDATE = 0, 1, 2
REASONS = {
    BAD_OBSERVATION: "an observation, reward or cost was not finite",
    BAD_UPDATE: "a loss or a network parameter was not finite",
}
"""Why a member stopped."""


class MemberState(NamedTuple):
    """All of a member that an epoch changes, but its worlds; stacked [M, ...]."""

    learner: Any  # state of the learner
    multiplier: Multiplier
    window: Window  # of recent episodes, whose cost the multiplier sees
    failed: Array  # [M] int32, FINE or why the member stopped


class Roster(NamedTuple):
    """What tells members apart, stacked [M, ...]: the program is the same for all of them."""

    seeds: Array  # [M] uint32
    numbers: Numbers  # [M], of their rules
    limits: Array  # [M, m]

    def keys(self, epoch: Array | int) -> Array:
        """[M], of that epoch; -1 is that of the start."""

        def of_member(seed: Array) -> Array:
            return jax.random.fold_in(jax.random.key(seed), epoch + 1)

        return jax.vmap(of_member)(self.seeds)


class PopulationState(NamedTuple):
    """Everything that the next epoch depends on."""

    epoch: Array  # [] int32, epochs done
    members: MemberState
    moments: Moments  # [M], of observations
    worlds: Worlds | None  # None where every epoch starts with fresh ones


def healthy(rollout: Rollout) -> Array:
    """Whether all that a member met was finite. [M]."""
    return _finite(rollout.signal) & _finite(rollout.next_obs)


def verdict(failed: Array, healthy: Array, sound: Array) -> Array:
    """Why each member stopped, once it has met and learned something more. [M] each."""
    met = jnp.where(healthy, FINE, BAD_OBSERVATION)
    failed = jnp.where(failed != FINE, failed, met)
    return jnp.where((failed == FINE) & ~sound, BAD_UPDATE, failed)


def frozen(failed: Array, after: Any, before: Any) -> Any:
    """`after`, but `before` of members that failed. failed [M], leaves [M, ...]."""
    return jax.tree.map(partial(_keep_failed, failed != FINE), after, before)


def check_metrics(
    settings: LearnerSettings, metrics: dict[str, Array], own: dict[str, Array]
) -> None:
    """A learner logs what its settings declare, or the store's columns would depend on who looks;
    and none of the population's `own` metrics, which it would replace.
    """
    taken = sorted(own.keys() & metrics.keys())
    if taken:
        raise SaddleError(
            f"the learner {settings.algorithm!r} logs {taken[0]!r}, which every run logs already; "
            f"give it another name"
        )
    declared = set(settings.metrics)
    odd = sorted(declared ^ set(metrics))
    if odd:
        what = "declares" if odd[0] in declared else "logs"
        but = (
            "does not log it"
            if odd[0] in declared
            else "its settings do not declare it in `metrics`"
        )
        raise SaddleError(f"the learner {settings.algorithm!r} {what} {odd[0]!r}, but {but}")


def _keep_failed(failed: Array, new: Array, old: Array) -> Array:
    """A failed member stays as it was before the epoch that broke it."""
    return jnp.where(failed.reshape(-1, *[1] * (new.ndim - 1)), old, new)


def _finite(x: Array) -> Array:
    """Whether all of a member's numbers are finite. [T, M, ...] -> [M]."""
    return jnp.isfinite(x).all(axis=(0, *range(2, x.ndim)))
