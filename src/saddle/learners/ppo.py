"""One minibatch of PPO with a Lagrange multiplier, for one member; `jax.vmap` adds the members.

The gradient of any surrogate is a weighted sum of scores, sum_i w_i * grad log pi(a_i | s_i). So the actor runs forward
and back once, and each surrogate (reward, each cost, clipped) only weighs the samples' gradients anew.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.config import PPO
from saddle.learners import adam, networks, scale
from saddle.learners.networks import Actor, Net


class Learner(NamedTuple):
    """What learning changes. Critics: the reward's first, then one per constraint; S = 1 + m."""

    actor: Actor
    critics: tuple[Net, ...]  # S of them
    actor_adam: adam.Adam
    critic_adams: tuple[adam.Adam, ...]
    beta: Array  # [m]


class Samples(NamedTuple):
    """N steps and what is to be learned from them. S = 1 + m signals: reward, costs."""

    obs: Array  # [N, obs_dim], normalised as the policy saw them
    action: Array  # [N, action_dim]
    mean: Array  # [N, action_dim], of the policy that acted
    log_prob: Array  # [N], likewise
    advantage: Array  # [N, S]
    target: Array  # [N, S], of the critics


class Stats(NamedTuple):
    """Of one minibatch."""

    loss_pi: Array  # []
    loss_v: Array  # [S], squared error
    grad_r: Array  # [], norm of the reward surrogate's gradient
    grad_c: Array  # [m], norms of the cost surrogates' gradients
    grad_pi: Array  # [], norm of the clipped loss's gradient


def init(key: Array, ppo: PPO, obs_dim: int, action_dim: int, m: int) -> Learner:
    """An untrained learner."""
    actor_key, *critic_keys = jax.random.split(key, 2 + m)
    actor = networks.init_actor(actor_key, ppo, obs_dim, action_dim)
    critics = tuple(networks.init_critic(k, ppo, obs_dim) for k in critic_keys)
    return Learner(actor, critics, adam.init(actor), tuple(map(adam.init, critics)), scale.start(m))


def minibatch(
    ppo: PPO, learner: Learner, samples: Samples, weight: Array, lam: Array, lr: Array
) -> tuple[Learner, Stats]:
    """One step of every network. weight [N] sums to 1; lam [m]; lr is the actor's."""
    judged = [
        _critic_step(ppo, critic, state, samples, target, weight)
        for critic, state, target in zip(learner.critics, learner.critic_adams, samples.target.T, strict=True)
    ]
    critic_adams, critics, errors = zip(*judged, strict=True)
    grads, beta, loss, norms = _actor_gradient(ppo, learner, samples, weight, lam)
    actor_adam, actor = adam.step(learner.actor_adam, learner.actor, grads, lr, ppo.max_grad_norm)
    stats = Stats(loss, jnp.stack(errors), *norms, adam.norm(grads))
    return Learner(actor, critics, actor_adam, critic_adams, beta), stats


def _critic_step(
    ppo: PPO, critic: Net, state: adam.Adam, samples: Samples, target: Array, weight: Array
) -> tuple[adam.Adam, Net, Array]:
    """One step down the weighted squared error from target [N], and that error."""
    value, inputs = networks.forward(ppo, critic, samples.obs)
    error = value[:, 0] - target
    found = networks.deltas(ppo, critic, inputs, (2 * weight * error)[:, None])
    grads = networks.gradient(ppo, inputs, found, (weight > 0).astype(jnp.float32))
    grads = jax.tree.map(lambda g, w: g + 2 * ppo.critic_l2 * w, grads, critic)
    return *adam.step(state, critic, grads, ppo.critic_lr, ppo.max_grad_norm), jnp.sum(weight * error**2)


def _actor_gradient(
    ppo: PPO, learner: Learner, samples: Samples, weight: Array, lam: Array
) -> tuple[Actor, Array, Array, tuple[Array, Array]]:
    """Gradient of the clipped loss, beta after it, the loss, and the norms of the unclipped surrogates' gradients."""
    actor = learner.actor
    log_prob, pull = _scores(ppo, actor, samples)
    ratio = jnp.exp(log_prob - samples.log_prob)
    norms = _surrogate_norms(ppo, pull, weight * ratio, samples.advantage)
    beta = scale.refresh(ppo, learner.beta, *norms) if ppo.rsi else jnp.ones_like(learner.beta)
    advantage = scale.combine(samples.advantage[:, 0], samples.advantage[:, 1:], lam, beta)
    clipped = jnp.clip(ratio, 1 - ppo.clip, 1 + ppo.clip) * advantage
    loss = -jnp.sum(weight * jnp.minimum(ratio * advantage, clipped)) - ppo.entropy * networks.entropy(actor.log_std)
    free = jnp.where(advantage > 0, ratio <= 1 + ppo.clip, ratio >= 1 - ppo.clip)
    (grads,) = pull((-weight * ratio * advantage * free)[None])
    grads = grads._replace(log_std=grads.log_std - ppo.entropy / actor.log_std.size)
    return grads, beta, loss, norms


def _scores(ppo: PPO, actor: Actor, samples: Samples) -> tuple[Array, Callable[[Array], list[Actor]]]:
    """log pi [N], and the function from weights [K, N] to the K sums of weights * grad log pi."""
    mean, inputs = networks.forward(ppo, actor.net, samples.obs)
    inverse = jnp.exp(-actor.log_std)
    scaled = (samples.action - mean) * inverse
    found = networks.deltas(ppo, actor.net, inputs, scaled * inverse)

    def pull(weights: Array) -> list[Actor]:
        nets = networks.weighted_gradients(ppo, inputs, found, weights)
        spreads = weights @ (scaled**2 - 1)
        return [Actor(*pair) for pair in zip(nets, spreads, strict=True)]

    return networks.log_prob(actor, mean, samples.action), pull


def _surrogate_norms(
    ppo: PPO, pull: Callable[[Array], list[Actor]], weight: Array, advantage: Array
) -> tuple[Array, Array]:
    """Norms of the gradients of mean(ratio * A), for the reward [] and the costs [m]; NaN where nobody needs them."""
    if not ppo.rsi:
        return jnp.full((), jnp.nan), jnp.full(advantage.shape[1] - 1, jnp.nan)
    norms = jnp.stack([adam.norm(grads) for grads in pull(weight * advantage.T)])
    return norms[0], norms[1:]
