"""Rollouts of a JAX task: an epoch's steps of every member as one scan."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.collect import normalise
from saddle.collect.cycles import Cycles
from saddle.collect.normalise import Moments
from saddle.collect.rollout import Agent, Rollout, Worlds
from saddle.collect.settings import CollectSettings
from saddle.collect.steps import (
    account,
    acting_key,
    begin,
    contexts,
    first_keys,
    look,
    with_context,
)
from saddle.cores import BY_MEMBER, Cores
from saddle.tasks import Task, autoreset


class DeviceCollector:
    """Collects inside the compiled program."""

    def __init__(
        self,
        task: Task,
        settings: CollectSettings,
        agent: Agent,
        members: int,
        cores: int | None = None,
    ) -> None:
        self.task = task
        self.settings = settings
        self.agent = agent
        self.cores = self.learning = Cores(members, cores)
        self.count = settings.worlds_for(task.spec.episode_length)
        """Worlds of a member."""

    def fresh(self, moments: Moments, keys: Array) -> tuple[Worlds, Moments]:
        """New worlds, and the moments of what they show first. keys [M] of this epoch."""
        state = autoreset.reset(self.task, first_keys(keys, self.count))
        obs = state.obs.reshape(keys.shape[0], self.count, -1)
        drawn = contexts(self.agent, keys, self.count, 0)
        return begin(self.settings, moments, state, obs, drawn, len(self.task.spec.constraints))

    def stagger(self, worlds: Worlds) -> Worlds:
        """Spread the clocks over an episode, so that a steady share ends at every step.

        The episodes that are cut short by that do not count.
        """
        clocks = autoreset.clocks(self.task.spec.episode_length, self.count)
        members = worlds.whole.shape[0]
        steps = jnp.asarray(np.tile(clocks, members), worlds.state.steps.dtype)
        whole = jnp.tile(clocks == 0, (members, 1))
        return worlds._replace(state=replace(worlds.state, steps=steps), whole=whole)

    def collect(
        self,
        actor: Any,
        moments: Moments,
        recent: Moments,
        worlds: Worlds,
        keys: Array,
        first: Array | int = 0,
        steps: int | None = None,
    ) -> tuple[Worlds, Moments, Rollout]:
        """Steps of an epoch. Returns the moments of all observations so far."""
        members = keys.shape[0]
        together = not self.settings.goes_on  # then every epoch starts with fresh worlds
        if steps is None:
            steps = self.settings.steps_per_epoch // self.count

        def split(x: Array) -> Array:
            return x.reshape(members, self.count, *x.shape[1:])

        def step(carry: tuple[Worlds, Moments], t: Array) -> tuple[tuple[Worlds, Moments], Rollout]:
            worlds, recent = carry
            step_keys = jax.vmap(acting_key, (0, None))(keys, t)
            decision = jax.vmap(self.agent.act)(actor, worlds.seen, step_keys)
            action = decision.action.reshape(members * self.count, -1)
            now, then = autoreset.step(self.task, worlds.state, action, together)
            signal = split(jnp.concatenate([then.reward[:, None], then.cost], -1))
            terminated = split(then.terminated)
            truncated = split(then.truncated)
            ended = terminated | truncated
            recent, seen, final = jax.vmap(partial(look, self.settings))(
                moments, recent, split(now.obs), split(then.obs), ended
            )
            drawn = contexts(self.agent, keys, self.count, t + 1)
            seen, final = with_context(worlds.seen, seen, final, ended, drawn)
            totals, whole, row = account(worlds, decision, final, signal, terminated, truncated)
            diverged = getattr(then, "diverged", None)
            if diverged is not None:
                row = row._replace(diverged=split(diverged))
            return (Worlds(now, seen, totals, whole), recent), row

        (worlds, recent), rollout = jax.lax.scan(step, (worlds, recent), first + jnp.arange(steps))
        return worlds, jax.vmap(normalise.merge)(moments, recent), rollout

    def compile(self, function: Callable, inputs: Any, outputs: Any) -> Callable:
        """A function that collects, as one program."""
        return jax.jit(self.cores.split(function, inputs, outputs))

    def place(self, state: Any, specs: Any) -> Any:
        """Each member on its core."""
        return self.cores.place(state, specs)

    def shape(self, function: Callable[[], Any]) -> Any:
        """Shapes and types of what a function that collects returns."""
        return jax.eval_shape(function)

    def epoch(self, rollout: Callable, learn: Callable, state: Any) -> "DeviceEpoch":
        """Collecting and learning as one program."""

        def epoch(roster: Any, state: Any) -> tuple[Any, dict[str, Array]]:
            return learn(roster, state, *rollout(roster, state))

        return self._epoch(epoch, state)

    def epoch_of_cycles(self, cycles: Cycles, state: Any) -> "DeviceEpoch":
        """All cycles of an epoch as one program."""

        def epoch(roster: Any, state: Any) -> tuple[Any, dict[str, Array]]:
            def cycle(state: Any, number: Array) -> tuple[Any, Any]:
                return cycles.learn(roster, state, number, *cycles.rollout(roster, state, number))

            return cycles.close(roster, *jax.lax.scan(cycle, state, jnp.arange(cycles.count)))

        return self._epoch(epoch, state)

    def _epoch(self, epoch: Callable, state: Any) -> "DeviceEpoch":
        return DeviceEpoch(self.cores.split(epoch, (BY_MEMBER, state), (state, BY_MEMBER)))


class DeviceEpoch:
    """An epoch as one program, which takes the state over."""

    def __init__(self, epoch: Callable[[Any, Any], tuple[Any, dict[str, Array]]]) -> None:
        self.compiled = 0
        """How many programs it has been compiled to."""

        def counted(roster: Any, state: Any) -> tuple[Any, dict[str, Array]]:
            self.compiled += 1  # traced, not run: once for every program
            return epoch(roster, state)

        self._program = jax.jit(counted, donate_argnums=1)

    def __call__(self, roster: Any, state: Any) -> tuple[Any, dict[str, Array]]:
        """The state after the epoch, and its metrics."""
        return self._program(roster, state)

    def executable(self, roster: Any, state: Any) -> Any:
        """The compiled program, for those who ask about its memory."""
        return self._program.lower(roster, state).compile()
