"""Many runs as one program: members that differ in seed, rule and limit, stacked along a first axis.

A member's random numbers depend on its seed alone, not on its place or on who else is in the population; members with
the same seed start from the same weights and meet the same worlds, whatever their lambda.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle import collect, tasks
from saddle.collect import HostCollector, Worlds
from saddle.config import PPO, Member
from saddle.errors import SaddleError
from saddle.learners import episodes, normalise
from saddle.learners import ppo as one
from saddle.learners.epoch import REASONS, Drive, Pupil, learn
from saddle.learners.normalise import Moments
from saddle.multipliers.stacked import Rules
from saddle.study import room
from saddle.tasks import Task

__all__ = ["REASONS", "Population", "PopulationState"]

INIT, LEARN = 0, 2  # what a member's key, and its epoch's key, are folded with (collect.RESET and ACT are 0 and 1)
CHUNK = {"cpu": 1, "gpu": 250}  # members that take a pass together


class PopulationState(NamedTuple):
    """Everything that the next epoch depends on."""

    epoch: Array  # [] int32, epochs done
    pupil: Pupil
    moments: Moments  # [M], of observations
    worlds: Worlds | None  # None in the layout 'study', which starts every epoch with fresh ones


class Population:
    """A plan of runs on one task, and the program that carries it out epoch by epoch."""

    def __init__(
        self, task: str | Task, ppo: PPO, members: Sequence[Member], steps: int, engine: str | None = None
    ) -> None:
        options = {} if engine is None else {"engine": engine}
        self._task = tasks.make(task, **options) if isinstance(task, str) else task
        self.on_host = tasks.on_host(self._task)
        self.spec, self.ppo, self.members = self._task.spec, ppo, tuple(members)
        self.task = self.spec.name
        self.epochs = steps // ppo.steps_per_epoch
        self._check(steps)
        self._seeds = jnp.array([member.seed for member in self.members], jnp.uint32)
        self._rules = Rules([member.rule for member in self.members])
        self._limits = jnp.array([member.limits for member in self.members], jnp.float32)
        self._chunk = CHUNK.get(jax.default_backend(), CHUNK["gpu"])
        self._first = self._init if self.on_host else jax.jit(self._init)
        self._program = jax.jit(self._epoch, donate_argnums=0)
        self._learn = jax.jit(self.learn, donate_argnums=0)

    def _check(self, steps: int) -> None:
        if not self.members:
            raise SaddleError("a population needs at least one member")
        if self.epochs < 1:
            raise SaddleError(f"{steps} steps are less than one epoch of {self.ppo.steps_per_epoch}; use more steps")
        m = len(self.spec.constraints)
        for member in self.members:
            if len(member.limits) != m:
                raise SaddleError(
                    f"{self.task} has {m} constraint(s) ({', '.join(self.spec.constraints)}), "
                    f"but {len(member.limits)} limit(s) are given; give one limit per constraint"
                )

    @property
    def member_bytes(self) -> int:
        """Device memory that one more member takes, roughly."""
        spec = self.spec
        return room.member_bytes(self.ppo, spec.obs_dim, spec.action_dim, len(spec.constraints), one.BLOCK)

    def init(self) -> PopulationState:
        """Before the first epoch. Each leaf has a buffer of its own, since an epoch takes them over."""
        return jax.tree.map(lambda leaf: leaf.copy(), self._first())

    def init_shape(self) -> PopulationState:
        """Shapes and types of a state."""
        return self._init() if self.on_host else jax.eval_shape(self._init)

    def epoch_of(self, state: PopulationState) -> int:
        """Epochs done."""
        return int(state.epoch)

    def epoch(self, state: PopulationState) -> tuple[PopulationState, dict[str, np.ndarray]]:
        """One epoch of every member. Metrics are [M], or [M, m] where there is one per constraint. Consumes `state`."""
        state, metrics = self._host_epoch(state) if self.on_host else self._program(state)
        metrics = {name: np.array(value) for name, value in metrics.items()}
        lost = metrics["failed"] > 0
        for value in metrics.values():
            if np.issubdtype(value.dtype, np.floating):
                value[lost] = np.nan
        return state, metrics

    @property
    def compiled(self) -> int:
        """How many programs an epoch has been compiled to: one, as long as states are alike."""
        return self._program._cache_size()  # type: ignore[attr-defined]

    def executable(self, state: PopulationState) -> Any:
        """The compiled epoch, for those who ask about its memory."""
        return self._program.lower(state).compile()

    def policy(self, state: PopulationState, i: int) -> dict[str, np.ndarray]:
        """Member i's policy as plain arrays, as policy.npz holds them."""
        actor, moments = jax.tree.map(lambda leaf: leaf[i], (state.pupil.learner.actor, state.moments))
        arrays = {
            f"{kind}{n}": np.asarray(layer[j]) for n, layer in enumerate(actor.net) for j, kind in enumerate("wb")
        }
        mean, var = np.asarray(moments.mean), np.asarray(normalise.variance(moments))
        if not self.ppo.obs_norm:
            mean, var = np.zeros_like(mean), np.ones_like(var)
        return arrays | {"log_std": np.asarray(actor.log_std), "obs_mean": mean, "obs_var": var}

    def policy_facts(self) -> dict[str, Any]:
        """What policy.json says."""
        clip = self.ppo.obs_clip if self.ppo.obs_norm else None
        ppo = self.ppo
        return {"task": self.task, "activation": ppo.activation, "hidden": list(ppo.hidden), "obs_clip": clip}

    def _keys(self, epoch: Array | int) -> Array:
        """[M], of that epoch; INIT is none's."""
        return jax.vmap(lambda seed: jax.random.fold_in(jax.random.key(seed), epoch + 1))(self._seeds)

    def _init(self) -> PopulationState:
        m, spec = len(self.spec.constraints), self.spec
        keys = self._keys(-1)
        learner = jax.vmap(lambda key: one.init(key, self.ppo, spec.obs_dim, spec.action_dim, m))(keys)
        multiplier = jax.vmap(lambda numbers: self._rules.init(numbers, m))(self._rules.numbers)
        window = jax.vmap(lambda _: episodes.empty(self.ppo.window, m))(self._seeds)
        pupil = Pupil(learner, multiplier, window, jnp.zeros(len(self.members), jnp.int32))
        moments, worlds = collect.no_moments(len(self.members), spec.obs_dim), None
        if self.ppo.layout == "wide":
            worlds, recent = self._fresh_worlds(moments, self._keys(0))
            worlds = collect.stagger(spec.episode_length, worlds)
            moments = jax.vmap(normalise.merge)(moments, recent)
        return PopulationState(jnp.zeros((), jnp.int32), pupil, moments, worlds)

    @functools.cached_property
    def _host(self) -> HostCollector:
        count = len(self.members) * self.ppo.worlds_for(self.spec.episode_length)
        return HostCollector(tasks.host_worlds(self.task, count), self.ppo, len(self.members))

    def fresh(self, state: PopulationState) -> tuple[Worlds, Moments]:
        """New worlds for this state's epoch, and the moments of what they show first."""
        return self._fresh_worlds(state.moments, self._keys(state.epoch))

    def _fresh_worlds(self, moments: Moments, keys: Array) -> tuple[Worlds, Moments]:
        if self.on_host:
            return self._host.fresh(moments, keys)
        return collect.fresh(self._task, self.ppo, moments, keys)

    def _start(self, state: PopulationState, keys: Array) -> tuple[Worlds, Moments]:
        """Worlds to go on with, and the moments of this epoch so far."""
        if state.worlds is None:
            return self._fresh_worlds(state.moments, keys)
        return state.worlds, collect.no_moments(len(self.members), self.spec.obs_dim)

    def rollout(self, state: PopulationState) -> tuple[Worlds, Moments, collect.Rollout]:
        """An epoch's steps, without what is learned from them."""
        keys = self._keys(state.epoch)
        worlds, recent = self._start(state, keys)
        actor = state.pupil.learner.actor
        if self.on_host:
            return self._host.collect(actor, state.moments, recent, worlds, keys)
        return collect.on_device(self._task, self.ppo, actor, state.moments, recent, worlds, keys)

    def _epoch(self, state: PopulationState) -> tuple[PopulationState, dict[str, Array]]:
        return self.learn(state, *self.rollout(state))

    def _host_epoch(self, state: PopulationState) -> tuple[PopulationState, dict[str, Array]]:
        worlds, moments, rollout = self.rollout(state)
        saved = worlds.state
        state, metrics = self._learn(state._replace(worlds=None), worlds._replace(state={}), moments, rollout)
        if state.worlds is not None:
            state = state._replace(worlds=state.worlds._replace(state=saved))
        return state, metrics

    def learn(
        self, state: PopulationState, worlds: Worlds | None, moments: Moments, rollout: collect.Rollout
    ) -> tuple[PopulationState, dict[str, Array]]:
        """What an epoch does after its rollout, whose worlds the wide layout goes on with."""
        ppo = self.ppo
        left = 1 - state.epoch / self.epochs if ppo.lr_decay else jnp.ones(())
        keys = jax.vmap(lambda key: jax.random.fold_in(key, LEARN))(self._keys(state.epoch))
        drive = Drive(self._rules.numbers, self._limits, keys)
        pupil, metrics = learn(ppo, self._rules, state.pupil, rollout, drive, ppo.actor_lr * left, self._chunk)
        kept = worlds if ppo.layout == "wide" else None
        return PopulationState(state.epoch + 1, pupil, moments, kept), metrics
