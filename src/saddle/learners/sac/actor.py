"""One step of the actor of one member, and of its temperature. N observations, m constraints."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.learners import adam, scale
from saddle.learners.networks import plain
from saddle.learners.networks.plain import Net
from saddle.learners.sac.actions import Actions
from saddle.learners.sac.draws import Draws
from saddle.learners.sac.networks import Networks, cautious, temperature, values
from saddle.learners.sac.settings import SAC


class ActorStats(NamedTuple):
    """Of the actor's part. NaN where it had none; norms also where nobody looked at them."""

    loss_pi: Array  # []
    entropy: Array  # [], mean of -log pi
    std: Array  # [], mean standard deviation before the tanh; NaN of choices
    alpha: Array  # [], after the update
    beta: Array  # [m]
    grad_r: Array  # [], norm of the reward loss's gradient
    grad_c: Array  # [m], norms of the cost losses' gradients
    grad_pi: Array  # [], norm of the loss's gradient
    sound: Array  # [] bool


def no_stats(m: int) -> ActorStats:
    """Of an update without an actor's part."""
    nothing = jnp.full((), jnp.nan)
    each = jnp.full(m, jnp.nan)
    return ActorStats(
        loss_pi=nothing,
        entropy=nothing,
        std=nothing,
        alpha=nothing,
        beta=each,
        grad_r=nothing,
        grad_c=each,
        grad_pi=nothing,
        sound=jnp.ones((), bool),
    )


class Losses(NamedTuple):
    """Of the actor, for a batch of observations and a draw of actions."""

    reward: Array  # [], the entropy included
    costs: Array  # [m]
    log_prob: Array  # [], mean
    std: Array  # [], mean, before the tanh; NaN of choices


def losses(
    sac: SAC, actions: Actions, networks: Networks, actor: Net, obs: Array, noise: Array
) -> Losses:
    """What this actor is to lower. obs [N, obs_dim], noise [N, numbers]."""
    output = plain.output(sac, actor, obs)
    outlook = actions.outlook(output, noise)

    def said(critic: Net) -> Array:
        return values(sac, actions, critic, obs, outlook.action)

    first, second = (said(twin) for twin in networks.critics.reward)
    soft = jnp.minimum(first, second) - temperature(sac, networks) * outlook.log_prob
    costs = []
    for ensemble in networks.critics.costs:
        cost = cautious(sac, jnp.stack([said(critic) for critic in ensemble]))
        costs.append(outlook.mean(cost).mean())
    return Losses(
        reward=-outlook.mean(soft).mean(),
        costs=jnp.stack(costs),
        log_prob=outlook.mean(outlook.log_prob).mean(),
        std=actions.spread(output),
    )


def gradient_norms(
    sac: SAC, actions: Actions, networks: Networks, obs: Array, noise: Array
) -> tuple[Array, Array]:
    """Norms over all parameters of the actor: of the reward loss's gradient [], and of the cost
    losses' [m].
    """

    def each(actor: Net) -> Array:
        found = losses(sac, actions, networks, actor, obs, noise)
        return jnp.concatenate([found.reward[None], found.costs])

    _, back = jax.vjp(each, networks.actor)
    rows = jnp.eye(1 + networks.beta.shape[0])
    norms = jnp.stack([adam.norm(back(row)[0]) for row in rows])
    return norms[0], norms[1:]


def step(
    sac: SAC,
    actions: Actions,
    networks: Networks,
    obs: Array,
    lam: Array,
    drawn: Draws,
    looks: Array,
) -> tuple[Networks, ActorStats]:
    """One step of the actor, and of its temperature. looks []: whether beta is refreshed first."""
    networks, grad_r, grad_c = _rescaled(sac, actions, networks, obs, drawn, looks)

    def loss(actor: Net) -> tuple[Array, Losses]:
        found = losses(sac, actions, networks, actor, obs, drawn.actor)
        priced = found.reward + jnp.sum(lam * networks.beta * found.costs)
        return priced / (1 + lam.sum()), found

    (total, parts), grads = jax.value_and_grad(loss, has_aux=True)(networks.actor)
    size = adam.norm(grads)
    actor_adam, actor = adam.step(
        networks.actor_adam, networks.actor, grads, sac.actor_lr, sac.max_grad_norm, size
    )
    networks = networks._replace(actor=actor, actor_adam=actor_adam)
    if sac.tune_alpha:
        networks = _warmer(sac, actions, networks, obs, drawn.alpha)
    stats = ActorStats(
        loss_pi=total,
        entropy=-parts.log_prob,
        std=parts.std,
        alpha=temperature(sac, networks),
        beta=networks.beta,
        grad_r=grad_r,
        grad_c=grad_c,
        grad_pi=size,
        sound=jnp.isfinite(size) & jnp.isfinite(networks.log_alpha),
    )
    return networks, stats


def _rescaled(
    sac: SAC, actions: Actions, networks: Networks, obs: Array, drawn: Draws, looks: Array
) -> tuple[Networks, Array, Array]:
    """Networks whose beta has had a look at the gradients if one is due, and the norms that it
    found.
    """
    m = networks.beta.shape[0]
    nothing = (jnp.full((), jnp.nan), jnp.full(m, jnp.nan))
    if sac.rsi == "off":
        return networks, *nothing

    def look(beta: Array) -> tuple[Array, Array, Array]:
        norms = gradient_norms(sac, actions, networks, obs[drawn.places], drawn.look)
        return scale.refreshed(sac, beta, *norms), *norms

    beta, grad_r, grad_c = jax.lax.cond(looks, look, lambda beta: (beta, *nothing), networks.beta)
    return networks._replace(beta=beta), grad_r, grad_c


def _warmer(sac: SAC, actions: Actions, networks: Networks, obs: Array, noise: Array) -> Networks:
    """With a temperature that has taken a step, by a draw from the new actor."""
    outlook = actions.outlook(plain.output(sac, networks.actor, obs), noise)
    entropy = -outlook.mean(outlook.log_prob).mean()
    slope = entropy - actions.wanted_entropy  # of log alpha * (entropy - the wanted one)
    alpha_adam, log_alpha = adam.step(
        networks.alpha_adam, networks.log_alpha, slope, sac.critic_lr, jnp.inf
    )
    return networks._replace(alpha_adam=alpha_adam, log_alpha=log_alpha)
