"""One update of all networks of one member from a batch of transitions; the learner adds members.

In order: reward critics, cost critics, and every so often the actor, its temperature and the
targets. N transitions of a batch, m constraints.
"""

import jax
from jax import Array

from saddle.learners.sac import actor, critics
from saddle.learners.sac.actions import Actions
from saddle.learners.sac.actor import ActorStats
from saddle.learners.sac.critics import CriticStats
from saddle.learners.sac.draws import Draws
from saddle.learners.sac.networks import Critics, Networks
from saddle.learners.sac.replay import Batch
from saddle.learners.sac.settings import SAC

Stats = tuple[CriticStats, ActorStats]


def no_stats(m: int) -> Stats:
    """Of no update at all."""
    return critics.no_stats(m), actor.no_stats(m)


def sound(stats: Stats) -> Array:
    """Whether all gradients of an update were finite."""
    of_critics, of_actor = stats
    return of_critics.sound & of_actor.sound


def update(
    sac: SAC,
    actions: Actions,
    networks: Networks,
    batch: Batch,
    lam: Array,
    drawn: Draws,
    number: Array,
) -> tuple[Networks, Stats]:
    """The update of that number, from 1. lam [m]."""
    networks, critic_stats = critics.step(sac, actions, networks, batch, drawn.following)

    def move(networks: Networks) -> tuple[Networks, ActorStats]:
        looks = looks_at_scale(sac, number // sac.delay)
        networks, stats = actor.step(sac, actions, networks, batch.obs, lam, drawn, looks)
        return networks._replace(targets=_nearer(sac, networks)), stats

    def rest(networks: Networks) -> tuple[Networks, ActorStats]:
        return networks, actor.no_stats(lam.shape[0])

    moves = number % sac.delay == 0
    networks, actor_stats = jax.lax.cond(moves, move, rest, networks)
    return networks, (critic_stats, actor_stats)


def looks_at_scale(sac: SAC, number: Array) -> Array:
    """Whether the actor update of that number, from 1, looks at the gradients to refresh beta."""
    return (number == 1) | (number % sac.rsi_every == 0)


def _nearer(sac: SAC, networks: Networks) -> Critics:
    """Targets that have moved towards their networks."""

    def moved(target: Array, own: Array) -> Array:
        return sac.polyak * own + (1 - sac.polyak) * target

    return jax.tree.map(moved, networks.targets, networks.critics)
