"""Timing a task that steps inside JAX: a compiled scan over auto-reset steps."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


def staggered(task: Task, worlds: int) -> State:
    """Fresh worlds [worlds] with clocks spread over the whole episode, so that a steady share ends
    at every step.
    """
    state = jax.jit(lambda keys: autoreset.reset(task, keys))(
        jax.random.split(jax.random.key(0), worlds)
    )
    clocks = autoreset.clocks(task.spec.episode_length, worlds)
    return dataclasses.replace(state, steps=jnp.asarray(clocks, state.steps.dtype))


def rate(task: Task, state: State, act: Act, steps: int, repeats: int) -> Rate:
    """Compile so many scanned steps and time them so often; the median counts."""

    def one(
        carry: tuple[State, Array, Array], key: Array
    ) -> tuple[tuple[State, Array, Array], None]:
        state, seen, broken = carry
        now, ended = autoreset.step(task, state, act(state.obs, key))
        # Every observation, reward and cost is read, or the compiler would not compute them.
        read = (
            jnp.mean(now.obs) + jnp.mean(ended.obs) + jnp.mean(ended.reward) + jnp.mean(ended.cost)
        )
        return (now, seen + read, broken + jnp.sum(getattr(ended, "diverged", 0))), None

    def chunk(state: State, key: Array) -> tuple[State, Array, Array]:
        return jax.lax.scan(
            one, (state, jnp.zeros(()), jnp.zeros((), int)), jax.random.split(key, steps)
        )[0]

    start = time.perf_counter()
    compiled = jax.jit(chunk).lower(state, jax.random.key(0)).compile()
    compile_s = time.perf_counter() - start
    state, *_ = jax.block_until_ready(compiled(state, jax.random.key(1)))  # warm-up
    seconds, diverged = [], 0
    for key in jax.random.split(jax.random.key(2), repeats):
        start = time.perf_counter()
        state, _, broken = jax.block_until_ready(compiled(state, key))
        seconds.append(time.perf_counter() - start)
        diverged += int(broken)
    worlds = state.steps.shape[0]
    return Rate(worlds * steps / statistics.median(seconds), compile_s, peak(compiled), diverged)


def state_bytes(state: State) -> int:
    """Memory of a batched state."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(jax.tree.map(_plain, state)))


def _plain(leaf: Array) -> Array:
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def peak(compiled: Any) -> int | None:
    """Bytes that XLA plans for a call; None where the backend does not say."""
    stats = compiled.memory_analysis()
    if stats is None:
        return None
    used = stats.argument_size_in_bytes + stats.output_size_in_bytes + stats.temp_size_in_bytes
    return used - stats.alias_size_in_bytes
