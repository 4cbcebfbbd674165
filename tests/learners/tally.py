"""A learner that learns nothing, but counts what it is shown: for tests of epochs that are made of
cycles.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from saddle.collect.rollout import Decision, by_member
from saddle.learners import LearnerSettings
from saddle.learners.api import Learned
from saddle.learners.settings import Clock


class Counted(NamedTuple):
    """Of one member."""

    calls: jax.Array
    steps: jax.Array
    returns: jax.Array


class Tally:
    """Random actions whatever is seen."""

    def __init__(self, settings, spec):
        self.settings = settings
        self.spec = spec

    def init(self, key):
        del key
        nothing = jnp.zeros((), jnp.int32)
        return Counted(nothing, nothing, jnp.zeros(()))

    def actor(self, state):
        return state.calls

    def act(self, actor, obs, key):
        del actor
        action = jax.random.normal(key, (obs.shape[0], self.spec.action_dim))
        return Decision(action, extras=())

    def learn(self, state, rollout, lam, keys, progress, active):
        """Members that are not active stay as they are."""
        rewards = by_member(rollout.signal)[..., 0]
        after = Counted(state.calls + 1, state.steps + rewards.shape[1], state.returns)
        after = after._replace(returns=state.returns + rewards.sum(1))
        kept = jax.tree.map(lambda new, old: jnp.where(active, new, old), after, state)
        odd = kept.calls % 2 == 1
        metrics = {
            "calls": jnp.ones_like(kept.calls),
            "odd": jnp.where(odd, kept.calls, jnp.nan),
            "progress": jnp.full(lam.shape[0], progress),
            "draw": jax.vmap(jax.random.uniform)(keys),
            "price": lam,
        }
        return Learned(kept, metrics, sound=kept.calls < self.settings.breaks)

    def policy(self, state):
        del state
        shape = (self.spec.obs_dim, self.spec.action_dim)
        zeros = jnp.zeros(self.spec.action_dim)
        return {"w0": jnp.zeros(shape), "b0": zeros, "log_std": zeros}

    def policy_facts(self):
        return {"activation": "tanh", "hidden": []}


@dataclass(frozen=True)
class TallySettings(LearnerSettings):
    """Cycles, whatever the layout, whose episodes outlast an epoch."""

    algorithm: ClassVar[str] = "tally"
    metrics: ClassVar[Mapping] = {
        "calls": int,
        "odd": float,
        "progress": float,
        "draw": float,
        "price": float,
    }

    cycle: int = 20
    breaks: int = 10**9
    """Calls after which a member is unsound."""
    each_cycle: bool = False
    rest: int = 0
    obs_norm: bool = False

    @property
    def steps_per_cycle(self):
        return self.cycle

    @property
    def goes_on(self):
        return True

    @property
    def rule_clock(self):
        return Clock(self.each_cycle, self.rest)

    def learner(self, spec):
        return Tally(self, spec)
