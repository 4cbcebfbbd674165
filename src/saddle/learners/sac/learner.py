"""A cycle of SAC for a whole population: from steps to the replay, updates and metrics.

Axes: T steps, M members, W worlds of a member, U updates of a cycle, m constraints.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.collect.rollout import Decision, Rollout
from saddle.learners.api import Learned
from saddle.learners.networks import exported, plain
from saddle.learners.networks.plain import Net
from saddle.learners.sac import bias, draws, replay, update
from saddle.learners.sac.actions import actions_of
from saddle.learners.sac.bias import Running
from saddle.learners.sac.networks import Networks, init
from saddle.learners.sac.replay import Batch, Replay
from saddle.learners.sac.settings import SAC
from saddle.learners.sac.update import Stats
from saddle.tasks.spec import TaskSpec


class SACState(NamedTuple):
    """Of one member, or of all. All of them have taken as many steps, and as many updates."""

    networks: Networks
    replay: Replay
    running: Running
    steps: Array  # [] int32, env steps
    updates: Array  # [] int32


class Acting(NamedTuple):
    """What a member acts by in a cycle."""

    actor: Net
    random: Array  # [] bool: whatever the actor says


class SACLearner:
    """SAC with its settings, for one task."""

    def __init__(self, settings: SAC, spec: TaskSpec) -> None:
        self.settings = settings
        self.spec = spec
        self.actions = actions_of(spec.name, spec.action_dim, spec.choices)
        self.together = jax.default_backend() != "cpu"
        """Whether members are updated at once, or one after the other: on a CPU products of one are
        faster.
        """

    def init(self, key: Array) -> SACState:
        """One untrained member with an empty replay."""
        spec = self.spec
        constraints = len(spec.constraints)
        nothing = jnp.zeros((), jnp.int32)
        return SACState(
            init(key, self.settings, spec.obs_dim, self.actions, constraints),
            replay.empty(self.settings, spec),
            bias.begin(self.settings, spec),
            steps=nothing,
            updates=nothing,
        )

    def begin_from(
        self, state: SACState, arrays: dict[str, np.ndarray], facts: dict[str, Any]
    ) -> SACState:
        """The member with the actor of an exported policy; its critics stay as they are."""
        actor = exported.begun_from(self.policy_facts(), arrays, facts)
        return state._replace(networks=state.networks._replace(actor=actor))

    def actor(self, state: SACState) -> Acting:
        """The actors, and whether this cycle is random."""
        actor = plain.rounded(self.settings, state.networks.actor)
        return Acting(actor, random=state.steps <= self.settings.random_steps)

    def act(self, actor: Acting, obs: Array, key: Array) -> Decision:
        """A draw from the policy, or from all actions alike. obs [W, obs_dim]."""
        drawn_key, random_key = jax.random.split(key)
        output = plain.output(self.settings, actor.actor, obs)
        drawn = self.actions.family.draw(output, jnp.zeros(0), drawn_key)
        random = self.actions.uniform(random_key, len(obs))
        return Decision(jnp.where(actor.random, random, drawn), extras=())

    def learn(
        self,
        state: SACState,
        rollout: Rollout,
        lam: Array,
        keys: Array,
        progress: Array,
        active: Array,
    ) -> Learned:
        """Put a cycle's steps into the replay, and update the networks unless the cycle was
        random.
        """
        del progress
        sac = self.settings
        before = state.steps[0]
        steps_of_world, _, worlds, _ = rollout.signal.shape
        steps = before + steps_of_world * worlds
        random = before <= sac.random_steps
        critics = state.networks.critics
        running, biases = bias.followed(sac, self.actions, critics, state.running, rollout, random)
        kept = replay.written(state.replay, rollout, before)
        batches, update_keys = self._batches(kept, keys, steps)
        first = state.updates[0] + 1

        def learned(networks: Networks) -> tuple[Networks, Stats]:
            return self._updates(networks, batches, update_keys, lam, first, active)

        def rest(networks: Networks) -> tuple[Networks, Stats]:
            members, constraints = lam.shape

            def of_all(number: Array) -> Array:
                return jnp.broadcast_to(number, (sac.updates, members, *number.shape))

            return networks, jax.tree.map(of_all, update.no_stats(constraints))

        networks, stats = jax.lax.cond(random, rest, learned, state.networks)
        after = SACState(
            networks,
            kept,
            running,
            steps=jnp.full_like(state.steps, steps),
            updates=state.updates + sac.updates * ~random,
        )
        return Learned(after, _metrics(stats) | biases, update.sound(stats).all(0))

    def _batches(self, kept: Replay, keys: Array, filled: Array) -> tuple[Batch, Array]:
        """Of all updates of a cycle, [U, M, ...], and their keys [U, M]."""
        sac = self.settings
        numbers = jnp.arange(sac.updates)

        def two_keys(key: Array, number: Array) -> Array:
            return jax.random.split(jax.random.fold_in(key, number))

        def keys_of(number: Array) -> tuple[Array, Array]:
            own = jax.vmap(two_keys, (0, None))(keys, number)
            return own[:, 0], own[:, 1]

        batch_keys, update_keys = jax.vmap(keys_of)(numbers)

        def of_update(keys: Array) -> Batch:
            return replay.drawn(kept, keys, sac.batch, filled, self.spec.obs_dim)

        return jax.vmap(of_update)(batch_keys), update_keys

    def _updates(
        self,
        networks: Networks,
        batches: Batch,
        keys: Array,
        lam: Array,
        first: Array,
        active: Array,
    ) -> tuple[Networks, Stats]:
        """One after the other. batches [U, M, ...], keys [U, M]; first []: the number of the first
        one. Stats are [U, M, ...].
        """

        def step(networks: Networks, now: tuple[Batch, Array, Array]) -> tuple[Networks, Stats]:
            batch, keys, number = now

            def of_member(
                networks: Networks, batch: Batch, lam: Array, key: Array, active: Array
            ) -> tuple[Networks, Stats]:
                drawn = draws.draw(key, self.settings, self.actions)
                after, stats = update.update(
                    self.settings, self.actions, networks, batch, lam, drawn, number
                )
                good = active & update.sound(stats)
                after = jax.tree.map(lambda new, old: jnp.where(good, new, old), after, networks)
                return after, stats

            return self._each(of_member, networks, batch, lam, keys, active)

        numbers = first + jnp.arange(self.settings.updates)
        return jax.lax.scan(step, networks, (batches, keys, numbers))

    def _each(self, function: Callable, *args: Any) -> Any:
        """A function of one member, for all of them. args [M, ...]."""
        if self.together:
            return jax.vmap(function)(*args)
        return jax.lax.map(lambda own: function(*own), args)

    def policy(self, state: SACState) -> dict[str, Array]:
        """w0, b0, w1, ...: weights [in, out] and biases of each layer. The last one gives means,
        then log standard deviations, or the logits of choices; log_std is [0].
        """
        return exported.to_arrays(state.networks.actor) | {"log_std": jnp.zeros(0)}

    def policy_facts(self) -> dict[str, Any]:
        """What the layers are, and what their output is: choices, or the tanh of a Gaussian."""
        facts = {"activation": self.settings.activation, "hidden": list(self.settings.hidden)}
        if self.spec.choices:
            return {**facts, "choices": list(self.spec.choices)}
        return {**facts, "squash": True}


def _metrics(stats: Stats) -> dict[str, Array]:
    """Means over a cycle's updates [U, M, ...] that have a number: [M], or [M, m]."""
    critics, actor = stats
    found = {**critics._asdict(), **actor._asdict()}
    del found["sound"]
    return {name: jnp.nanmean(values, 0) for name, values in found.items()}
