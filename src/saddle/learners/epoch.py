"""What an epoch does with its rollouts, for a whole population: advantages, multiplier, passes, bookkeeping."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.collect import Rollout
from saddle.config import PPO
from saddle.learners import advantages, episodes, networks
from saddle.learners.episodes import Window
from saddle.learners.improve import Improvement, improve
from saddle.learners.networks import Net
from saddle.learners.ppo import Learner, Samples, nets, outputs
from saddle.multipliers.stacked import Multiplier, Numbers, Rules

FEW = 16  # one step in so many may end an episode, and all values of next observations are still found in one go
FINE, BAD_OBSERVATION, BAD_UPDATE = 0, 1, 2
REASONS = {
    BAD_OBSERVATION: "an observation, reward or cost was not finite",
    BAD_UPDATE: "a loss or a network parameter was not finite",
}


class Pupil(NamedTuple):
    """All that an epoch changes but the worlds, per member [M, ...]."""

    learner: Learner
    multiplier: Multiplier
    window: Window
    failed: Array  # [M] int32, FINE or why the member stopped


class Drive(NamedTuple):
    """What tells members apart, [M, ...]."""

    numbers: Numbers  # of the members' rules
    limits: Array  # [M, m]
    key: Array  # [M], for the epoch's shuffles


def learn(
    ppo: PPO, rules: Rules, pupil: Pupil, rollout: Rollout, drive: Drive, lr: Array, chunk: int
) -> tuple[Pupil, dict]:
    """One epoch after its rollout. Returns metrics [M] or [M, m] by name."""
    healthy = _finite(rollout.signal) & _finite(rollout.next_obs)
    values = _values(ppo, pupil.learner.critics, rollout.obs)
    adv = _advantages(ppo, pupil.learner, rollout, values)
    targets = adv + values
    finished, counted = _by_member(rollout.finished), _by_member(rollout.counted)
    window = jax.vmap(episodes.push)(pupil.window, finished, counted)
    recent = jax.vmap(episodes.mean)(window)
    multiplier = jax.vmap(rules.update)(pupil.multiplier, drive.numbers, recent[:, 2:], drive.limits)
    samples = _samples(ppo, rollout, adv, targets)
    active = (pupil.failed == FINE) & healthy
    done = improve(ppo, pupil.learner, samples, multiplier.lam, drive.key, lr, active, chunk)
    sound = _finite_members(done.learner._replace(beta=jnp.zeros_like(done.learner.beta))) & jnp.isfinite(done.kl)
    failed = jnp.where(pupil.failed != FINE, pupil.failed, jnp.where(healthy, FINE, BAD_OBSERVATION))
    failed = jnp.where((failed == FINE) & ~sound, BAD_UPDATE, failed)
    after = Pupil(done.learner, multiplier, window, failed)
    after = jax.tree.map(partial(_keep_failed, failed != FINE), after, pupil._replace(failed=failed))
    metrics = _metrics(after, done, recent, jax.vmap(episodes.finished_mean)(finished, counted))
    explained = _explained(_by_member(values), _by_member(targets))
    metrics |= {"ev_r": explained[:, 0], "ev_c": explained[:, 1:], "episodes": jnp.sum(counted, 1)}
    if rollout.diverged is not None:
        metrics["diverged"] = jnp.sum(rollout.diverged, (0, 2), dtype=jnp.int32)
    return after, metrics


def _keep_failed(failed: Array, new: Array, old: Array) -> Array:
    """A failed member stays as it was before the epoch that broke it."""
    return jnp.where(failed.reshape(-1, *[1] * (new.ndim - 1)), old, new)


def _judge(ppo: PPO, critics: tuple[Net, ...], x: Array) -> Array:
    """1 + m critics [M, ...], x [M, n, obs_dim] -> [M, n, 1 + m].

    Never in bf16: where costs are rare, its rounding of a value is not small beside an advantage.
    """
    ppo = replace(ppo, precision="tf32") if ppo.precision == "bf16" else ppo
    judge = jax.vmap(lambda critic, x: outputs(ppo, nets(ppo).rounded(ppo, critic), x)[:, 0])
    return jnp.stack([judge(critic, x) for critic in critics], -1)


def _values(ppo: PPO, critics: tuple[Net, ...], obs: Array) -> Array:
    """The same for obs [T, M, W, obs_dim] -> [T, M, W, 1 + m]."""
    return _by_time(_judge(ppo, critics, _by_member(obs)), obs.shape[0])


def _next_values(ppo: PPO, critics: tuple[Net, ...], rollout: Rollout, values: Array) -> Array:
    """Of what each step led to, [T, M, W, 1 + m].

    Where an episode goes on that is the next step's observation, whose value is known. The others are judged, some at a
    time: usually all at once.
    """
    unknown = rollout.ended.at[-1].set(True)
    steps, members, worlds = unknown.shape
    count = steps * worlds
    some = min(count, worlds + count // FEW)
    list_them = lambda mask: jnp.nonzero(mask, size=count + -count % some, fill_value=0)[0]
    places = jax.vmap(list_them)(_by_member(unknown))  # [M, ...], then any

    def judge(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        start, known = carry
        here = jax.lax.dynamic_slice_in_dim(places, start, some, axis=1)
        found = rollout.next_obs[here // worlds, jnp.arange(members)[:, None], here % worlds]
        put = jax.vmap(lambda known, here, found: known.at[here].set(found))
        return start + some, put(known, here, _judge(ppo, critics, found))

    most = unknown.sum((0, 2)).max()
    known = _by_member(jnp.roll(values, -1, axis=0))
    known = jax.lax.while_loop(lambda carry: carry[0] < most, judge, (jnp.zeros_like(most), known))[1]
    return _by_time(known, steps)


def _advantages(ppo: PPO, learner: Learner, rollout: Rollout, values: Array) -> Array:
    """[T, M, W, 1 + m], as they come; `_samples` standardises."""
    next_values = _next_values(ppo, learner.critics, rollout, values)
    m = rollout.signal.shape[-1] - 1
    gamma, lam = jnp.array([ppo.gamma] + [ppo.cost_gamma] * m), jnp.array([ppo.lam] + [ppo.cost_lam] * m)
    return advantages.gae(rollout.signal, values, next_values, rollout.terminated, rollout.ended, gamma, lam)


def _samples(ppo: PPO, rollout: Rollout, adv: Array, targets: Array) -> Samples:
    """[M, T * W, ...]."""
    treat = advantages.standardise if ppo.standardise else advantages.centre
    reward = jax.vmap(treat)(_by_member(adv[..., 0]))
    costs = jax.vmap(advantages.centre)(_by_member(adv[..., 1:]))
    return Samples(
        obs=_by_member(rollout.obs),
        action=_by_member(rollout.action),
        mean=_by_member(rollout.mean),
        log_prob=_by_member(rollout.log_prob),
        advantage=jnp.concatenate([reward[..., None], costs], -1),
        target=_by_member(targets),
    )


def _by_member(x: Array) -> Array:
    """[T, M, W, ...] -> [M, T * W, ...], in order of time."""
    return jnp.moveaxis(x, 1, 0).reshape(x.shape[1], -1, *x.shape[3:])


def _by_time(x: Array, steps: int) -> Array:
    """The way back: [M, T * W, ...] -> [T, M, W, ...]."""
    return jnp.moveaxis(x.reshape(x.shape[0], steps, -1, *x.shape[2:]), 0, 1)


def _finite(x: Array) -> Array:
    """[T, M, ...] -> [M]."""
    return jnp.isfinite(x).all(axis=(0, *range(2, x.ndim)))


def _finite_members(tree: object) -> Array:
    """[M, ...] leaves -> [M]."""
    finite = [jnp.isfinite(x).all(axis=tuple(range(1, x.ndim))) for x in jax.tree.leaves(tree)]
    return jnp.stack(finite).all(0)


def _explained(values: Array, targets: Array) -> Array:
    """Share of the targets' variance that the values explain. [M, N, S] -> [M, S]; 0 where targets do not vary."""
    spread = targets.var(1)
    return jnp.where(spread > 0, 1 - (targets - values).var(1) / jnp.where(spread > 0, spread, 1.0), 0.0)


def _metrics(pupil: Pupil, done: Improvement, recent: Array, own: Array) -> dict[str, Array]:
    log_std = pupil.learner.actor.log_std
    return {
        "return": own[:, 0],
        "length": own[:, 1],
        "cost": own[:, 2:],
        "window_return": recent[:, 0],
        "window_length": recent[:, 1],
        "window_cost": recent[:, 2:],
        "lambda": pupil.multiplier.lam,
        "beta": pupil.learner.beta,
        "kl": done.kl,
        "passes": done.passes,
        "entropy": networks.entropy(log_std),
        "std": jnp.exp(log_std).mean(-1),
        "loss_pi": done.stats.loss_pi,
        "loss_vr": done.stats.loss_v[:, 0],
        "loss_vc": done.stats.loss_v[:, 1:],
        "grad_r": done.stats.grad_r,
        "grad_c": done.stats.grad_c,
        "grad_pi": done.stats.grad_pi,
        "failed": pupil.failed,
    }
