"""The networks of one member, with what moves them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.learners import adam, scale
from saddle.learners.adam import Adam
from saddle.learners.networks import plain
from saddle.learners.networks.plain import Net
from saddle.learners.sac.actions import Actions
from saddle.learners.sac.settings import SAC

Twins = tuple[Net, Net]
Ensemble = tuple[Net, ...]

EPSILON = 1e-12  # added to a variance whose root is taken: where it is 0 the root has no slope


class Critics(NamedTuple):
    """Values of an observation and an action."""

    reward: Twins
    costs: tuple[Ensemble, ...]  # m of them


class Networks(NamedTuple):
    """All that updates change."""

    actor: Net
    critics: Critics
    targets: Critics
    actor_adam: Adam
    reward_adam: Adam  # of both twins together
    cost_adams: tuple[tuple[Adam, ...], ...]  # of each cost critic
    log_alpha: Array  # [], of the temperature if that is tuned
    alpha_adam: Adam
    beta: Array  # [m]


def init(key: Array, sac: SAC, obs_dim: int, actions: Actions, constraints: int) -> Networks:
    """Of one untrained member. Targets begin as copies."""
    actor_key, *critic_keys = jax.random.split(key, 3 + constraints * sac.cost_critics)
    actor = plain.init_net(actor_key, (obs_dim, *sac.hidden, actions.family.outputs))
    sizes = actions.critic_sizes(obs_dim)
    first, second, *others = [plain.init_critic(own, sac, *sizes) for own in critic_keys]
    each = sac.cost_critics
    costs = tuple(tuple(others[i : i + each]) for i in range(0, len(others), each))
    critics = Critics((first, second), costs)
    log_alpha = jnp.zeros(())
    return Networks(
        actor=actor,
        critics=critics,
        targets=critics,
        actor_adam=adam.init(actor),
        reward_adam=adam.init(critics.reward),
        cost_adams=tuple(tuple(map(adam.init, ensemble)) for ensemble in costs),
        log_alpha=log_alpha,
        alpha_adam=adam.init(log_alpha),
        beta=scale.start(sac, constraints),
    )


def values(sac: SAC, actions: Actions, critic: Net, obs: Array, action: Array) -> Array:
    """All that a critic says, [N, K]: of real actions the value of `action`, of choices those of
    all combinations.
    """
    output = plain.normalised_output if sac.layer_norm else plain.output
    return output(sac, critic, actions.asked(obs, action))


def cautious(sac: SAC, found: Array) -> Array:
    """What a cost is taken for, of what several critics say of it: [E, ...] -> [...]. The more they
    differ, the more it may be.
    """
    if len(found) == 1:
        return found[0]
    return found.mean(0) + sac.cost_caution * jnp.sqrt(found.var(0) + EPSILON)


def temperature(sac: SAC, networks: Networks) -> Array:
    """The temperature []."""
    return jnp.exp(networks.log_alpha) if sac.tune_alpha else jnp.asarray(sac.alpha)
