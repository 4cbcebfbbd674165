"""The random numbers of an update, drawn in one place, so that an update can be given others."""

from typing import NamedTuple

import jax
from jax import Array

from saddle.learners.sac.actions import Actions
from saddle.learners.sac.settings import SAC


class Draws(NamedTuple):
    """All that is random in an update: standard normal noise of outlooks, and places."""

    following: Array  # [N, numbers], of the next actions in targets
    actor: Array  # [N, numbers], of the actions that the actor is to improve
    alpha: Array  # [N, numbers], of those that the temperature sees
    look: Array  # [rsi_batch, numbers], of those whose gradients make beta
    places: Array  # [rsi_batch] int32, of the observations that they belong to


def draw(key: Array, sac: SAC, actions: Actions) -> Draws:
    """Of one update."""
    following, actor, alpha, look, places = jax.random.split(key, 5)
    batch = (sac.batch, actions.noise)
    return Draws(
        jax.random.normal(following, batch),
        jax.random.normal(actor, batch),
        jax.random.normal(alpha, batch),
        jax.random.normal(look, (sac.rsi_batch, actions.noise)),
        jax.random.randint(places, (sac.rsi_batch,), 0, sac.batch),
    )
