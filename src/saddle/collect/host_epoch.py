"""Epochs whose worlds step on the host: collecting between the calls of programs that learn."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from saddle.collect.cycles import Cycles
from saddle.cores import BY_MEMBER, BY_STEP, Cores


class HostProgram:
    """An epoch of which only the learning is a program. The worlds' own state passes it by: it is
    no array of JAX.
    """

    _learn: Any
    """The compiled learning."""

    @property
    def compiled(self) -> int:
        """How many programs its learning has been compiled to."""
        return self._learn._cache_size()

    def executable(self, roster: Any, state: Any) -> Any:
        """None: there is no one program of an epoch."""
        return None


class HostEpoch(HostProgram):
    """An epoch that is one rollout, from which members learn each on its core."""

    def __init__(self, rollout: Callable, learn: Callable, cores: Cores, state: Any) -> None:
        """state: how members lie in one."""
        self._rollout = rollout
        self._cores = cores
        self._lie = (BY_MEMBER, state, BY_MEMBER, BY_MEMBER, BY_STEP)
        spread = cores.split(learn, self._lie, (state, BY_MEMBER))
        self._learn = jax.jit(spread, donate_argnums=1)

    def __call__(self, roster: Any, state: Any) -> tuple[Any, dict[str, Array]]:
        """The state after the epoch, and its metrics."""
        worlds, moments, rollout = self._rollout(roster, state)
        saved = worlds.state
        taken = (roster, state._replace(worlds=None), worlds._replace(state={}), moments, rollout)
        state, metrics = self._cores.gather(self._learn(*self._cores.place(taken, self._lie)))
        if state.worlds is not None:
            state = state._replace(worlds=state.worlds._replace(state=saved))
        return state, metrics


class HostCycles(HostProgram):
    """An epoch of cycles, in a loop. Members learn on one core: a replay would have to be brought
    to others each time.
    """

    def __init__(self, cycles: Cycles) -> None:
        self._rollout = cycles.rollout
        self._learn = jax.jit(cycles.learn, donate_argnums=1)
        self._count = cycles.count
        self._close = jax.jit(cycles.close, donate_argnums=1)

    def __call__(self, roster: Any, state: Any) -> tuple[Any, dict[str, Array]]:
        """The state after the epoch, and its metrics."""
        reports = []
        for cycle in range(self._count):
            worlds, moments, rollout = self._rollout(roster, state, cycle)
            state, report = self._learn(
                roster,
                state._replace(worlds=None),
                cycle,
                worlds._replace(state={}),
                moments,
                rollout,
            )
            state = state._replace(worlds=worlds)
            reports.append(report)
        worlds = state.worlds
        stacked = jax.tree.map(lambda *each: jnp.stack(each), *reports)
        state, metrics = self._close(roster, state._replace(worlds=None), stacked)
        return state._replace(worlds=worlds), metrics
