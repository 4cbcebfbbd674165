"""Rollouts of worlds that step outside JAX, between two calls of a compiled policy."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Shaped

from saddle.collect import normalise
from saddle.collect.cycles import Cycles
from saddle.collect.host_epoch import HostCycles, HostEpoch
from saddle.collect.normalise import Moments
from saddle.collect.rollout import Agent, Decision, Rollout, Worlds
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
from saddle.cores import Cores
from saddle.tasks import autoreset
from saddle.tasks.host import HostTask, HostWorlds


class Shown(NamedTuple):
    """A `HostStep` of all worlds, by member and world."""

    obs: Shaped[Array | np.ndarray, "M W obs"]
    final_obs: Shaped[Array | np.ndarray, "M W obs"]
    reward: Shaped[Array | np.ndarray, "M W"]
    cost: Shaped[Array | np.ndarray, "M W m"]
    terminated: Shaped[Array | np.ndarray, "M W"]
    truncated: Shaped[Array | np.ndarray, "M W"]


class HostCollector:
    """Collects in a loop over steps."""

    def __init__(
        self,
        task: HostTask,
        settings: CollectSettings,
        agent: Agent,
        members: int,
        cores: int | None = None,
    ) -> None:
        self.task = task
        self.settings = settings
        self.members = members
        self.cores = Cores(members, 1)
        self.learning = Cores(members, cores, pad=False)
        self.count = settings.worlds_for(task.spec.episode_length)
        """Worlds of a member."""
        self._made: HostWorlds | None = None
        self._row: Rollout | None = None
        """Shapes of a step of the rollout, once they are known."""
        self._there: dict[str, np.ndarray] | None = None
        """The state that the worlds are in now, as it was handed out."""
        self._agent = agent
        self.act = jax.jit(partial(_act, agent))
        """(actor, seen, keys, t) -> Decision."""
        self.go_on = jax.jit(partial(_go_on, settings, agent), donate_argnames="rows")
        """What is computed between two steps of the worlds, as one program."""
        self._begin = jax.jit(partial(begin, settings), static_argnames="m")
        self._merge = jax.jit(jax.vmap(normalise.merge))

    @property
    def worlds(self) -> HostWorlds:
        """Of all members, made when they are first needed."""
        if self._made is None:
            self._made = self.task.worlds(self.members * self.count)
        return self._made

    def fresh(self, moments: Moments, keys: Array) -> tuple[Worlds, Moments]:
        """New worlds, and the moments of what they show first. keys [M] of this epoch."""
        bits = np.asarray(jax.vmap(jax.random.bits)(first_keys(keys, self.count))).astype(np.uint64)
        obs = self.worlds.reset(bits)
        drawn = contexts(self._agent, keys, self.count, 0)
        worlds, recent = self._started(moments, obs, drawn)
        # Worlds that begin anew in every epoch are told by their seeds, which costs nothing.
        self._there = {"seeds": bits} if self._together else self.worlds.save()
        return worlds._replace(state=self._there), recent

    def stagger(self, worlds: Worlds) -> Worlds:
        """As on the device; worlds whose episodes nobody can cut all begin at the beginning."""
        if not getattr(self.worlds, "may_be_cut", True):
            return worlds
        clocks = autoreset.clocks(self.worlds.spec.episode_length, self.count)
        steps = np.tile(clocks, self.members).astype(worlds.state["steps"].dtype)
        whole = jnp.tile(clocks == 0, (self.members, 1))
        return worlds._replace(state=worlds.state | {"steps": steps}, whole=whole)

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
        """As on the device."""
        every = self.settings.steps_per_epoch // self.count
        if steps is None:
            steps = every
        running = self._put(moments, worlds)._replace(state={})
        rows: Rollout | None = None
        decision: Decision = self.act(actor, running.seen, keys, first)
        for t in range(steps):
            shown = self.step(decision)
            if rows is None:
                rows = self.no_rows(steps, moments, recent, running, decision, shown, keys)
            running, recent, rows, decision = self.go_on(
                moments, recent, running, decision, shown, actor, keys, first + t, t, rows=rows
            )
        assert rows is not None
        if not self._together:
            # Nobody stops within an epoch, so only at its end worlds need to say where they are.
            self._there = self.worlds.save() if first + steps == every else {}
            running = running._replace(state=self._there)
        return running, self._merge(moments, recent), rows

    def step(self, decision: Decision) -> Shown:
        """Have the worlds do what was decided."""
        action = np.asarray(decision.action).reshape(self.members * self.count, -1)
        return Shown(*(self._split(array) for array in self.worlds.step(action)))

    @property
    def _together(self) -> bool:
        """Whether every epoch starts with fresh worlds, so that none is ever gone on with."""
        return not self.settings.goes_on

    def _started(self, moments: Moments, obs: np.ndarray, drawn: Array) -> tuple[Worlds, Moments]:
        """Worlds that have just been reset. obs [M * W, obs_dim], drawn [M, W, context]."""
        shown = jnp.asarray(obs, jnp.float32).reshape(self.members, self.count, -1)
        return self._begin(moments, {}, shown, drawn, m=len(self.worlds.spec.constraints))

    def _put(self, moments: Moments, worlds: Worlds) -> Worlds:
        """Have the worlds be where that state says. Where they are there already, as in every
        epoch after the first, nothing is loaded.
        """
        there = self._there
        self._there = None  # should a step fail, nobody knows where they are
        if worlds.state is there:
            return worlds
        if self._together:
            self.worlds.reset(worlds.state["seeds"])
            return worlds
        restarted = self.worlds.load(worlds.state)
        if restarted is None:
            return worlds
        context = worlds.seen[..., self.worlds.spec.obs_dim :]
        anew, _ = self._started(moments, restarted.obs, context)
        where = jnp.asarray(restarted.where).reshape(self.members, self.count)
        whole = anew.whole
        if restarted.cut_short is not None:
            whole = whole & ~self._split(restarted.cut_short)

        def chosen(new: Array, old: Array) -> Array:
            return jnp.where(where.reshape(*where.shape, *[1] * (new.ndim - 2)), new, old)

        return Worlds(
            worlds.state,
            seen=chosen(anew.seen, worlds.seen),
            totals=chosen(anew.totals, worlds.totals),
            whole=chosen(whole, worlds.whole),
        )

    def _split(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(self.members, self.count, *x.shape[1:])

    def no_rows(
        self,
        steps: int,
        moments: Moments,
        recent: Moments,
        running: Worlds,
        decision: Decision,
        shown: Shown,
        keys: Array,
    ) -> Rollout:
        """Room for so many steps, each of which looks like this one."""
        if self._row is None:
            after = partial(_after, self.settings, self._agent)
            _, _, self._row = jax.eval_shape(
                after, moments, recent, running, decision, shown, keys, 0
            )
        return jax.tree.map(lambda leaf: jnp.zeros((steps, *leaf.shape), leaf.dtype), self._row)

    def compile(self, function: Callable, inputs: Any, outputs: Any) -> Callable:
        """The function as it is: it steps outside JAX."""
        del inputs, outputs
        return function

    def place(self, state: Any, specs: Any) -> Any:
        """All of it on one core, where epochs bring it back to."""
        del specs
        return self.learning.gather(state._replace(worlds=None))._replace(worlds=state.worlds)

    def shape(self, function: Callable[[], Any]) -> Any:
        """What the function returns, whose shapes and types are wanted."""
        return function()

    def epoch(self, rollout: Callable, learn: Callable, state: Any) -> HostEpoch:
        """Collecting as it is, then learning as one program."""
        return HostEpoch(rollout, learn, self.learning, state)

    def epoch_of_cycles(self, cycles: Cycles, state: Any) -> HostCycles:
        """Each cycle's learning as one program."""
        del state
        return HostCycles(cycles)


def _act(agent: Agent, actor: Any, seen: Array, keys: Array, t: int) -> Decision:
    """All members' decisions at step t."""
    step_keys = jax.vmap(acting_key, (0, None))(keys, t)
    return jax.vmap(agent.act)(actor, seen, step_keys)


def _after(
    settings: CollectSettings,
    agent: Agent,
    moments: Moments,
    recent: Moments,
    running: Worlds,
    decision: Decision,
    shown: Shown,
    keys: Array,
    t: int,
) -> tuple[Worlds, Moments, Rollout]:
    """What follows from step t of all members' worlds [M, W]: where they are, the moments, and the
    step as a row of the rollout.
    """
    signal = jnp.concatenate([shown.reward[..., None], shown.cost], -1).astype(jnp.float32)
    terminated = jnp.asarray(shown.terminated)
    truncated = jnp.asarray(shown.truncated)
    ended = terminated | truncated
    recent, seen, final = jax.vmap(partial(look, settings))(
        moments, recent, jnp.asarray(shown.obs), jnp.asarray(shown.final_obs), ended
    )
    drawn = contexts(agent, keys, ended.shape[1], t + 1)
    seen, final = with_context(running.seen, seen, final, ended, drawn)
    totals, whole, row = account(running, decision, final, signal, terminated, truncated)
    return Worlds({}, seen, totals, whole), recent, row


def _go_on(
    settings: CollectSettings,
    agent: Agent,
    moments: Moments,
    recent: Moments,
    running: Worlds,
    decision: Decision,
    shown: Shown,
    actor: Any,
    keys: Array,
    t: int,
    place: int,
    rows: Rollout,
) -> tuple[Worlds, Moments, Rollout, Decision]:
    """Step t of the epoch written into its place among `rows` [T, M, W, ...], and the decisions of
    the next: one call, since each costs as much as what a small policy computes. Nobody carries out
    what is decided after the last step.
    """
    running, recent, row = _after(
        settings, agent, moments, recent, running, decision, shown, keys, t
    )
    rows = jax.tree.map(lambda every, own: every.at[place].set(own), rows, row)
    return running, recent, rows, _act(agent, actor, running.seen, keys, t + 1)
