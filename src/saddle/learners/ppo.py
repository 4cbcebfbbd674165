"""One minibatch of PPO with a Lagrange multiplier, for one member; `jax.vmap` adds the members.

The gradient of any surrogate is a weighted sum of scores, sum_i w_i * grad log pi(a_i | s_i). So the actor runs forward
and back once, and each surrogate (reward, each cost, clipped) only weighs the samples' gradients anew.
"""

from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.config import PPO
from saddle.learners import adam, fused, networks, scale
from saddle.learners.networks import Actor, Net

BLOCK = 4096  # samples that a network judges at a time, outside a minibatch


class Learner(NamedTuple):
    """What learning changes. Critics: the reward's first, then one per constraint; S = 1 + m."""

    actor: Actor
    critics: tuple[Net, ...]  # S of them
    actor_adam: adam.Adam
    critic_adams: tuple[adam.Adam, ...]
    beta: Array  # [m]


class Samples(NamedTuple):
    """N steps and what is to be learned from them. S = 1 + m signals: reward, costs."""

    obs: Array  # [N, obs_dim], normalised as the policy saw them; or those as `nets` is best fed
    action: Array  # [N, action_dim]
    mean: Array  # [N, action_dim], of the policy that acted
    log_prob: Array  # [N], likewise
    advantage: Array  # [N, S]
    target: Array  # [N, S], of the critics


class Views(NamedTuple):
    """The networks as `nets` takes them."""

    actor: Any
    critics: tuple[Any, ...]


class Stats(NamedTuple):
    """Of one minibatch."""

    loss_pi: Array  # []
    loss_v: Array  # [S], squared error
    grad_r: Array  # [], norm of the reward surrogate's gradient
    grad_c: Array  # [m], norms of the cost surrogates' gradients
    grad_pi: Array  # [], norm of the clipped loss's gradient


def outputs(ppo: PPO, view: Any, x: Array) -> Array:
    """What the network says of many samples, a block at a time, so that its layers need little room.

    view is the network as `nets` takes it. x [N, in] -> [N, out].
    """
    count, inputs = x.shape
    block = min(count, BLOCK)
    blocks = jnp.pad(x, ((0, -count % block), (0, 0))).reshape(-1, block, inputs)
    return jax.lax.map(lambda x: nets(ppo).output(ppo, view, x), blocks).reshape(blocks.size // inputs, -1)[:count]


def init(key: Array, ppo: PPO, obs_dim: int, action_dim: int, m: int) -> Learner:
    """An untrained learner."""
    actor_key, *critic_keys = jax.random.split(key, 2 + m)
    actor = networks.init_actor(actor_key, ppo, obs_dim, action_dim)
    critics = tuple(networks.init_critic(k, ppo, obs_dim) for k in critic_keys)
    return Learner(actor, critics, adam.init(actor), tuple(map(adam.init, critics)), scale.start(m))


def apart(ppo: PPO, learner: Learner) -> tuple[Learner, tuple]:
    """The learner between two minibatches: what products take of each network, after the rest of it."""
    parts = [nets(ppo).apart(ppo, net) for net in (learner.actor.net, *learner.critics)]
    (actor, *critics), held = zip(*parts, strict=True)
    return learner._replace(actor=learner.actor._replace(net=actor), critics=tuple(critics)), held


def together(ppo: PPO, rest: Learner, held: tuple) -> tuple[Learner, Views]:
    """The learner that `apart` took apart, and its views."""
    wholes = [nets(ppo).together(ppo, *parts) for parts in zip((rest.actor.net, *rest.critics), held, strict=True)]
    (actor, *critics), (seen, *others) = zip(*wholes, strict=True)
    learner = rest._replace(actor=rest.actor._replace(net=actor), critics=tuple(critics))
    return learner, Views(seen, tuple(others))


def minibatch(
    ppo: PPO, learner: Learner, seen: Views, samples: Samples, weight: Array, lam: Array, lr: Array
) -> tuple[Learner, Stats]:
    """One step of every network. seen is the learner's; weight [N] sums to 1; lam [m]; lr is the actor's."""
    judged = [
        nets(ppo).regression(ppo, view, samples.obs, target, weight)
        for view, target in zip(seen.critics, samples.target.T, strict=True)
    ]
    steps = [
        critic_step(ppo, critic, nets(ppo).weights(view), state, grads)
        for critic, view, state, (grads, _) in zip(
            learner.critics, seen.critics, learner.critic_adams, judged, strict=True
        )
    ]
    critic_adams, critics = zip(*steps, strict=True)
    losses = [jnp.sum(weight * error**2) for _, error in judged]
    grads, beta, loss, norms = _actor_gradient(ppo, learner, seen.actor, samples, weight, lam)
    actor_adam, actor = adam.step(learner.actor_adam, learner.actor, grads, lr, ppo.max_grad_norm)
    stats = Stats(loss, jnp.stack(losses), *norms, adam.norm(grads))
    return Learner(actor, critics, actor_adam, critic_adams, beta), stats


def nets(ppo: PPO) -> ModuleType:
    """Where the functions of networks are: in `fused` where that works, else in `networks`."""
    return fused if fused.fits(ppo) else networks


def critic_step(ppo: PPO, critic: Net, rounded: Net, state: adam.Adam, grads: Net) -> tuple[adam.Adam, Net]:
    """One step down the weighted squared error, whose gradient grads is, and the weights' own squares.

    The norm, which only says how much to clip, is taken with the weights as products take them: less to read.
    """
    penalised = lambda net: jax.tree.map(lambda g, w: g + 2 * ppo.critic_l2 * w, grads, net)
    size = adam.norm(penalised(rounded))
    return adam.step(state, critic, penalised(critic), ppo.critic_lr, ppo.max_grad_norm, size)


def _actor_gradient(
    ppo: PPO, learner: Learner, view: Any, samples: Samples, weight: Array, lam: Array
) -> tuple[Actor, Array, Array, tuple[Array, Array]]:
    """Gradient of the clipped loss, beta after it, the loss, and the norms of the unclipped surrogates' gradients."""
    actor, how = learner.actor, nets(ppo)
    scores = _scores(ppo, actor, view, samples)
    ratio = jnp.exp(scores.log_prob - samples.log_prob)
    norms, found = _surrogate_norms(ppo, view, scores, weight * ratio, samples.advantage)
    beta = scale.refresh(ppo, learner.beta, *norms) if ppo.rsi else jnp.ones_like(learner.beta)
    advantage = scale.combine(samples.advantage[:, 0], samples.advantage[:, 1:], lam, beta)
    clipped = jnp.clip(ratio, 1 - ppo.clip, 1 + ppo.clip) * advantage
    loss = -jnp.sum(weight * jnp.minimum(ratio * advantage, clipped)) - ppo.entropy * networks.entropy(actor.log_std)
    free = jnp.where(advantage > 0, ratio <= 1 + ppo.clip, ratio >= 1 - ppo.clip)
    pull = -weight * ratio * advantage * free
    (net,) = how.weighted_gradients(ppo, view, scores.trace, found, pull[None])
    return Actor(net, pull @ scores.spread - ppo.entropy / actor.log_std.size), beta, loss, norms


class _Scores(NamedTuple):
    """What grad log pi of every sample is made of."""

    log_prob: Array  # [N], log pi
    trace: Any  # of the network's way forward
    last: Array  # [N, action_dim], d log pi / d mean
    spread: Array  # [N, action_dim], d log pi / d log_std


def _scores(ppo: PPO, actor: Actor, view: Any, samples: Samples) -> _Scores:
    mean, trace = nets(ppo).forward(ppo, view, samples.obs)
    inverse = jnp.exp(-actor.log_std)
    scaled = (samples.action - mean) * inverse
    return _Scores(networks.log_prob(actor, mean, samples.action), trace, scaled * inverse, scaled**2 - 1)


def _surrogate_norms(
    ppo: PPO, view: Any, scores: _Scores, weight: Array, advantage: Array
) -> tuple[tuple[Array, Array], Any]:
    """Norms of the gradients of mean(ratio * A), for the reward [] and the costs [m]; NaN where nobody needs them.

    And the samples' own gradients, not yet weighted.
    """
    how = nets(ppo)
    if not ppo.rsi:
        none = jnp.full((), jnp.nan), jnp.full(advantage.shape[1] - 1, jnp.nan)
        return none, how.deltas(ppo, view, scores.trace, scores.last)
    weights = weight * advantage.T
    net, found = how.weighted_squares(ppo, view, scores.trace, scores.last, weights)
    norms = jnp.sqrt(net + jnp.sum((weights @ scores.spread) ** 2, 1))
    return (norms[0], norms[1:]), found
