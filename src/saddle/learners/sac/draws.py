"""The random numbers of an update, drawn in one place, so that an update can be given others."""

from typing import NamedTuple

import jax
from jax import Array

from saddle.learners.networks.squashed import Squashed
from saddle.learners.sac.settings import SAC


class Draws(NamedTuple):
    """All that is random in an update: standard normal noise of actions, and places."""

    following: Array  # [N, action_dim], of the next actions in targets
    actor: Array  # [N, action_dim], of the actions that the actor is to improve
    alpha: Array  # [N, action_dim], of those that the temperature sees
    look: Array  # [rsi_batch, action_dim], of those whose gradients make beta
    places: Array  # [rsi_batch] int32, of the observations that they belong to


def draw(key: Array, sac: SAC, family: Squashed) -> Draws:
    """Of one update."""
    following, actor, alpha, look, places = jax.random.split(key, 5)
    batch = (sac.batch, family.action_dim)
    return Draws(
        jax.random.normal(following, batch),
        jax.random.normal(actor, batch),
        jax.random.normal(alpha, batch),
        jax.random.normal(look, (sac.rsi_batch, family.action_dim)),
        jax.random.randint(places, (sac.rsi_batch,), 0, sac.batch),
    )
