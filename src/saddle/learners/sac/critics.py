"""One step of all critics of one member. N transitions of a batch, m constraints."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.learners import adam
from saddle.learners.adam import Adam
from saddle.learners.networks import plain
from saddle.learners.networks.plain import Net
from saddle.learners.networks.squashed import Squashed
from saddle.learners.sac.networks import Critics, Networks, Twins, temperature, value
from saddle.learners.sac.replay import Batch
from saddle.learners.sac.settings import SAC


class CriticStats(NamedTuple):
    """Of the critics' part of an update."""

    loss_q: Array  # [], of both reward critics
    loss_qc: Array  # [m]
    q_r: Array  # [], mean value of the batch, of both reward critics
    q_c: Array  # [m]
    sound: Array  # [] bool: all gradients were finite


def no_stats(m: int) -> CriticStats:
    """Of no update at all."""
    nothing = jnp.full((), jnp.nan)
    each = jnp.full(m, jnp.nan)
    return CriticStats(nothing, each, nothing, each, sound=jnp.ones((), bool))


def targets(
    sac: SAC, family: Squashed, networks: Networks, batch: Batch, noise: Array
) -> tuple[Array, tuple[Array, ...]]:
    """What critics should say: the twins [N], and each cost critic [N]. noise [N, action_dim].

    The rewards' next action is drawn. The costs' is the mean's, unless told: the published study
    has it so.
    """
    output = plain.output(sac, networks.actor, batch.next_obs)
    action, log_prob = family.sample(output, noise)
    first, second = (
        value(sac, target, batch.next_obs, action) for target in networks.targets.reward
    )
    soft = jnp.minimum(first, second) - temperature(sac, networks) * log_prob
    of_reward = batch.signal[:, 0] + sac.gamma * batch.goes_on * soft

    cost_action = family.mode(output) if sac.cost_target == "mean" else action
    of_costs = []
    for i, target in enumerate(networks.targets.costs):
        later = value(sac, target, batch.next_obs, cost_action)
        of_costs.append(batch.signal[:, 1 + i] + sac.cost_gamma * batch.goes_on * later)
    return of_reward, tuple(of_costs)


def step(
    sac: SAC, family: Squashed, networks: Networks, batch: Batch, noise: Array
) -> tuple[Networks, CriticStats]:
    """One step of every critic towards its target: the twins by one optimiser."""
    of_reward, of_costs = targets(sac, family, networks, batch, noise)

    def error(critic: Net, target: Array) -> tuple[Array, Array]:
        """Mean square, and mean value."""
        found = value(sac, critic, batch.obs, batch.action)
        return jnp.mean((found - target) ** 2), found.mean()

    def of_twins(twins: Twins) -> tuple[Array, Array]:
        (first, one), (second, other) = (error(twin, of_reward) for twin in twins)
        return first + second, 0.5 * (one + other)

    reward = _descend(sac, of_twins, networks.critics.reward, networks.reward_adam)
    costs = []
    for critic, moments, target in zip(
        networks.critics.costs, networks.cost_adams, of_costs, strict=True
    ):
        costs.append(_descend(sac, partial(error, target=target), critic, moments))
    after = networks._replace(
        critics=Critics(reward.params, tuple(cost.params for cost in costs)),
        reward_adam=reward.moments,
        cost_adams=tuple(cost.moments for cost in costs),
    )
    sizes = jnp.stack([reward.size, *(cost.size for cost in costs)])
    stats = CriticStats(
        loss_q=reward.loss,
        loss_qc=jnp.stack([cost.loss for cost in costs]),
        q_r=reward.value,
        q_c=jnp.stack([cost.value for cost in costs]),
        sound=jnp.isfinite(sizes).all(),
    )
    return after, stats


class _Stepped(NamedTuple):
    """What has taken a step of Adam."""

    params: Any
    moments: Adam
    loss: Array  # [], before it
    value: Array  # [], mean, before it
    size: Array  # [], the gradient's norm


def _descend(
    sac: SAC, loss: Callable[[Any], tuple[Array, Array]], params: Any, moments: Adam
) -> _Stepped:
    """Down a loss, which also tells a mean value."""
    (found, value), grads = jax.value_and_grad(loss, has_aux=True)(params)
    size = adam.norm(grads)
    moments, params = adam.step(moments, params, grads, sac.critic_lr, sac.max_grad_norm, size)
    return _Stepped(params, moments, found, value, size)
