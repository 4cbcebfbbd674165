"""One minibatch of PPO with a Lagrange multiplier, for one member; `jax.vmap` adds the members.

The gradient of any surrogate is a weighted sum of scores, sum_i w_i * grad log pi(a_i | s_i). So
the actor runs forward and back once, and each surrogate (reward, each cost, clipped) only weighs
the samples' gradients anew.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Num, Shaped

from saddle.learners import adam, scale
from saddle.learners.networks import distributions, plain
from saddle.learners.networks.backend import choose
from saddle.learners.networks.distributions import Actor, Distribution, Score
from saddle.learners.networks.plain import Net
from saddle.learners.ppo.settings import BLOCK, PPO


class PPOState(NamedTuple):
    """What learning changes. Critics: the reward's first, then one per constraint; S = 1 + m."""

    actor: Actor
    critics: tuple[Net, ...]  # S of them
    actor_adam: adam.Adam
    critic_adams: tuple[adam.Adam, ...]
    beta: Array  # [m]
    unit: Array  # [m], that bounded beta counts costs in; 0 before any cost was met


class Samples(NamedTuple):
    """N steps and what is to be learned from them. S = 1 + m signals: reward, costs."""

    obs: Shaped[Array, "..."]
    """[N, obs_dim], normalised as the policy saw them; or those as the backend is best fed."""
    action: Num[Array, "*M N action"]
    output: Float[Array, "*M N outputs"]
    """Of the actor that acted, as is log_prob."""
    log_prob: Float[Array, "*M N"]
    advantage: Float[Array, "*M N S"]
    target: Float[Array, "*M N S"]
    """Of the critics."""
    lam: Float[Array, "*M N m"]
    """The multipliers that price the costs."""
    parts: Float[Array, "*M N K"] | None = None
    """A 1 in each row, where the sample belongs. Passes stop by the KL of the part that moved
    furthest; None: by that of all samples.
    """


class Views(NamedTuple):
    """The networks as the backend takes them."""

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
    """What the network says of many samples, a block at a time, so that its layers need little
    room.

    view is the network as the backend takes it. x [N, in] -> [N, out].
    """
    count, inputs = x.shape
    block = min(count, BLOCK)
    filled = jnp.pad(x, ((0, -count % block), (0, 0)))
    blocks = filled.reshape(-1, block, inputs)

    def of_block(x: Array) -> Array:
        return choose(ppo).output(ppo, view, x)

    found = jax.lax.map(of_block, blocks)
    return found.reshape(len(filled), -1)[:count]


def init(key: Array, ppo: PPO, obs_dim: int, family: Distribution, constraints: int) -> PPOState:
    """One untrained member: an actor, a critic of the reward and one of each cost."""
    actor_key, *critic_keys = jax.random.split(key, 2 + constraints)
    actor = distributions.init_actor(actor_key, ppo, obs_dim, family, ppo.log_std)
    critics = tuple(plain.init_critic(critic_key, ppo, obs_dim) for critic_key in critic_keys)
    return PPOState(
        actor=actor,
        critics=critics,
        actor_adam=adam.init(actor),
        critic_adams=tuple(adam.init(critic) for critic in critics),
        beta=scale.start(ppo, constraints),
        unit=jnp.zeros(constraints),
    )


def split(ppo: PPO, state: PPOState) -> tuple[PPOState, tuple]:
    """The state between two minibatches: what products take of each network, after the rest of
    it.
    """
    networks = (state.actor.net, *state.critics)
    parts = [choose(ppo).split(ppo, net) for net in networks]
    remainders, held = zip(*parts, strict=True)
    return _with_networks(state, remainders), held


def join(ppo: PPO, rest: PPOState, held: tuple) -> tuple[PPOState, Views]:
    """The state that `split` took apart, and its networks' views."""
    remainders = (rest.actor.net, *rest.critics)
    wholes = [choose(ppo).join(ppo, *parts) for parts in zip(remainders, held, strict=True)]
    networks, (actor_view, *critic_views) = zip(*wholes, strict=True)
    return _with_networks(rest, networks), Views(actor_view, tuple(critic_views))


def _with_networks(state: PPOState, networks: Sequence[Net]) -> PPOState:
    """The state with other networks: the actor's, then the critics."""
    actor, *critics = networks
    return state._replace(actor=state.actor._replace(net=actor), critics=tuple(critics))


def minibatch(
    ppo: PPO,
    family: Distribution,
    state: PPOState,
    views: Views,
    samples: Samples,
    weight: Array,
    lr: Array,
) -> tuple[PPOState, Stats]:
    """One step of every network. views are the state's; weight [N] sums to 1; lr is the actor's."""
    backend = choose(ppo)
    critics = []
    critic_adams = []
    losses = []
    signals = zip(state.critics, state.critic_adams, views.critics, samples.target.T, strict=True)
    for critic, moments, view, target in signals:
        grads, error = backend.regression(ppo, view, samples.obs, target, weight)
        moments, critic = critic_step(ppo, critic, backend.weights(view), moments, grads)
        critics.append(critic)
        critic_adams.append(moments)
        losses.append(jnp.sum(weight * error**2))

    found = _actor_gradient(ppo, family, state, views.actor, samples, weight)
    actor_adam, actor = adam.step(state.actor_adam, state.actor, found.grads, lr, ppo.max_grad_norm)
    after = PPOState(actor, tuple(critics), actor_adam, tuple(critic_adams), found.beta, state.unit)
    stats = Stats(
        loss_pi=found.loss,
        loss_v=jnp.stack(losses),
        grad_r=found.norms.reward,
        grad_c=found.norms.costs,
        grad_pi=adam.norm(found.grads),
    )
    return after, stats


def critic_step(
    ppo: PPO, critic: Net, rounded: Net, moments: adam.Adam, grads: Net
) -> tuple[adam.Adam, Net]:
    """One step down the weighted squared error, whose gradient grads is, and the weights' own
    squares.

    The norm, which only says how much to clip, is taken with the weights as products take them:
    less to read.
    """

    def penalised(net: Net) -> Net:
        return jax.tree.map(lambda g, w: g + 2 * ppo.critic_l2 * w, grads, net)

    size = adam.norm(penalised(rounded))
    return adam.step(moments, critic, penalised(critic), ppo.critic_lr, ppo.max_grad_norm, size)


class _Norms(NamedTuple):
    """Of the gradients of mean(ratio * A), NaN where nobody needs them."""

    reward: Array  # []
    costs: Array  # [m]


class _ActorGradient(NamedTuple):
    """What a minibatch says of the actor."""

    grads: Actor  # of the clipped loss
    loss: Array  # []
    beta: Array  # [m], after the minibatch
    norms: _Norms  # of the surrogates that are not clipped


def _actor_gradient(
    ppo: PPO,
    family: Distribution,
    state: PPOState,
    view: Any,
    samples: Samples,
    weight: Array,
) -> _ActorGradient:
    """Forward and back once, then the samples' gradients weighed for each surrogate."""
    log_std = state.actor.log_std
    scores = _scores(ppo, family, state.actor, view, samples)
    ratio = jnp.exp(scores.log_prob - samples.log_prob)
    norms, deltas = _surrogate_norms(ppo, view, scores, weight * ratio, samples.advantage)
    if ppo.rsi == "off":
        beta = jnp.ones_like(state.beta)
    else:
        beta = scale.refreshed(ppo, state.beta, norms.reward, norms.costs)
    weigh = _apart if ppo.clip_apart else _combined
    reward_advantage = samples.advantage[:, 0]
    cost_advantages = samples.advantage[:, 1:]
    advantages = weigh(reward_advantage, cost_advantages, samples.lam, beta)  # [O, N]

    low = 1 - ppo.clip
    high = 1 + ppo.clip
    clipped = jnp.clip(ratio, low, high) * advantages
    surrogate = jnp.sum(weight * jnp.minimum(ratio * advantages, clipped))
    loss = -surrogate - ppo.entropy * family.entropy(scores.output, log_std)

    free = jnp.where(advantages > 0, ratio <= high, ratio >= low)
    # [N], of each sample's score in the loss's gradient
    pull = -weight * ratio * jnp.sum(advantages * free, 0)
    (net,) = choose(ppo).weighted_gradients(ppo, view, scores.trace, deltas, pull[None])
    bonus = _entropy_gradient(ppo, family, view, scores, log_std, weight)
    if bonus.net is not None:
        net = jax.tree.map(lambda loss, bonus: loss - ppo.entropy * bonus, net, bonus.net)
    spread = pull @ scores.slope.log_std - ppo.entropy * bonus.log_std
    return _ActorGradient(Actor(net, spread), loss, beta, norms)


def _combined(reward_adv: Array, cost_adv: Array, lam: Array, beta: Array) -> Array:
    """(A_r - sum lambda beta A_c) / (1 + sum lambda), each sample at its own multipliers: the one
    objective that is clipped.

    reward_adv [N], cost_adv and lam [N, m], beta [m] -> [1, N].
    """
    priced = jnp.sum(cost_adv * (lam * beta), -1)
    objective = (reward_adv - priced) / (1 + lam.sum(-1))
    return objective[None]


def _apart(reward_adv: Array, cost_adv: Array, lam: Array, beta: Array) -> Array:
    """The terms of `_combined` [1 + m, N]: as many objectives, each of which is clipped."""
    terms = jnp.concatenate([reward_adv[:, None], -cost_adv * (lam * beta)], -1)
    objectives = terms / (1 + lam.sum(-1, keepdims=True))
    return objectives.T


class _Scores(NamedTuple):
    """What grad log pi of every sample is made of."""

    output: Array  # [N, outputs], of the network
    log_prob: Array  # [N], log pi
    trace: Any  # of the network's forward pass
    slope: Score


def _scores(ppo: PPO, family: Distribution, actor: Actor, view: Any, samples: Samples) -> _Scores:
    output, trace = choose(ppo).forward(ppo, view, samples.obs)
    return _Scores(
        output=output,
        log_prob=family.log_prob(output, actor.log_std, samples.action),
        trace=trace,
        slope=family.score(output, actor.log_std, samples.action),
    )


class _Bonus(NamedTuple):
    """The gradient of the policy's entropy."""

    net: Net | None  # None where nobody needs it
    log_std: Array


def _entropy_gradient(
    ppo: PPO, family: Distribution, view: Any, scores: _Scores, log_std: Array, weight: Array
) -> _Bonus:
    output_slope, log_std_slope = family.entropy_slope(scores.output, log_std)
    if ppo.entropy == 0 or output_slope is None:
        return _Bonus(None, log_std_slope)
    deltas = choose(ppo).deltas(ppo, view, scores.trace, output_slope)
    (net,) = choose(ppo).weighted_gradients(ppo, view, scores.trace, deltas, weight[None])
    return _Bonus(net, log_std_slope)


def _surrogate_norms(
    ppo: PPO, view: Any, scores: _Scores, weight: Array, advantage: Array
) -> tuple[_Norms, Any]:
    """The norms, and the samples' own gradients, not yet weighted. weight [N], the ratio in it;
    advantage [N, S].
    """
    backend = choose(ppo)
    slope = scores.slope
    if ppo.rsi == "off":
        constraints = advantage.shape[1] - 1
        unknown = _Norms(jnp.full((), jnp.nan), jnp.full(constraints, jnp.nan))
        return unknown, backend.deltas(ppo, view, scores.trace, slope.output)
    weights = weight * advantage.T
    squares, deltas = backend.weighted_squares(ppo, view, scores.trace, slope.output, weights)
    of_log_std = weights @ slope.log_std
    norms = jnp.sqrt(squares + jnp.sum(of_log_std**2, 1))
    return _Norms(norms[0], norms[1:]), deltas
