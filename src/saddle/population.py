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
from functools import partial
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
from saddle.cores import BY_MEMBER, BY_STEP, SHARED
from saddle.cycles import PopulationCycles
from saddle.errors import SaddleError
from saddle.learners.settings import LearnerSettings
from saddle.members import (
    FINE,
    LEARN,
    MemberState,
    PopulationState,
    Roster,
    check_metrics,
    frozen,
    healthy,
    verdict,
)
from saddle.multipliers.stacked import Rules
from saddle.tasks import Task

STATE = PopulationState(epoch=SHARED, members=BY_MEMBER, moments=BY_MEMBER, worlds=BY_MEMBER)  # type: ignore[arg-type]
"""How members lie in a state."""


class Population:
    """A plan of runs on one task, and the program that carries it out epoch by epoch."""

    def __init__(
        self,
        task: str | Task,
        settings: LearnerSettings,
        members: Sequence[Member],
        steps: int,
        engine: str | None = None,
        cores: int | None = None,
    ) -> None:
        """cores: of a CPU, over which the members are spread; all that JAX sees unless given."""
        options = {} if engine is None else {"engine": engine}
        made: Any = tasks.make(task, **options) if isinstance(task, str) else task
        self.spec = made.spec
        self._world_bytes: int = getattr(made, "world_bytes", 0)
        self.task = task if isinstance(task, str) else self.spec.name
        self._spaces: dict[str, Any] | None = getattr(made, "spaces", None)
        self.settings = settings
        self.members = tuple(members)
        self.epochs = steps // settings.steps_per_epoch
        self._check(steps)
        self._rules = Rules([member.rule for member in self.members])
        self._own = Roster(
            seeds=jnp.array([member.seed for member in self.members], jnp.uint32),
            numbers=self._rules.numbers,
            limits=jnp.array([member.limits for member in self.members], jnp.float32),
        )
        self._learner = settings.learner(self.spec)
        self._start = warm_start.read(settings, self.spec)
        if self._start is not None:
            warm_start.check(self._learner, self._start)
        self._collector = collector.choose(made, settings, self._learner, len(self.members), cores)
        self.cores = self._collector.cores
        """Over which the members of a state are spread."""
        self.learning_cores = self._collector.learning
        """Over which they are spread while they learn."""
        self.roster = self.cores.place(self.cores.pad(self._own), BY_MEMBER)
        """Of all members, and of those that fill up the last core."""
        self._begin = self._collector.compile(self._init, (BY_MEMBER,), STATE)
        self._epoch = self._program()

    def _program(self) -> EpochProgram:
        """An epoch: one rollout and what is learned from it, or cycles of both."""
        settings = self.settings
        if not settings.in_cycles:
            return self._collector.epoch(self.rollout, self.learn, STATE)
        cycles = PopulationCycles(
            settings,
            self._learner,
            self._collector,
            self._rules,
            worlds=settings.worlds_for(self.spec.episode_length),
            epochs=self.epochs,
        )
        return self._collector.epoch_of_cycles(cycles, STATE)

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
        begun = jax.tree.map(lambda leaf: leaf.copy(), self._begin(self.roster))
        return self._collector.place(begun, STATE)

    def saved_shape(self) -> PopulationState:
        """Shapes and types of a state as it is saved."""
        return self._collector.shape(partial(self._init, self._own))

    def to_save(self, state: PopulationState) -> PopulationState:
        """A state, or a copy of one, as it is saved: however many cores there are."""
        return self.cores.strip(state)

    def restored(self, saved: PopulationState) -> PopulationState:
        """The state that `to_save` made this of, for the cores of this machine."""
        return self._collector.place(self.cores.pad(saved), STATE)

    def epoch_of(self, state: PopulationState) -> int:
        """Epochs done."""
        return int(state.epoch)

    def epoch(self, state: PopulationState) -> tuple[PopulationState, dict[str, np.ndarray]]:
        """One epoch of every member. Metrics are [M], or [M, m] where there is one per constraint.
        Consumes `state`.
        """
        state, found = self._epoch(self.roster, state)
        count = len(self.members)
        metrics = {name: np.array(value)[:count] for name, value in found.items()}
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
        return self._epoch.executable(self.roster, state)

    def compiled_fresh(self) -> Callable[[PopulationState], tuple[Worlds, Moments]]:
        """`fresh` of all members, compiled as far as worlds allow."""
        outputs = (BY_MEMBER, BY_MEMBER)
        fresh = self._collector.compile(self.fresh, (BY_MEMBER, STATE), outputs)
        return partial(fresh, self.roster)

    def compiled_rollout(self) -> Callable[[PopulationState], tuple[Worlds, Moments, Rollout]]:
        """`rollout` of all members, compiled as far as worlds allow."""
        outputs = (BY_MEMBER, BY_MEMBER, BY_STEP)
        rollout = self._collector.compile(self.rollout, (BY_MEMBER, STATE), outputs)
        return partial(rollout, self.roster)

    def compiled_learning(self) -> Callable[[PopulationState, Rollout], dict[str, Array]]:
        """What all members learn from an epoch's steps: its metrics."""

        def learn(roster: Roster, state: PopulationState, rollout: Rollout) -> dict[str, Array]:
            return self.learn(roster, state, None, state.moments, rollout)[1]

        inputs = (BY_MEMBER, STATE, BY_STEP)
        program = jax.jit(self.learning_cores.split(learn, inputs, BY_MEMBER))
        roster = self.learning_cores.place(self.roster, BY_MEMBER)

        def placed(state: PopulationState, rollout: Rollout) -> dict[str, Array]:
            return program(roster, *self.learning_cores.place((state, rollout), inputs[1:]))

        return placed

    def made_up_rollout(self, state: PopulationState) -> Rollout:
        """An epoch's numbers of the right shapes without a step of a world, for whoever times what
        is learned.
        """
        made_up = self.cores.split(self._made_up_rollout, (BY_MEMBER, STATE), BY_STEP)
        return jax.jit(made_up)(self.roster, state)

    def policy(self, state: PopulationState, i: int) -> dict[str, np.ndarray]:
        """Member i's policy as plain arrays, as policy.npz holds them."""
        learner, moments = self.cores.member((state.members.learner, state.moments), i)
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
        facts = {"task": self.task, **self._learner.policy_facts(), "obs_clip": clip}
        if self._spaces is not None:
            facts["spaces"] = self._spaces
        return facts

    def _init(self, roster: Roster) -> PopulationState:
        (count,) = roster.seeds.shape
        constraints = len(self.spec.constraints)
        learner = jax.vmap(self._learner.init)(roster.keys(-1))
        multiplier = jax.vmap(lambda numbers: self._rules.init(numbers, constraints))(
            roster.numbers
        )
        window = jax.vmap(lambda _: episodes.empty(self.settings.window, constraints))(roster.seeds)
        moments = no_moments(count, self.spec.obs_dim)
        if self._start is not None:
            learner = warm_start.begin(self._learner, learner, self._start)
            moments = warm_start.moments(self._start, count, self.settings.steps_per_epoch)
        members = MemberState(learner, multiplier, window, jnp.zeros(count, jnp.int32))
        worlds = None
        if self.settings.goes_on:
            worlds, recent = self._collector.fresh(moments, roster.keys(0))
            worlds = self._collector.stagger(worlds)
            moments = jax.vmap(normalise.merge)(moments, recent)
        return PopulationState(jnp.zeros((), jnp.int32), members, moments, worlds)

    def fresh(self, roster: Roster, state: PopulationState) -> tuple[Worlds, Moments]:
        """New worlds for this state's epoch, and the moments of what they show first."""
        return self._collector.fresh(state.moments, roster.keys(state.epoch))

    def rollout(self, roster: Roster, state: PopulationState) -> tuple[Worlds, Moments, Rollout]:
        """An epoch's steps, without what is learned from them."""
        keys = roster.keys(state.epoch)
        if state.worlds is None:
            worlds, recent = self._collector.fresh(state.moments, keys)
        else:
            worlds = state.worlds
            recent = no_moments(keys.shape[0], self.spec.obs_dim)
        actor = self._learner.actor(state.members.learner)
        return self._collector.collect(actor, state.moments, recent, worlds, keys)

    def _made_up_rollout(self, roster: Roster, state: PopulationState) -> Rollout:
        count = self.settings.worlds_for(self.spec.episode_length)
        steps = self.settings.steps_per_epoch // count
        keys = roster.keys(0)
        shape = (steps, keys.shape[0], count)
        constraints = len(self.spec.constraints)
        context = contexts(self._learner, keys, count, 0)
        seen = self.spec.obs_dim + context.shape[-1]
        obs = jax.random.normal(jax.random.key(0), (*shape, seen))
        flags = jnp.zeros(shape, bool)
        actor = self._learner.actor(state.members.learner)
        over_members = jax.vmap(self._learner.act)
        decisions = jax.vmap(over_members, (None, 0, None))(actor, obs, keys)
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
        self,
        roster: Roster,
        state: PopulationState,
        worlds: Worlds | None,
        moments: Moments,
        rollout: Rollout,
    ) -> tuple[PopulationState, dict[str, Array]]:
        """What an epoch does after its rollout, whose worlds the wide layout goes on with."""
        before = state.members
        finished = by_member(rollout.finished)
        counted = by_member(rollout.counted)
        window = jax.vmap(episodes.push)(before.window, finished, counted)
        recent = jax.vmap(episodes.mean)(window)
        multiplier = jax.vmap(self._rules.update)(
            before.multiplier, roster.numbers, recent[:, 2:], roster.limits
        )

        well = healthy(rollout)
        active = (before.failed == FINE) & well
        keys = jax.vmap(lambda key: jax.random.fold_in(key, LEARN))(roster.keys(state.epoch))
        progress = state.epoch / self.epochs
        learned = self._learner.learn(
            before.learner, rollout, multiplier.lam, keys, progress, active
        )

        failed = verdict(before.failed, well, learned.sound)
        after = MemberState(learned.state, multiplier, window, failed)
        after = frozen(failed, after, before._replace(failed=failed))
        moments = frozen(failed, moments, state.moments)
        metrics = {
            **episodes.metrics(finished, counted, window, recent, roster.limits),
            "lambda": after.multiplier.lam,
            "failed": after.failed,
        }
        if rollout.diverged is not None:
            metrics["diverged"] = jnp.sum(rollout.diverged, (0, 2), dtype=jnp.int32)
        check_metrics(self.settings, learned.metrics, metrics)
        kept = worlds if self.settings.goes_on else None
        return PopulationState(state.epoch + 1, after, moments, kept), metrics | learned.metrics
