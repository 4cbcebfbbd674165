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
from saddle.learners.sac.actions import Actions
from saddle.learners.sac.networks import Critics, Networks, Twins, temperature, values
from saddle.learners.sac.replay import Batch
from saddle.learners.sac.settings import SAC


class CriticStats(NamedTuple):
    """Of the critics' part of an update."""

    loss_q: Array  # [], of both reward critics
    loss_qc: Array  # [m], mean over a constraint's critics
    q_r: Array  # [], mean value of the batch, of both reward critics
    q_c: Array  # [m], likewise
    sound: Array  # [] bool: all gradients were finite


def no_stats(m: int) -> CriticStats:
    """Of no update at all."""
    nothing = jnp.full((), jnp.nan)
    each = jnp.full(m, jnp.nan)
    return CriticStats(nothing, each, nothing, each, sound=jnp.ones((), bool))


def targets(
    sac: SAC, actions: Actions, networks: Networks, batch: Batch, noise: Array
) -> tuple[Array, tuple[tuple[Array, ...], ...]]:
    """What critics should say: the twins [N], and every cost critic of each constraint [N].
    noise [N, numbers].

    The rewards' next action is drawn. The costs' is the mean's, unless told: the published study
    has it so. Of choices both take all that there are, by their probabilities.
    """
    output = plain.output(sac, networks.actor, batch.next_obs)
    drawn = actions.outlook(output, noise)
    first, second = (
        values(sac, actions, target, batch.next_obs, drawn.action)
        for target in networks.targets.reward
    )
    soft = drawn.mean(jnp.minimum(first, second) - temperature(sac, networks) * drawn.log_prob)
    of_reward = batch.signal[:, 0] + sac.gamma * batch.goes_on * soft

    calm = actions.calm(output) if sac.cost_target == "mean" else None
    priced = drawn if calm is None else calm

    def of_cost(constraint: int, target: Net) -> Array:
        later = priced.mean(values(sac, actions, target, batch.next_obs, priced.action))
        return batch.signal[:, 1 + constraint] + sac.cost_gamma * batch.goes_on * later

    of_costs = []
    for constraint, ensemble in enumerate(networks.targets.costs):
        of_costs.append(tuple(of_cost(constraint, target) for target in ensemble))
    return of_reward, tuple(of_costs)


def step(
    sac: SAC, actions: Actions, networks: Networks, batch: Batch, noise: Array
) -> tuple[Networks, CriticStats]:
    """One step of every critic towards its target: the twins by one optimiser, each cost critic by
    its own.
    """
    of_reward, of_costs = targets(sac, actions, networks, batch, noise)

    def error(critic: Net, target: Array) -> tuple[Array, Array]:
        """Mean square, and mean value."""
        every = values(sac, actions, critic, batch.obs, batch.action)
        found = actions.taken(every, batch.action)
        return jnp.mean((found - target) ** 2), found.mean()

    def of_twins(twins: Twins) -> tuple[Array, Array]:
        (first, one), (second, other) = (error(twin, of_reward) for twin in twins)
        return first + second, 0.5 * (one + other)

    reward = _descend(sac, of_twins, networks.critics.reward, networks.reward_adam)
    costs = []
    for ensemble, adams, each in zip(
        networks.critics.costs, networks.cost_adams, of_costs, strict=True
    ):
        stepped = []
        for critic, moments, target in zip(ensemble, adams, each, strict=True):
            stepped.append(_descend(sac, partial(error, target=target), critic, moments))
        costs.append(stepped)
    after = networks._replace(
        critics=Critics(reward.params, tuple(tuple(one.params for one in own) for own in costs)),
        reward_adam=reward.moments,
        cost_adams=tuple(tuple(one.moments for one in own) for own in costs),
    )
    sizes = jnp.stack([reward.size, *(one.size for own in costs for one in own)])
    stats = CriticStats(
        loss_q=reward.loss,
        loss_qc=jnp.stack([_mean([one.loss for one in own]) for own in costs]),
        q_r=reward.value,
        q_c=jnp.stack([_mean([one.value for one in own]) for own in costs]),
        sound=jnp.isfinite(sizes).all(),
    )
    return after, stats


def _mean(numbers: list[Array]) -> Array:
    return jnp.mean(jnp.stack(numbers))


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
