"""Rollouts of worlds that step outside JAX, between two calls of a compiled policy."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.collect import normalise
from saddle.collect.normalise import Moments
from saddle.collect.rollout import Agent, Decision, Rollout, Worlds
from saddle.collect.settings import CollectSettings
from saddle.collect.steps import account, acting_key, begin, first_keys, look
from saddle.tasks import autoreset
from saddle.tasks.host import HostTask, HostWorlds


class HostCollector:
    """Collects in a loop over steps."""

    def __init__(
        self, task: HostTask, settings: CollectSettings, agent: Agent, members: int
    ) -> None:
        self.task = task
        self.settings = settings
        self.members = members
        self.count = settings.worlds_for(task.spec.episode_length)
        """Worlds of a member."""
        self._made: HostWorlds | None = None
        self._there: dict[str, np.ndarray] | None = None
        """The state that the worlds are in now, as it was handed out."""
        self._act = jax.jit(partial(_act, agent))
        self._look = jax.jit(jax.vmap(partial(look, settings)))
        self._account = jax.jit(account)
        self._begin = jax.jit(partial(begin, settings), static_argnames="m")
        self._merge = jax.jit(jax.vmap(normalise.merge))

    @property
    def _worlds(self) -> HostWorlds:
        """Of all members, made when they are first needed."""
        if self._made is None:
            self._made = self.task.worlds(self.members * self.count)
        return self._made

    def fresh(self, moments: Moments, keys: Array) -> tuple[Worlds, Moments]:
        """New worlds, and the moments of what they show first. keys [M] of this epoch."""
        bits = np.asarray(jax.vmap(jax.random.bits)(first_keys(keys, self.count))).astype(np.uint64)
        obs = self._worlds.reset(bits)
        worlds, recent = self._started(moments, obs)
        # Worlds that begin anew in every epoch are told by their seeds, which costs nothing.
        self._there = {"seeds": bits} if self._together else self._worlds.save()
        return worlds._replace(state=self._there), recent

    def stagger(self, worlds: Worlds) -> Worlds:
        """As on the device."""
        clocks = autoreset.clocks(self._worlds.spec.episode_length, self.count)
        steps = np.tile(clocks, self.members).astype(worlds.state["steps"].dtype)
        whole = jnp.tile(clocks == 0, (self.members, 1))
        return worlds._replace(state=worlds.state | {"steps": steps}, whole=whole)

    def collect(
        self, actor: Any, moments: Moments, recent: Moments, worlds: Worlds, keys: Array
    ) -> tuple[Worlds, Moments, Rollout]:
        """As on the device."""
        running = self._put(moments, worlds)._replace(state={})
        rows = []
        for t in range(self.settings.steps_per_epoch // self.count):
            decision: Decision = self._act(actor, running.seen, keys, t)
            action = np.asarray(decision.action).reshape(self.members * self.count, -1)
            now = self._worlds.step(action)
            signal = self._split(
                np.concatenate([now.reward[:, None], now.cost], -1).astype(np.float32)
            )
            terminated = self._split(now.terminated)
            ended = self._split(now.terminated | now.truncated)
            recent, seen, final = self._look(
                moments, recent, self._split(now.obs), self._split(now.final_obs), ended
            )
            totals, whole, row = self._account(running, decision, final, signal, terminated, ended)
            running = Worlds({}, seen, totals, whole)
            rows.append(row)
        rollout = jax.tree.map(lambda *xs: jnp.stack(xs), *rows)
        if not self._together:
            self._there = self._worlds.save()
            running = running._replace(state=self._there)
        return running, self._merge(moments, recent), rollout

    @property
    def _together(self) -> bool:
        """Whether every epoch starts with fresh worlds, so that none is ever gone on with."""
        return self.settings.layout == "study"

    def _started(self, moments: Moments, obs: np.ndarray) -> tuple[Worlds, Moments]:
        """Worlds that have just been reset. obs [M * W, obs_dim]."""
        shown = jnp.asarray(obs, jnp.float32).reshape(self.members, self.count, -1)
        return self._begin(moments, {}, shown, m=len(self._worlds.spec.constraints))

    def _put(self, moments: Moments, worlds: Worlds) -> Worlds:
        """Have the worlds be where that state says. Where they are there already, as in every
        epoch after the first, nothing is loaded.
        """
        there = self._there
        self._there = None  # should a step fail, nobody knows where they are
        if worlds.state is there:
            return worlds
        if self._together:
            self._worlds.reset(worlds.state["seeds"])
            return worlds
        restarted = self._worlds.load(worlds.state)
        if restarted is None:
            return worlds
        anew, _ = self._started(moments, restarted.obs)
        where = jnp.asarray(restarted.where).reshape(self.members, self.count)

        def chosen(new: Array, old: Array) -> Array:
            return jnp.where(where.reshape(*where.shape, *[1] * (new.ndim - 2)), new, old)

        return Worlds(
            worlds.state,
            seen=chosen(anew.seen, worlds.seen),
            totals=chosen(anew.totals, worlds.totals),
            whole=chosen(anew.whole, worlds.whole),
        )

    def _split(self, x: np.ndarray) -> Array:
        return jnp.asarray(x).reshape(self.members, self.count, *x.shape[1:])

    def compile(self, function: Callable) -> Callable:
        """The function as it is: it steps outside JAX."""
        return function

    def shape(self, function: Callable[[], Any]) -> Any:
        """What the function returns, whose shapes and types are wanted."""
        return function()

    def epoch(self, rollout: Callable, learn: Callable) -> "HostEpoch":
        """Collecting as it is, then learning as one program."""
        return HostEpoch(rollout, learn)


def _act(agent: Agent, actor: Any, seen: Array, keys: Array, t: int) -> Decision:
    """All members' decisions at step t."""
    step_keys = jax.vmap(acting_key, (0, None))(keys, t)
    return jax.vmap(agent.act)(actor, seen, step_keys)


class HostEpoch:
    """An epoch of which only the learning is a program. The worlds' own state passes it by: it is
    no array of JAX.
    """

    def __init__(self, rollout: Callable, learn: Callable) -> None:
        self._rollout = rollout
        self._learn = jax.jit(learn, donate_argnums=0)

    def __call__(self, state: Any) -> tuple[Any, dict[str, Array]]:
        """The state after the epoch, and its metrics."""
        worlds, moments, rollout = self._rollout(state)
        saved = worlds.state
        state, metrics = self._learn(
            state._replace(worlds=None), worlds._replace(state={}), moments, rollout
        )
        if state.worlds is not None:
            state = state._replace(worlds=state.worlds._replace(state=saved))
        return state, metrics

    @property
    def compiled(self) -> int:
        """How many programs its learning has been compiled to."""
        return self._learn._cache_size()  # type: ignore[attr-defined]

    def executable(self, state: Any) -> Any:
        """None: there is no one program of an epoch."""
        return None
