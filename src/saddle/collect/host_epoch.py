"""Epochs whose worlds step on the host: collecting between the calls of programs that learn."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from saddle.collect.cycles import Cycles


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


class HostCycles(HostEpoch):
    """An epoch of cycles, in a loop. Its programs are those of `HostEpoch`, and the worlds' own
    state passes them by in the same way.
    """

    def __init__(self, cycles: Cycles) -> None:
        super().__init__(cycles.rollout, cycles.learn)
        self._count = cycles.count
        self._close = jax.jit(cycles.close, donate_argnums=0)

    def __call__(self, state: Any) -> tuple[Any, dict[str, Array]]:
        """The state after the epoch, and its metrics."""
        reports = []
        for cycle in range(self._count):
            worlds, moments, rollout = self._rollout(state, cycle)
            state, report = self._learn(
                state._replace(worlds=None), cycle, worlds._replace(state={}), moments, rollout
            )
            state = state._replace(worlds=worlds)
            reports.append(report)
        worlds = state.worlds
        stacked = jax.tree.map(lambda *each: jnp.stack(each), *reports)
        state, metrics = self._close(state._replace(worlds=None), stacked)
        return state._replace(worlds=worlds), metrics
