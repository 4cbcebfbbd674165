"""Timing a task that steps inside JAX: a compiled scan over auto-reset steps."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks import State, Task, autoreset

Act = Callable[[Array, Array], Array]  # obs [N, obs_dim], key -> actions [N, action_dim]


@dataclass(frozen=True)
class Rate:
    """One task under one policy."""

    steps_per_second: float
    compile_s: float  # tracing and compiling the scanned step
    peak_bytes: int | None  # of device memory while stepping: arguments, results and temporaries
    diverged: int  # worlds whose physics broke down


class _Stepped(NamedTuple):
    """Worlds after some steps."""

    state: State
    read: Array  # []: of no use, but that all it is the sum of was computed
    diverged: Array  # []: worlds whose physics broke down on the way


def staggered(task: Task, worlds: int) -> State:
    """Fresh worlds [worlds] with clocks spread over the whole episode, so that a steady share ends
    at every step.
    """
    reset = jax.jit(lambda keys: autoreset.reset(task, keys))
    state = reset(jax.random.split(jax.random.key(0), worlds))
    clocks = autoreset.clocks(task.spec.episode_length, worlds)
    return dataclasses.replace(state, steps=jnp.asarray(clocks, state.steps.dtype))


def rate(task: Task, state: State, act: Act, steps: int, repeats: int) -> Rate:
    """Compile so many scanned steps and time them so often; the median counts."""
    start = time.perf_counter()
    stepping = jax.jit(_stepping(task, act, steps))
    compiled = stepping.lower(state, jax.random.key(0)).compile()
    compile_s = time.perf_counter() - start
    state = jax.block_until_ready(compiled(state, jax.random.key(1))).state  # warm-up
    seconds = []
    diverged = 0
    for key in jax.random.split(jax.random.key(2), repeats):
        start = time.perf_counter()
        stepped = jax.block_until_ready(compiled(state, key))
        seconds.append(time.perf_counter() - start)
        state = stepped.state
        diverged += int(stepped.diverged)
    env_steps = state.steps.shape[0] * steps
    return Rate(env_steps / statistics.median(seconds), compile_s, peak(compiled), diverged)


def _stepping(task: Task, act: Act, steps: int) -> Callable[[State, Array], _Stepped]:
    """What makes so many steps of every world."""

    def one(before: _Stepped, key: Array) -> tuple[_Stepped, None]:
        actions = act(before.state.obs, key)
        state, ended = autoreset.step(task, before.state, actions)
        # Every observation, reward and cost is read, or the compiler would not compute them.
        shown = (state.obs, ended.obs, ended.reward, ended.cost)
        read = sum(jnp.mean(array) for array in shown)
        diverged = jnp.sum(getattr(ended, "diverged", 0))
        return _Stepped(state, before.read + read, before.diverged + diverged), None

    def stepping(state: State, key: Array) -> _Stepped:
        first = _Stepped(state, jnp.zeros(()), jnp.zeros((), int))
        stepped, _ = jax.lax.scan(one, first, jax.random.split(key, steps))
        return stepped

    return stepping


def state_bytes(state: State) -> int:
    """Memory of a batched state."""
    arrays = jax.tree.map(_plain, state)
    return sum(array.nbytes for array in jax.tree.leaves(arrays))


def _plain(leaf: Array) -> Array:
    """Keys as the numbers that they are made of."""
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def peak(compiled: Any) -> int | None:
    """Bytes that XLA plans for a call; None where the backend does not say."""
    stats = compiled.memory_analysis()
    if stats is None:
        return None
    used = stats.argument_size_in_bytes + stats.output_size_in_bytes + stats.temp_size_in_bytes
    return used - stats.alias_size_in_bytes
