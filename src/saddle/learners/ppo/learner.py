"""An epoch of PPO for a whole population: from rollouts to advantages, passes and metrics.

Axes: T steps, M members, W worlds of a member, N = T * W samples, m constraints, S = 1 + m signals
(reward, costs).
"""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.collect.rollout import Decision, Rollout, by_member, by_time
from saddle.learners import scale
from saddle.learners.api import Learned
from saddle.learners.networks import distributions, exported, plain
from saddle.learners.networks.backend import choose
from saddle.learners.networks.distributions import Actor
from saddle.learners.networks.plain import Net
from saddle.learners.ppo import advantages, groups
from saddle.learners.ppo.minibatch import PPOState, Samples, init, outputs
from saddle.learners.ppo.passes import Improvement, improve
from saddle.learners.ppo.settings import PPO
from saddle.tasks.spec import TaskSpec

# One step in so many may end an episode, and all values of next observations are still found in one
# go
FEW = 16


class Chosen(NamedTuple):
    """What PPO wants to know of an action later."""

    output: Array  # [W, outputs], of the actor
    log_prob: Array  # [W]


class PPOLearner:
    """PPO with its settings, for one task."""

    def __init__(self, settings: PPO, spec: TaskSpec) -> None:
        self.settings = settings
        self.spec = spec
        self.family = distributions.of_actions(spec.action_dim, spec.choices)

    def init(self, key: Array) -> PPOState:
        """One untrained member: an actor, a critic of the reward and one of each cost."""
        spec = self.spec
        return init(key, self.settings, spec.obs_dim, self.family, len(spec.constraints))

    def begin_from(
        self, state: PPOState, arrays: dict[str, np.ndarray], facts: dict[str, Any]
    ) -> PPOState:
        """The member with the actor of an exported policy; its critics stay as they are."""
        net = exported.begun_from(self.policy_facts(), arrays, facts)
        return state._replace(actor=Actor(net, jnp.asarray(arrays["log_std"])))

    def actor(self, state: PPOState) -> Actor:
        """The actor with its weights as products take them, so that no step has to round them."""
        return state.actor._replace(net=plain.rounded(self.settings, state.actor.net))

    def act(self, actor: Actor, obs: Array, key: Array) -> Decision:
        """A draw from the policy. obs [W, obs_dim]."""
        output = plain.output(self.settings, actor.net, obs)
        action = self.family.draw(output, actor.log_std, key)
        log_prob = self.family.log_prob(output, actor.log_std, action)
        return Decision(action, Chosen(output, log_prob))

    def learn(
        self,
        state: PPOState,
        rollout: Rollout,
        lam: Array,
        keys: Array,
        progress: Array,
        active: Array,
    ) -> Learned:
        """Estimate advantages, take passes over the samples until the policy has moved far enough,
        and report.
        """
        ppo = self.settings
        state, rollout = in_units(ppo, state, rollout)
        found = estimate(ppo, state.critics, rollout)
        advantage = jax.vmap(advantages.standardised, (0, None))(
            by_member(found.advantage), ppo.standardise
        )
        every_lam = jnp.broadcast_to(lam[:, None], (*advantage.shape[:2], lam.shape[1]))
        samples = samples_of(rollout, advantage, found, every_lam)
        return self.improved(state, samples, found, keys, progress, active)

    def improved(
        self,
        state: PPOState,
        samples: Samples,
        found: "Estimates",
        keys: Array,
        progress: Array,
        active: Array,
    ) -> Learned:
        """Passes over the samples, what is logged of them, and which members are still sound."""
        ppo = self.settings
        left = 1 - progress if ppo.lr_decay else jnp.ones(())
        lr = ppo.actor_lr * left
        members = active.shape[0]
        most = self.most_passes(members, progress)
        sizes = self.group_sizes(members)
        done = improve(ppo, self.family, state, samples, keys, lr, active, most, sizes)
        # Beta is infinite by rights where a batch had no cost.
        numbers = done.state._replace(beta=jnp.zeros_like(done.state.beta))
        sound = _finite_members(numbers) & jnp.isfinite(done.kl)
        explained = _explained_variance(by_member(found.values), by_member(found.targets))
        return Learned(done.state, _metrics(done, explained), sound)

    def most_passes(self, members: int, progress: Array) -> Array:
        """Passes that each member may take in an epoch, [members]; `progress` is the share of
        training that is done.
        """
        del progress
        return jnp.full(members, self.settings.passes)

    def group_sizes(self, members: int) -> tuple[int, ...]:
        """Sizes of the groups that take passes together."""
        return groups.sizes(jax.default_backend(), members)

    def policy(self, state: PPOState) -> dict[str, Array]:
        """w0, b0, w1, ...: weights [in, out] and biases of each layer; log_std [action_dim], or [0]
        of a policy that chooses.
        """
        return exported.to_arrays(state.actor.net) | {"log_std": state.actor.log_std}

    def policy_facts(self) -> dict[str, Any]:
        """What the layers are."""
        facts = {"activation": self.settings.activation, "hidden": list(self.settings.hidden)}
        if self.spec.choices:
            facts["choices"] = list(self.spec.choices)
        return facts


def in_units(ppo: PPO, state: PPOState, rollout: Rollout) -> tuple[PPOState, Rollout]:
    """The rollout with costs as they are, or where beta is bounded in each member's own unit, so
    that it is bounded alike in whatever costs are counted; and the state with that unit.

    Critics learn costs in the unit too: their errors are of the size of a network's output, however
    small costs are. The unit is the largest so far: where costs have tails, a policy that has
    learned to stay away from them meets smaller and smaller ones, which are no new unit.
    """
    if ppo.rsi != "bounded":
        return state, rollout
    costs = rollout.signal[..., 1:]
    unit = jnp.maximum(state.unit, jax.vmap(scale.unit)(by_member(costs)))
    in_unit = costs / jnp.where(unit > 0, unit, 1.0)[:, None]
    signal = jnp.concatenate([rollout.signal[..., :1], in_unit], -1)
    return state._replace(unit=unit), rollout._replace(signal=signal)


class Estimates(NamedTuple):
    """What critics say of a rollout [T, M, W, S]."""

    values: Array
    advantage: Array  # as they come

    @property
    def targets(self) -> Array:
        """What the critics are to learn."""
        return self.advantage + self.values


def estimate(ppo: PPO, critics: tuple[Net, ...], rollout: Rollout) -> Estimates:
    """Values and advantages of every step."""
    values = _values(ppo, critics, rollout.obs)
    return Estimates(values, _advantages(ppo, critics, rollout, values))


def samples_of(rollout: Rollout, advantage: Array, found: Estimates, lam: Array) -> Samples:
    """Of every member: what was done, with the advantages [M, N, S] to learn from and the
    multipliers [M, N, m] of each sample.
    """
    chosen: Chosen = rollout.extras
    return Samples(
        obs=by_member(rollout.obs),
        action=by_member(rollout.action),
        output=by_member(chosen.output),
        log_prob=by_member(chosen.log_prob),
        advantage=advantage,
        target=by_member(found.targets),
        lam=lam,
    )


def _evaluate(ppo: PPO, critics: tuple[Net, ...], x: Array) -> Array:
    """Values by S critics [M, ...] of x [M, n, obs_dim] -> [M, n, S].

    Never in bf16: where costs are rare, its rounding of a value is not small beside an advantage.
    """
    if ppo.precision == "bf16":
        ppo = replace(ppo, precision="tf32")

    def one_critic(critic: Net, x: Array) -> Array:
        view = choose(ppo).rounded(ppo, critic)
        return outputs(ppo, view, x)[:, 0]

    return jnp.stack([jax.vmap(one_critic)(critic, x) for critic in critics], -1)


def _values(ppo: PPO, critics: tuple[Net, ...], obs: Array) -> Array:
    """The same for obs [T, M, W, obs_dim] -> [T, M, W, S]."""
    return by_time(_evaluate(ppo, critics, by_member(obs)), obs.shape[0])


def _next_values(ppo: PPO, critics: tuple[Net, ...], rollout: Rollout, values: Array) -> Array:
    """Of what each step led to, [T, M, W, S].

    Where an episode goes on that is the next step's observation, whose value is known. The others
    are evaluated, some at a time: usually all at once.
    """
    unknown = rollout.ended.at[-1].set(True)
    steps, members, worlds = unknown.shape
    count = steps * worlds
    some = min(count, worlds + count // FEW)

    def places_of(mask: Array) -> Array:
        return jnp.nonzero(mask, size=count + -count % some, fill_value=0)[0]

    places = jax.vmap(places_of)(by_member(unknown))  # [M, ...], then any

    def put(known: Array, here: Array, found: Array) -> Array:
        return known.at[here].set(found)

    def evaluate_some(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        start, known = carry
        here = jax.lax.dynamic_slice_in_dim(places, start, some, axis=1)
        obs = rollout.next_obs[here // worlds, jnp.arange(members)[:, None], here % worlds]
        end = start + some
        found = _evaluate(ppo, critics, obs)
        return end, jax.vmap(put)(known, here, found)

    most = unknown.sum((0, 2)).max()

    def some_left(carry: tuple[Array, Array]) -> Array:
        start, _ = carry
        return start < most

    known = by_member(jnp.roll(values, -1, axis=0))
    _, known = jax.lax.while_loop(some_left, evaluate_some, (jnp.zeros_like(most), known))
    return by_time(known, steps)


def _advantages(ppo: PPO, critics: tuple[Net, ...], rollout: Rollout, values: Array) -> Array:
    """[T, M, W, S], as they come."""
    next_values = _next_values(ppo, critics, rollout, values)
    constraints = rollout.signal.shape[-1] - 1
    gamma = jnp.array([ppo.gamma] + [ppo.cost_gamma] * constraints)
    lam = jnp.array([ppo.lam] + [ppo.cost_lam] * constraints)
    return advantages.gae(
        rollout.signal, values, next_values, rollout.terminated, rollout.ended, gamma, lam
    )


def _finite_members(tree: object) -> Array:
    """Whether all of a member's numbers are finite. Leaves [M, ...] -> [M]."""
    finite = []
    for leaf in jax.tree.leaves(tree):
        own_axes = tuple(range(1, leaf.ndim))
        finite.append(jnp.isfinite(leaf).all(axis=own_axes))
    return jnp.stack(finite).all(0)


def _explained_variance(values: Array, targets: Array) -> Array:
    """Share of the targets' variance that the values explain. [M, N, S] -> [M, S]; 0 where targets
    do not vary.
    """
    spread = targets.var(1)
    left = (targets - values).var(1)
    share = 1 - left / jnp.where(spread > 0, spread, 1.0)
    return jnp.where(spread > 0, share, 0.0)


def _metrics(done: Improvement, explained: Array) -> dict[str, Array]:
    """[M], or [M, m] where there is one per constraint."""
    log_std = done.state.actor.log_std
    return {
        "beta": done.state.beta,
        "kl": done.kl,
        "passes": done.passes,
        "entropy": done.entropy,
        "std": jnp.exp(log_std).mean(-1),
        "loss_pi": done.stats.loss_pi,
        "loss_vr": done.stats.loss_v[:, 0],
        "loss_vc": done.stats.loss_v[:, 1:],
        "ev_r": explained[:, 0],
        "ev_c": explained[:, 1:],
        "grad_r": done.stats.grad_r,
        "grad_c": done.stats.grad_c,
        "grad_pi": done.stats.grad_pi,
    }
