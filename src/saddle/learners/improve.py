"""An epoch's passes over its samples, for a whole population: each member stops by its own KL.

Where a population is more than a chunk, members that stopped cost nothing: before each pass the others are gathered
into chunks, and only as many chunks run as are needed. A chunk is small enough to fit and large enough to keep a GPU
busy.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.config import PPO
from saddle.learners import adam, networks
from saddle.learners import ppo as one
from saddle.learners.ppo import Learner, Samples, Stats


class Improvement(NamedTuple):
    """What the passes did, per member [M, ...]."""

    learner: Learner
    stats: Stats  # means over the member's last pass
    kl: Array  # [M], after the last pass
    passes: Array  # [M] int32


class _Progress(NamedTuple):
    """As an Improvement, with the learner apart."""

    learner: Learner
    held: tuple
    stats: Stats
    kl: Array
    passes: Array


class _Inputs(NamedTuple):
    samples: Samples  # [M, N, ...]
    log_std: Array  # [M, action_dim], of the policy that acted
    lam: Array  # [M, m]
    key: Array  # [M]


def improve(
    ppo: PPO, learner: Learner, samples: Samples, lam: Array, keys: Array, lr: Array, active: Array, chunk: int
) -> Improvement:
    """Passes until every active member has stopped. samples [M, N, ...], lam [M, m], keys [M], active [M] bool."""
    members = active.shape[0]
    chunk = -(-members // -(-members // chunk))  # as few chunks, but even ones: no places to fill up
    samples = samples._replace(obs=jax.vmap(functools.partial(one.nets(ppo).fed, ppo))(samples.obs))
    inputs = _Inputs(samples, learner.actor.log_std, lam, keys)
    apart = jax.vmap(functools.partial(one.apart, ppo))(_moments(ppo, learner))
    stats, kl, passes = _no_stats(members, lam.shape[1]), jnp.zeros(members), jnp.zeros(members, jnp.int32)
    start = _Progress(*apart, stats, kl, passes)

    def some_left(carry: tuple[_Progress, Array, Array]) -> Array:
        _, active, done = carry
        return (done < ppo.passes) & active.any()

    def next_pass(carry: tuple[_Progress, Array, Array]) -> tuple[_Progress, Array, Array]:
        so_far, active, done = carry
        so_far = _pass(ppo, so_far, inputs, lr, active, done, chunk)
        return so_far, active & (so_far.kl <= ppo.target_kl), done + 1

    done = jax.lax.while_loop(some_left, next_pass, (start, active, jnp.zeros((), jnp.int32)))[0]
    after, _ = jax.vmap(functools.partial(one.together, ppo))(done.learner, done.held)
    after = jax.tree.map(lambda new, old: new.astype(old.dtype), after, learner)
    return Improvement(after, done.stats, done.kl, done.passes)


def _moments(ppo: PPO, learner: Learner) -> Learner:
    """In bf16, with Adam's first moments 16 bits wide for as long as the passes last: less for memory to carry."""
    if ppo.precision != "bf16":
        return learner
    narrow = lambda state: adam.narrow(state, jnp.bfloat16)
    return learner._replace(
        actor_adam=narrow(learner.actor_adam), critic_adams=tuple(map(narrow, learner.critic_adams))
    )


def _pass(ppo: PPO, so_far: _Progress, inputs: _Inputs, lr: Array, active: Array, done: Array, chunk: int) -> _Progress:
    """One pass of the active members, chunk by chunk. Places beyond the last member are read as any, never written."""
    members = active.shape[0]
    run = jax.vmap(functools.partial(_member_pass, ppo), (0, 0, 0, None, None))
    if chunk == members:
        return run(so_far, inputs, active, lr, done)
    order = jnp.argsort(~active, stable=True)
    order = jnp.concatenate([order, jnp.full(-members % chunk, members)])

    def one_chunk(i: Array, so_far: _Progress) -> _Progress:
        places = jax.lax.dynamic_slice(order, (i * chunk,), (chunk,))
        take = lambda tree: jax.tree.map(lambda leaf: leaf.at[places].get(mode="clip"), tree)
        after = run(take(so_far), take(inputs), take(active), lr, done)
        return jax.tree.map(lambda old, new: old.at[places].set(new, mode="drop"), so_far, after)

    chunks = -(-jnp.sum(active) // chunk)
    return jax.lax.fori_loop(0, chunks, one_chunk, so_far)


def _member_pass(ppo: PPO, so_far: _Progress, inputs: _Inputs, active: Array, lr: Array, done: Array) -> _Progress:
    """One shuffled pass of one member over its samples [N, ...], and the KL after it. Who is not active stays as is.

    Each step decides on that anew: where Adam writes a number, it has the old one at hand.
    """
    samples = inputs.samples
    keep = functools.partial(jax.tree.map, lambda new, old: jnp.where(active, new, old))
    count = samples.obs.shape[0]
    batch = min(ppo.batch, count)
    steps = -(-count // batch)
    order = jnp.argsort(jax.random.bits(jax.random.fold_in(inputs.key, done), (count,)))  # permutation sorts twice
    order = jnp.concatenate([order, jnp.zeros(steps * batch - count, order.dtype)]).reshape(steps, batch)
    real = (jnp.arange(steps * batch) < count).reshape(steps, batch)

    def step(carry: tuple[Learner, tuple], x: tuple[Array, Array]) -> tuple[tuple[Learner, tuple], Stats]:
        (learner, seen), (rows, real) = one.together(ppo, *carry), x
        mine = jax.tree.map(lambda leaf: leaf[rows], samples)
        after, stats = one.minibatch(ppo, learner, seen, mine, real / real.sum(), inputs.lam, lr)
        return one.apart(ppo, keep(after, learner)), stats

    apart, stats = jax.lax.scan(step, (so_far.learner, so_far.held), (order, real))
    learner, seen = one.together(ppo, *apart)
    mean = one.outputs(ppo, seen.actor, samples.obs)
    kl = networks.kl(samples.mean, inputs.log_std, mean, learner.actor.log_std).mean()
    stats = jax.tree.map(lambda s: s.mean(0), stats)
    return _Progress(*apart, *keep((stats, kl, done + 1), so_far[2:]))


def _no_stats(members: int, m: int) -> Stats:
    zeros = lambda *shape: jnp.zeros((members, *shape))
    return Stats(zeros(), zeros(1 + m), zeros(), zeros(m), zeros())
