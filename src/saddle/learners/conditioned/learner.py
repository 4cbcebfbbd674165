"""An epoch of PPO whose networks see the multipliers of the episode that they are in.

Axes: T steps, M members, W worlds of a member, N = T * W samples, m constraints, S = 1 + m signals
(reward, costs), K strata of multipliers.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.collect.rollout import Decision, Rollout, by_member
from saddle.dial_inputs import Dial
from saddle.learners.api import Learned
from saddle.learners.conditioned import strata
from saddle.learners.conditioned.settings import Conditioned
from saddle.learners.conditioned.strata import Strata
from saddle.learners.ppo.learner import PPOLearner, estimate, in_units, samples_of
from saddle.learners.ppo.minibatch import PPOState, init
from saddle.tasks.spec import TaskSpec


class ConditionedLearner(PPOLearner):
    """PPO for one task, at every multiplier of a range at once."""

    settings: Conditioned

    def __init__(self, settings: Conditioned, spec: TaskSpec) -> None:
        super().__init__(settings, spec)
        constraints = len(spec.constraints)
        low, high = settings.lambda_low, settings.lambda_high
        self.dial = Dial(low, high, constraints)
        self.strata = Strata(low, high, settings.strata_of(constraints), constraints)

    def init(self, key: Array) -> PPOState:
        """One untrained member, whose networks see the observation and the dial."""
        inputs = self.spec.obs_dim + self.dial.constraints
        return init(key, self.settings, inputs, self.family, self.dial.constraints)

    def draw_context(self, worlds: int, key: Array) -> Array:
        """log10 of the multipliers [worlds, m] that episodes have until they end."""
        return self.strata.draw(worlds, key)

    def act(self, actor: Any, obs: Array, key: Array) -> Decision:
        """A draw from the policy. obs [W, obs_dim + m], log10 of the multipliers at its end."""
        return super().act(actor, self._seen(obs), key)

    def learn(
        self,
        state: PPOState,
        rollout: Rollout,
        lam: Array,
        keys: Array,
        progress: Array,
        active: Array,
    ) -> Learned:
        """As PPO does, with every sample's costs at the multipliers of its own episode.

        The rule's lam is not used. Advantages are standardised among samples with like multipliers,
        as those of a policy that is told another price are of another size.
        """
        log_lambda = by_member(rollout.obs[..., self.spec.obs_dim :])
        membership = jax.vmap(self.strata.membership)(log_lambda)
        state, rollout = in_units(self.settings, state, rollout)
        known = rollout._replace(obs=self._seen(rollout.obs), next_obs=self._seen(rollout.next_obs))
        found = estimate(self.settings, state.critics, known)
        advantage = jax.vmap(strata.standardised, (0, 0, None))(
            membership, by_member(found.advantage), self.settings.standardise
        )
        samples = samples_of(known, advantage, found, 10.0**log_lambda)
        if self.settings.kl_stop == "worst":
            samples = samples._replace(parts=membership)
        learned = self.improved(state, samples, found, keys, progress, active)
        logged = jax.vmap(self._episodes)(
            membership, by_member(rollout.finished), by_member(rollout.counted)
        )
        return learned._replace(metrics=learned.metrics | logged)

    def begin_from(
        self, state: PPOState, arrays: dict[str, np.ndarray], facts: dict[str, Any]
    ) -> PPOState:
        """The member with the actor of an exported policy; where that has no dial, it acts alike at
        all multipliers.
        """
        if facts["dial"] is None:
            first = arrays["w0"]
            unmoved = np.zeros((self.dial.constraints, first.shape[1]), first.dtype)
            arrays = arrays | {"w0": np.concatenate([first, unmoved])}
            facts = facts | {"dial": self.dial._asdict()}
        return super().begin_from(state, arrays, facts)

    def policy_facts(self) -> dict[str, Any]:
        """What the layers are, and how multipliers enter the first."""
        return super().policy_facts() | {"dial": self.dial._asdict()}

    def _seen(self, obs: Array) -> Array:
        """Observations with log10 of multipliers behind them, as the networks see both: [...,
        obs_dim + m].
        """
        size = self.spec.obs_dim
        return jnp.concatenate([obs[..., :size], self.dial.inputs(obs[..., size:])], -1)

    def _episodes(self, membership: Array, finished: Array, counted: Array) -> dict[str, Array]:
        """Mean return [K] and costs [K * m] of the episodes that ended, by stratum, NaN where none
        did; how many did [K], and the strata's multipliers [K * m]. One member's finished [N,
        2 + m].
        """
        ended = membership * counted[:, None]
        count = ended.sum(0)
        means = strata.sums(ended, finished) / jnp.where(count > 0, count, jnp.nan)[:, None]
        return {
            "dial_lambda": jnp.asarray(self.strata.centres().ravel(), jnp.float32),
            "dial_return": means[:, 0],
            "dial_cost": means[:, 2:].ravel(),
            "dial_episodes": count.astype(jnp.int32),
        }
