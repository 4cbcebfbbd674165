"""What every JAX task is: a pure `reset` and a pure `step` over one flat State.

A task describes ONE world. Populations of worlds are made with `jax.vmap`; nothing in a task knows
about batches.
"""

import dataclasses
from dataclasses import dataclass
from typing import Protocol, TypeVar, dataclass_transform

import jax
from jax import Array

from saddle.tasks.spec import TaskSpec

T = TypeVar("T", bound=type)
S = TypeVar("S", bound="State")


@dataclass_transform(frozen_default=True)
def pytree(cls: T) -> T:
    """A frozen dataclass whose fields are the leaves of a JAX pytree."""
    cls = dataclass(frozen=True)(cls)  # type: ignore[assignment]
    fields = [f.name for f in dataclasses.fields(cls)]
    return jax.tree_util.register_dataclass(cls, fields, [])


@pytree
class State:
    """One world after a reset or a step. Tasks extend it with what their world needs.

    `terminated` and `truncated` describe the step that led here; after either, the world must be
    reset.
    """

    obs: Array  # [obs_dim]
    reward: Array  # []
    cost: Array  # [m], one entry per constraint
    terminated: Array  # [] bool
    truncated: Array  # [] bool
    steps: Array  # [] int32, env steps since the reset
    key: Array  # [] PRNG key that drives everything random after the reset


class Task(Protocol[S]):
    """A constrained task. Actions are [action_dim] reals, meant for [-1, 1]; each task says what it
    does beyond. Where the spec has `choices`, actions are [action_dim] int32 below these.

    What a task may have besides is in docs/architecture.md, "The Task protocol".
    """

    @property
    def spec(self) -> TaskSpec:
        """The task's facts."""
        ...

    def reset(self, key: Array) -> S:
        """A fresh world drawn from `key`."""
        ...

    def step(self, state: S, action: Array) -> S:
        """One env step."""
        ...
