"""One step of all critics of one member. N transitions of a batch, m constraints."""

from collections.abc import Callable, Iterable
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
    return CriticStats(
        loss_q=nothing, loss_qc=each, q_r=nothing, q_c=each, sound=jnp.ones((), bool)
    )


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

    def step_ensemble(
        critics: tuple[Net, ...], adams: tuple[Adam, ...], own_targets: tuple[Array, ...]
    ) -> list[_Stepped]:
        stepped = []
        for critic, moments, target in zip(critics, adams, own_targets, strict=True):
            stepped.append(_descend(sac, partial(error, target=target), critic, moments))
        return stepped

    reward = _descend(sac, of_twins, networks.critics.reward, networks.reward_adam)
    ensembles = zip(networks.critics.costs, networks.cost_adams, of_costs, strict=True)
    costs = [step_ensemble(*ensemble) for ensemble in ensembles]
    critics = []
    adams = []
    sizes = [reward.size]
    for ensemble in costs:
        critics.append(tuple(critic.params for critic in ensemble))
        adams.append(tuple(critic.moments for critic in ensemble))
        sizes += [critic.size for critic in ensemble]
    after = networks._replace(
        critics=Critics(reward.params, tuple(critics)),
        reward_adam=reward.moments,
        cost_adams=tuple(adams),
    )
    every_size = jnp.stack(sizes)
    stats = CriticStats(
        loss_q=reward.loss,
        loss_qc=_means([critic.loss for critic in ensemble] for ensemble in costs),
        q_r=reward.value,
        q_c=_means([critic.value for critic in ensemble] for ensemble in costs),
        sound=jnp.isfinite(every_size).all(),
    )
    return after, stats


def _means(ensembles: Iterable[list[Array]]) -> Array:
    """[m], of each constraint's numbers."""
    return jnp.stack([jnp.mean(jnp.stack(numbers)) for numbers in ensembles])


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
