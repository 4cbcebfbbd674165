"""An epoch's passes over its samples, for a whole population: each member stops by its own KL.

Members that stopped cost nothing: before each pass the others are gathered into groups (`groups`),
unless so many are left that it is cheaper to take them all as they lie.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.learners import adam
from saddle.learners.networks.backend import choose
from saddle.learners.networks.distributions import Distribution
from saddle.learners.ppo import groups, minibatch
from saddle.learners.ppo.minibatch import PPOState, Samples, Stats
from saddle.learners.ppo.settings import PPO


class Improvement(NamedTuple):
    """What the passes did, per member [M, ...]."""

    state: PPOState
    stats: Stats  # means over the member's last pass
    kl: Array  # [M], after the last pass
    entropy: Array  # [M], likewise
    passes: Array  # [M] int32


class _Progress(NamedTuple):
    """As an Improvement, with the networks split between two minibatches (`minibatch.split`)."""

    rest: PPOState
    held: tuple
    stats: Stats
    kl: Array
    entropy: Array
    passes: Array


class _Inputs(NamedTuple):
    """What a pass reads, per member [M, ...]."""

    samples: Samples  # [M, N, ...]
    log_std: Array  # [M, action_dim], of the policy that acted
    key: Array  # [M]


def improve(
    ppo: PPO,
    family: Distribution,
    state: PPOState,
    samples: Samples,
    keys: Array,
    lr: Array,
    active: Array,
    most: Array,
    sizes: tuple[int, ...],
) -> Improvement:
    """Passes until every active member has stopped. samples [M, N, ...], keys [M], active [M]
    bool, most [M]: passes that each may take; sizes of the groups that take them together.
    """
    members = active.shape[0]
    feed = functools.partial(choose(ppo).fed, ppo)
    samples = samples._replace(obs=jax.vmap(feed)(samples.obs))
    inputs = _Inputs(samples, state.actor.log_std, keys)
    rest, held = jax.vmap(functools.partial(minibatch.split, ppo))(_with_narrow_moments(ppo, state))
    start = _Progress(
        rest=rest,
        held=held,
        stats=_no_stats(members, constraints=samples.lam.shape[-1]),
        kl=jnp.zeros(members),
        entropy=jnp.zeros(members),
        passes=jnp.zeros(members, jnp.int32),
    )

    def some_left(carry: tuple[_Progress, Array, Array]) -> Array:
        _, active, _ = carry
        return active.any()

    def next_pass(carry: tuple[_Progress, Array, Array]) -> tuple[_Progress, Array, Array]:
        so_far, active, passes = carry
        so_far = _pass(ppo, family, so_far, inputs, lr, active, passes, sizes)
        near = so_far.kl <= ppo.target_kl
        return so_far, active & near & (passes + 1 < most), passes + 1

    none_yet = jnp.zeros((), jnp.int32)
    done, _, _ = jax.lax.while_loop(some_left, next_pass, (start, active & (most > 0), none_yet))
    after, _ = jax.vmap(functools.partial(minibatch.join, ppo))(done.rest, done.held)
    after = jax.tree.map(lambda new, old: new.astype(old.dtype), after, state)
    return Improvement(after, done.stats, done.kl, done.entropy, done.passes)


def _with_narrow_moments(ppo: PPO, state: PPOState) -> PPOState:
    """In bf16, with Adam's first moments 16 bits wide for as long as the passes last: less for
    memory to carry.
    """
    if ppo.precision != "bf16":
        return state
    critic_adams = tuple(adam.narrow(own, jnp.bfloat16) for own in state.critic_adams)
    return state._replace(
        actor_adam=adam.narrow(state.actor_adam, jnp.bfloat16), critic_adams=critic_adams
    )


def _no_stats(members: int, constraints: int) -> Stats:
    """Of members that have taken no pass."""
    return Stats(
        loss_pi=jnp.zeros(members),
        loss_v=jnp.zeros((members, 1 + constraints)),
        grad_r=jnp.zeros(members),
        grad_c=jnp.zeros((members, constraints)),
        grad_pi=jnp.zeros(members),
    )


def _pass(
    ppo: PPO,
    family: Distribution,
    so_far: _Progress,
    inputs: _Inputs,
    lr: Array,
    active: Array,
    passes: Array,
    sizes: tuple[int, ...],
) -> _Progress:
    """One pass of the active members, group by group. Places beyond the last member are read as
    any, never written.
    """
    members = active.shape[0]
    run = jax.vmap(functools.partial(_member_pass, ppo, family), (0, 0, 0, None, None))
    if sizes == (members,):
        return run(so_far, inputs, active, lr, passes)

    order = jnp.argsort(~active, stable=True)
    order = jnp.concatenate([order, jnp.full(max(sizes), members)])
    counts = jnp.asarray(groups.plan(sizes, members))[active.sum()]

    def everyone(_: Array, so_far: _Progress) -> _Progress:
        return run(so_far, inputs, active, lr, passes)

    def one_group(size: int, first: Array, i: Array, so_far: _Progress) -> _Progress:
        places = jax.lax.dynamic_slice(order, (first + i * size,), (size,))

        def take(tree: Any) -> Any:
            return jax.tree.map(lambda leaf: leaf.at[places].get(mode="clip"), tree)

        after = run(take(so_far), take(inputs), take(active), lr, passes)
        return jax.tree.map(lambda old, new: old.at[places].set(new, mode="drop"), so_far, after)

    first = jnp.zeros((), counts.dtype)
    for size, count in zip(sizes, counts, strict=True):
        body = everyone if size == members else functools.partial(one_group, size, first)
        so_far = jax.lax.fori_loop(0, count, body, so_far)
        first = first + count * size
    return so_far


def _member_pass(
    ppo: PPO,
    family: Distribution,
    so_far: _Progress,
    inputs: _Inputs,
    active: Array,
    lr: Array,
    passes: Array,
) -> _Progress:
    """One shuffled pass of one member over its samples [N, ...], and the KL after it. Who is not
    active stays as is.

    Each step decides on that anew: where Adam writes a number, it has the old one at hand.
    """
    samples = inputs.samples
    rows, real = _minibatches(ppo, samples.obs.shape[0], jax.random.fold_in(inputs.key, passes))

    def keep(new: Any, old: Any) -> Any:
        return jax.tree.map(lambda new, old: jnp.where(active, new, old), new, old)

    def step(
        before: tuple[PPOState, tuple], drawn: tuple[Array, Array]
    ) -> tuple[tuple[PPOState, tuple], Stats]:
        rows, real = drawn
        state, views = minibatch.join(ppo, *before)
        some = jax.tree.map(lambda leaf: leaf[rows], samples)
        weight = real / real.sum()
        after, stats = minibatch.minibatch(ppo, family, state, views, some, weight, lr)
        return minibatch.split(ppo, keep(after, state)), stats

    (rest, held), stats = jax.lax.scan(step, (so_far.rest, so_far.held), (rows, real))
    state, views = minibatch.join(ppo, rest, held)
    output = minibatch.outputs(ppo, views.actor, samples.obs)
    log_std = state.actor.log_std
    moved = family.kl(samples.output, inputs.log_std, output, log_std)
    kl = furthest(moved, samples.parts)
    entropy = family.entropy(output, log_std)
    stats = jax.tree.map(lambda s: s.mean(0), stats)
    before = (so_far.stats, so_far.kl, so_far.entropy, so_far.passes)
    report = keep((stats, kl, entropy, passes + 1), before)
    return _Progress(rest, held, *report)


def furthest(kl: Array, parts: Array | None) -> Array:
    """The mean of samples' KL [N], or with parts [N, K] that of the part where it is largest."""
    if parts is None:
        return kl.mean()
    sums = jnp.dot(kl, parts, precision="highest")
    means = sums / jnp.maximum(parts.sum(0), 1)
    return means.max()


def _minibatches(ppo: PPO, count: int, key: Array) -> tuple[Array, Array]:
    """Samples 0 to count - 1, shuffled: their places [steps, batch], and which of these are real
    [steps, batch] bool.

    The last minibatch is filled up with places that are not.
    """
    batch = min(ppo.batch, count)
    steps = -(-count // batch)
    places = steps * batch
    order = jnp.argsort(jax.random.bits(key, (count,)))  # jax.random.permutation sorts twice
    order = jnp.concatenate([order, jnp.zeros(places - count, order.dtype)])
    real = jnp.arange(places) < count
    return order.reshape(steps, batch), real.reshape(steps, batch)
