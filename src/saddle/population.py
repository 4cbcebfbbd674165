"""Many runs as one program: members that differ in seed, rule and limit, stacked along a first
axis.

A population knows no algorithm: a collector steps the worlds, a learner improves the policies, and
rules move lambda. What is here is what all learners share: episodes, multipliers, members that
fail.

A member's random numbers depend on its seed alone, not on its place or on who else is in the
population; members with the same seed start from the same weights and meet the same worlds,
whatever their lambda.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle import tasks, warm_start
from saddle.collect import collector, episodes, normalise
from saddle.collect.collector import EpochProgram
from saddle.collect.normalise import Moments
from saddle.collect.rollout import Rollout, Worlds, by_member
from saddle.collect.steps import contexts, no_moments
from saddle.config import Member
from saddle.cycles import PopulationCycles
from saddle.errors import SaddleError
from saddle.learners.settings import LearnerSettings
from saddle.members import (
    FINE,
    LEARN,
    MemberState,
    PopulationState,
    check_metrics,
    frozen,
    healthy,
    verdict,
)
from saddle.multipliers.stacked import Rules
from saddle.tasks import Task


class Population:
    """A plan of runs on one task, and the program that carries it out epoch by epoch."""

    def __init__(
        self,
        task: str | Task,
        settings: LearnerSettings,
        members: Sequence[Member],
        steps: int,
        engine: str | None = None,
    ) -> None:
        options = {} if engine is None else {"engine": engine}
        made: Any = tasks.make(task, **options) if isinstance(task, str) else task
        self.spec = made.spec
        self._world_bytes: int = getattr(made, "world_bytes", 0)
        self.task = task if isinstance(task, str) else self.spec.name
        self.settings = settings
        self.members = tuple(members)
        self.epochs = steps // settings.steps_per_epoch
        self._check(steps)
        self._seeds = jnp.array([member.seed for member in self.members], jnp.uint32)
        self._rules = Rules([member.rule for member in self.members])
        self._limits = jnp.array([member.limits for member in self.members], jnp.float32)
        self._learner = settings.learner(self.spec)
        self._start = warm_start.read(settings, self.spec)
        self._collector = collector.choose(made, settings, self._learner, len(self.members))
        self._begin = self._collector.compile(self._init)
        self._epoch = self._program()

    def _program(self) -> EpochProgram:
        """An epoch: one rollout and what is learned from it, or cycles of both."""
        settings = self.settings
        if not settings.in_cycles:
            return self._collector.epoch(self.rollout, self.learn)
        cycles = PopulationCycles(
            settings,
            self._learner,
            self._collector,
            self._rules,
            self._limits,
            worlds=settings.worlds_for(self.spec.episode_length),
            epochs=self.epochs,
            keys=self._keys,
        )
        return self._collector.epoch_of_cycles(cycles)

    def _check(self, steps: int) -> None:
        if not self.members:
            raise SaddleError("a population needs at least one member")
        if self.epochs < 1:
            each = self.settings.steps_per_epoch
            raise SaddleError(f"{steps} steps are less than one epoch of {each}; use more steps")
        constraints = self.spec.constraints
        for member in self.members:
            if len(member.limits) != len(constraints):
                raise SaddleError(
                    f"{self.task} has {len(constraints)} constraint(s) ({', '.join(constraints)}), "
                    f"but {len(member.limits)} limit(s) are given; give one limit per constraint"
                )
            member.rule.check_constraints(str(self.task), constraints)
            member.rule.check_limits(member.limits)
            self.settings.check_rule(member.rule)

    @property
    def member_bytes(self) -> int:
        """Memory that one more member takes, roughly: the learner's, and that of worlds that say
        how much they take.
        """
        learning = self.settings.member_bytes(
            self.spec.obs_dim, self.spec.action_dim, len(self.spec.constraints)
        )
        worlds = self.settings.worlds_for(self.spec.episode_length)
        return learning + worlds * self._world_bytes

    def init(self) -> PopulationState:
        """Before the first epoch. Each leaf has a buffer of its own, since an epoch takes them
        over.
        """
        return jax.tree.map(lambda leaf: leaf.copy(), self._begin())

    def init_shape(self) -> PopulationState:
        """Shapes and types of a state."""
        return self._collector.shape(self._init)

    def epoch_of(self, state: PopulationState) -> int:
        """Epochs done."""
        return int(state.epoch)

    def epoch(self, state: PopulationState) -> tuple[PopulationState, dict[str, np.ndarray]]:
        """One epoch of every member. Metrics are [M], or [M, m] where there is one per constraint.
        Consumes `state`.
        """
        state, found = self._epoch(state)
        metrics = {name: np.array(value) for name, value in found.items()}
        lost = metrics["failed"] > 0
        for value in metrics.values():
            if np.issubdtype(value.dtype, np.floating):
                value[lost] = np.nan
        return state, metrics

    @property
    def compiled(self) -> int:
        """How many programs an epoch has been compiled to: one, as long as states are alike."""
        return self._epoch.compiled

    def executable(self, state: PopulationState) -> Any:
        """The compiled epoch, for those who ask about its memory; None where worlds step on the
        host.
        """
        return self._epoch.executable(state)

    def compile(self, function: Callable) -> Callable:
        """A function of this population that collects, compiled as far as its worlds allow."""
        return self._collector.compile(function)

    def policy(self, state: PopulationState, i: int) -> dict[str, np.ndarray]:
        """Member i's policy as plain arrays, as policy.npz holds them."""
        learner, moments = jax.tree.map(
            lambda leaf: leaf[i], (state.members.learner, state.moments)
        )
        arrays = {name: np.asarray(value) for name, value in self._learner.policy(learner).items()}
        mean = np.asarray(moments.mean)
        variance = np.asarray(normalise.variance(moments))
        if not self.settings.obs_norm:
            mean = np.zeros_like(mean)
            variance = np.ones_like(variance)
        return arrays | {"obs_mean": mean, "obs_var": variance}

    def policy_facts(self) -> dict[str, Any]:
        """What policy.json says."""
        clip = self.settings.obs_clip if self.settings.obs_norm else None
        return {"task": self.task, **self._learner.policy_facts(), "obs_clip": clip}

    def _keys(self, epoch: Array | int) -> Array:
        """[M], of that epoch; -1 is that of the start."""

        def of_member(seed: Array) -> Array:
            return jax.random.fold_in(jax.random.key(seed), epoch + 1)

        return jax.vmap(of_member)(self._seeds)

    def _init(self) -> PopulationState:
        count = len(self.members)
        constraints = len(self.spec.constraints)
        learner = jax.vmap(self._learner.init)(self._keys(-1))
        multiplier = jax.vmap(lambda numbers: self._rules.init(numbers, constraints))(
            self._rules.numbers
        )
        window = jax.vmap(lambda _: episodes.empty(self.settings.window, constraints))(self._seeds)
        moments = no_moments(count, self.spec.obs_dim)
        if self._start is not None:
            learner = warm_start.begin(self._learner, learner, self._start)
            moments = warm_start.moments(self._start, count, self.settings.steps_per_epoch)
        members = MemberState(learner, multiplier, window, jnp.zeros(count, jnp.int32))
        worlds = None
        if self.settings.goes_on:
            worlds, recent = self._collector.fresh(moments, self._keys(0))
            worlds = self._collector.stagger(worlds)
            moments = jax.vmap(normalise.merge)(moments, recent)
        return PopulationState(jnp.zeros((), jnp.int32), members, moments, worlds)

    def fresh(self, state: PopulationState) -> tuple[Worlds, Moments]:
        """New worlds for this state's epoch, and the moments of what they show first."""
        return self._collector.fresh(state.moments, self._keys(state.epoch))

    def rollout(self, state: PopulationState) -> tuple[Worlds, Moments, Rollout]:
        """An epoch's steps, without what is learned from them."""
        keys = self._keys(state.epoch)
        if state.worlds is None:
            worlds, recent = self._collector.fresh(state.moments, keys)
        else:
            worlds = state.worlds
            recent = no_moments(len(self.members), self.spec.obs_dim)
        actor = self._learner.actor(state.members.learner)
        return self._collector.collect(actor, state.moments, recent, worlds, keys)

    def made_up_rollout(self, state: PopulationState) -> Rollout:
        """An epoch's numbers of the right shapes without a step of a world, for whoever times what
        is learned.
        """
        count = self.settings.worlds_for(self.spec.episode_length)
        steps = self.settings.steps_per_epoch // count
        shape = (steps, len(self.members), count)
        constraints = len(self.spec.constraints)
        context = contexts(self._learner, self._keys(0), count, 0)
        seen = self.spec.obs_dim + context.shape[-1]
        obs = jax.random.normal(jax.random.key(0), (*shape, seen))
        flags = jnp.zeros(shape, bool)
        actor = self._learner.actor(state.members.learner)
        over_members = jax.vmap(self._learner.act)
        decisions = jax.vmap(over_members, (None, 0, None))(actor, obs, self._keys(0))
        return Rollout(
            obs=obs,
            next_obs=obs,
            action=decisions.action,
            extras=decisions.extras,
            signal=jax.random.normal(jax.random.key(1), (*shape, 1 + constraints)),
            terminated=flags,
            ended=flags,
            truncated=flags,
            finished=jnp.zeros((*shape, 2 + constraints)),
            counted=flags,
        )

    def learn(
        self, state: PopulationState, worlds: Worlds | None, moments: Moments, rollout: Rollout
    ) -> tuple[PopulationState, dict[str, Array]]:
        """What an epoch does after its rollout, whose worlds the wide layout goes on with."""
        before = state.members
        finished = by_member(rollout.finished)
        counted = by_member(rollout.counted)
        window = jax.vmap(episodes.push)(before.window, finished, counted)
        recent = jax.vmap(episodes.mean)(window)
        multiplier = jax.vmap(self._rules.update)(
            before.multiplier, self._rules.numbers, recent[:, 2:], self._limits
        )

        well = healthy(rollout)
        active = (before.failed == FINE) & well
        keys = jax.vmap(lambda key: jax.random.fold_in(key, LEARN))(self._keys(state.epoch))
        progress = state.epoch / self.epochs
        learned = self._learner.learn(
            before.learner, rollout, multiplier.lam, keys, progress, active
        )

        check_metrics(self.settings, learned.metrics)
        failed = verdict(before.failed, well, learned.sound)
        after = MemberState(learned.state, multiplier, window, failed)
        after = frozen(failed, after, before._replace(failed=failed))
        metrics = {
            **episodes.metrics(finished, counted, window, recent, self._limits),
            "lambda": after.multiplier.lam,
            "failed": after.failed,
            **learned.metrics,
        }
        if rollout.diverged is not None:
            metrics["diverged"] = jnp.sum(rollout.diverged, (0, 2), dtype=jnp.int32)
        kept = worlds if self.settings.goes_on else None
        return PopulationState(state.epoch + 1, after, moments, kept), metrics
