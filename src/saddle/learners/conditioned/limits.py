"""The same with a limit as the input, where the multiplier of each limit is learned.

Every stratum of limits has a multiplier, which rises while the episodes of that stratum cost more
than their limits. Axes as in `learner.py`, with one constraint.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.collect.rollout import Rollout, by_member
from saddle.dial_inputs import Dial
from saddle.errors import SaddleError
from saddle.learners.api import Learned
from saddle.learners.conditioned import strata
from saddle.learners.conditioned.learner import ConditionedLearner
from saddle.learners.conditioned.settings import Conditioned
from saddle.learners.conditioned.strata import Strata
from saddle.learners.networks.distributions import Actor
from saddle.learners.ppo.minibatch import PPOState
from saddle.tasks.spec import TaskSpec


class LimitState(NamedTuple):
    """What learning changes."""

    ppo: PPOState
    log_lambda: Array  # [K], log10 of each stratum's multiplier


class LimitLearner(ConditionedLearner):
    """PPO for one task, at every limit of a range at once."""

    def __init__(self, settings: Conditioned, spec: TaskSpec) -> None:
        super().__init__(settings, spec)
        if len(spec.constraints) > 1:
            raise SaddleError(
                f"{spec.name} has {len(spec.constraints)} constraints; with told = 'limit' it may "
                f"have one"
            )
        low, high = settings.limit_low, settings.limit_high
        self.dial = Dial(low, high, 1)
        self.strata = Strata(low, high, settings.strata_of(1), 1)

    def init(self, key: Array) -> Any:
        """One untrained member: every limit begins at a multiplier of 1."""
        return LimitState(super().init(key), jnp.zeros(self.strata.count))

    def actor(self, state: Any) -> Actor:
        """PPO's."""
        return super().actor(state.ppo)

    def policy(self, state: Any) -> dict[str, Array]:
        """PPO's."""
        return super().policy(state.ppo)

    def begin_from(self, state: Any, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Any:
        """The member with the actor of an exported policy."""
        return state._replace(ppo=super().begin_from(state.ppo, arrays, facts))

    def learn(
        self,
        state: Any,
        rollout: Rollout,
        lam: Array,
        keys: Array,
        progress: Array,
        active: Array,
    ) -> Learned:
        """Move every stratum's multiplier, then do as PPO does at these."""
        told, membership = self.told(rollout)
        log_lambda = jax.vmap(self._moved)(
            state.log_lambda,
            membership,
            told,
            by_member(rollout.finished),
            by_member(rollout.counted),
        )
        own = jnp.einsum("mnk,mk->mn", membership, log_lambda, precision="highest")[..., None]
        learned = self.learn_at(own, membership, state.ppo, rollout, keys, progress, active)
        metrics = learned.metrics | {"dial_lambda": 10.0**log_lambda}
        return learned._replace(state=LimitState(learned.state, log_lambda), metrics=metrics)

    def _moved(
        self, log_lambda: Array, membership: Array, told: Array, finished: Array, counted: Array
    ) -> Array:
        """log10 of one member's multipliers [K] after a step along the mean excess of each
        stratum's episodes, as a share of their limits. told [N, 1], finished [N, 2 + 1].
        """
        settings = self.settings
        ended = membership * counted[:, None]
        excess = finished[:, 2:] / 10.0**told - 1
        mean = strata.sums(ended, excess)[:, 0] / jnp.maximum(ended.sum(0), 1)
        step = settings.lambda_lr * jnp.clip(mean, -1, 1)
        return jnp.clip(
            log_lambda + step, np.log10(settings.lambda_low), np.log10(settings.lambda_high)
        )
