"""Rollouts of a population: on the device, as a scan over a JAX task, or on the host, as a loop over its worlds.

Axes: T steps, M members, W worlds per member. Physics sees one flat batch of M * W worlds; networks and statistics are
vmapped over members. A member's random numbers come from its own key alone.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.config import PPO
from saddle.learners import networks, normalise
from saddle.learners.networks import Actor
from saddle.learners.normalise import Moments
from saddle.tasks import Task, autoreset
from saddle.tasks.host import HostWorlds

RESET, ACT = 0, 1  # what a member's epoch key is folded with


class Acted(NamedTuple):
    """Of one step [M, W, ...]: the first fields of a Rollout."""

    obs: Array
    next_obs: Array
    action: Array
    mean: Array
    log_prob: Array


class Rollout(NamedTuple):
    """What T steps produced."""

    obs: Array  # [T, M, W, obs_dim], normalised as the policy saw them
    next_obs: Array  # [T, M, W, obs_dim], normalised, before any reset
    action: Array  # [T, M, W, action_dim]
    mean: Array  # [T, M, W, action_dim], of the policy
    log_prob: Array  # [T, M, W]
    signal: Array  # [T, M, W, 1 + m]: reward, costs
    terminated: Array  # [T, M, W] bool
    ended: Array  # [T, M, W] bool: terminated or truncated
    finished: Array  # [T, M, W, 2 + m]: return, length, costs of the episode so far
    counted: Array  # [T, M, W] bool: an episode ended here that began at a reset
    diverged: Array | None = None  # [T, M, W] bool: the physics broke down; None where a task does not tell


class Worlds(NamedTuple):
    """Worlds between two epochs."""

    state: Any  # State [M * W] of a JAX task, or a dict of arrays that HostWorlds saved
    seen: Array  # [M, W, obs_dim], the normalised observation to act on
    totals: Array  # [M, W, 2 + m], of the running episodes
    whole: Array  # [M, W] bool: the running episode began at a reset


def look(ppo: PPO, moments: Moments, recent: Moments, obs: Array, final: Array, ended: Array) -> tuple:
    """Take in what the worlds show and normalise it: one member. obs, final [W, obs_dim], ended [W].

    Moments of this epoch are kept apart until its end: adding a few samples to tens of millions loses digits.
    """
    if not ppo.obs_norm:
        return recent, obs, final
    batch = jnp.concatenate([obs, final])
    recent = normalise.merge(recent, normalise.of(batch, jnp.concatenate([jnp.ones_like(ended), ended])))
    both = normalise.merge(moments, recent)
    return recent, normalise.apply(both, obs, ppo.obs_clip), normalise.apply(both, final, ppo.obs_clip)


def act(ppo: PPO, actor: Actor, seen: Array, key: Array, t: Array) -> tuple[Array, Array, Array]:
    """Action, mean and log-probability of one member at step t. seen [W, obs_dim]."""
    mean = networks.mean(ppo, actor, seen)
    noise = jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, ACT), t), mean.shape)
    action = mean + jnp.exp(actor.log_std) * noise
    return action, mean, networks.log_prob(actor, mean, action)


def first_keys(keys: Array, worlds: int) -> Array:
    """One key per world, from the members' keys [M] -> [M * W]."""
    return jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, RESET), worlds))(keys).reshape(-1)


def no_moments(members: int, obs_dim: int) -> Moments:
    """[M], nothing seen."""
    return jax.vmap(lambda _: normalise.none(obs_dim))(jnp.arange(members))


def fresh(task: Task, ppo: PPO, moments: Moments, keys: Array) -> tuple[Worlds, Moments]:
    """New worlds, and the moments of what they show first. keys [M] of this epoch."""
    members, count = keys.shape[0], ppo.worlds_for(task.spec.episode_length)
    state = autoreset.reset(task, first_keys(keys, count))
    return _begin(ppo, moments, state, state.obs.reshape(members, count, -1), len(task.spec.constraints))


def stagger(length: int, worlds: Worlds) -> Worlds:
    """Spread the clocks over an episode of that length, so that a steady share ends at every step.

    The episodes that are cut short by that do not count.
    """
    members, count = worlds.whole.shape
    clocks = autoreset.clocks(length, count)
    steps, state = np.tile(clocks, members), worlds.state
    if isinstance(state, dict):  # of the host's worlds
        state = state | {"steps": steps.astype(state["steps"].dtype)}
    else:
        state = replace(state, steps=jnp.asarray(steps, state.steps.dtype))
    return worlds._replace(state=state, whole=jnp.tile(clocks == 0, (members, 1)))


def _begin(ppo: PPO, moments: Moments, state: Any, obs: Array, m: int) -> tuple[Worlds, Moments]:
    members, count, obs_dim = obs.shape
    nothing = jnp.zeros((members, count), bool)
    recent, seen, _ = jax.vmap(partial(look, ppo))(moments, no_moments(members, obs_dim), obs, obs, nothing)
    return Worlds(state, seen, jnp.zeros((members, count, 2 + m)), ~nothing), recent


def on_device(
    task: Task, ppo: PPO, actor: Actor, moments: Moments, recent: Moments, worlds: Worlds, keys: Array
) -> tuple[Worlds, Moments, Rollout]:
    """An epoch's steps of every member as one scan. Returns the moments of all observations so far."""
    members, count = worlds.whole.shape
    actor = actor._replace(net=networks.rounded(ppo, actor.net))

    def step(carry: tuple[Worlds, Moments], t: Array) -> tuple[tuple[Worlds, Moments], Rollout]:
        worlds, recent = carry
        action, mean, log_prob = jax.vmap(partial(act, ppo), (0, 0, 0, None))(actor, worlds.seen, keys, t)
        now, then = autoreset.step(task, worlds.state, action.reshape(members * count, -1))
        split = lambda x: x.reshape(members, count, *x.shape[1:])
        signal = jnp.concatenate([then.reward[:, None], then.cost], -1)
        flags = split(then.terminated), split(then.terminated | then.truncated)
        recent, seen, final = jax.vmap(partial(look, ppo))(moments, recent, split(now.obs), split(then.obs), flags[1])
        acted = Acted(worlds.seen, final, action, mean, log_prob)
        totals, whole, row = _account(worlds, acted, split(signal), *flags)
        if (diverged := getattr(then, "diverged", None)) is not None:
            row = row._replace(diverged=split(diverged))
        return (Worlds(now, seen, totals, whole), recent), row

    steps = jnp.arange(ppo.steps_per_epoch // count)
    (worlds, recent), rollout = jax.lax.scan(step, (worlds, recent), steps)
    return worlds, jax.vmap(normalise.merge)(moments, recent), rollout


def _account(
    worlds: Worlds, acted: Acted, signal: Array, terminated: Array, ended: Array
) -> tuple[Array, Array, Rollout]:
    """Add a step [M, W] to the running episodes, and close those that ended."""
    gained = jnp.concatenate([signal[..., :1], jnp.ones_like(signal[..., :1]), signal[..., 1:]], -1)
    totals = worlds.totals + gained
    row = Rollout(
        **acted._asdict(),
        signal=signal,
        terminated=terminated,
        ended=ended,
        finished=totals,
        counted=ended & worlds.whole,
    )
    return jnp.where(ended[..., None], 0.0, totals), worlds.whole | ended, row


class HostCollector:
    """Rollouts of worlds that step outside JAX, between two calls of a compiled policy."""

    def __init__(self, host: HostWorlds, ppo: PPO, members: int) -> None:
        self.host, self.ppo, self.members = host, ppo, members
        self.count = ppo.worlds_for(host.spec.episode_length)
        self._act = jax.jit(jax.vmap(partial(act, ppo), (0, 0, 0, None)))
        self._look = jax.jit(jax.vmap(partial(look, ppo)))
        self._account = jax.jit(_account)
        self._begin = jax.jit(partial(_begin, ppo, m=len(host.spec.constraints)), static_argnames="m")
        self._merge = jax.jit(jax.vmap(normalise.merge))

    def fresh(self, moments: Moments, keys: Array) -> tuple[Worlds, Moments]:
        """New worlds, and the moments of what they show first. keys [M] of this epoch."""
        bits = np.asarray(jax.vmap(jax.random.bits)(first_keys(keys, self.count))).astype(np.uint64)
        obs = self.host.reset(bits).reshape(self.members, self.count, -1)
        worlds, recent = self._begin(moments, {}, jnp.asarray(obs, jnp.float32))
        return worlds._replace(state=self.host.save()), recent

    def collect(
        self, actor: Actor, moments: Moments, recent: Moments, worlds: Worlds, keys: Array
    ) -> tuple[Worlds, Moments, Rollout]:
        """As `on_device`."""
        split = lambda x: jnp.asarray(x).reshape(self.members, self.count, *x.shape[1:])
        self.host.load(worlds.state)
        running, rows = worlds._replace(state={}), []
        for t in range(self.ppo.steps_per_epoch // self.count):
            action, mean, log_prob = self._act(actor, running.seen, keys, t)
            now = self.host.step(np.asarray(action).reshape(self.members * self.count, -1))
            signal = np.concatenate([now.reward[:, None], now.cost], -1).astype(np.float32)
            flags = split(now.terminated), split(now.terminated | now.truncated)
            recent, seen, final = self._look(moments, recent, split(now.obs), split(now.final_obs), flags[1])
            acted = Acted(running.seen, final, action, mean, log_prob)
            totals, whole, row = self._account(running, acted, split(signal), *flags)
            running = Worlds({}, seen, totals, whole)
            rows.append(row)
        rollout = jax.tree.map(lambda *xs: jnp.stack(xs), *rows)
        return running._replace(state=self.host.save()), self._merge(moments, recent), rollout
