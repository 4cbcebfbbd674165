"""What every JAX task is: a pure `reset` and a pure `step` over one flat State.

A task describes ONE world. Populations of worlds are made with `jax.vmap`; nothing in a task knows
about batches.
"""

import dataclasses
from dataclasses import dataclass
from typing import Protocol, TypeVar, dataclass_transform

import jax
from jax import Array
from jaxtyping import Bool, Float, Int, Key, Num, Shaped

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
    """One world after a reset or a step, or N of them (`*N`). Tasks extend it with what their world
    needs.

    `terminated` and `truncated` describe the step that led here; after either, the world must be
    reset.
    """

    obs: Float[Array, "*N obs"]
    reward: Float[Array, "*N"]
    cost: Float[Array, "*N m"]
    """One entry per constraint."""
    terminated: Bool[Array, "*N"]
    truncated: Bool[Array, "*N"]
    steps: Int[Array, "*N"]
    """Env steps since the reset."""
    key: Shaped[Array, "..."]
    """[*N] PRNG keys, which drive everything random after the reset. What replays a step without
    randomness holds other numbers here.
    """


class Task(Protocol[S]):
    """A constrained task. Actions are [action_dim] reals, meant for [-1, 1]; each task says what it
    does beyond. Where the spec has `choices`, actions are [action_dim] int32 below these.

    What a task may have besides is in docs/explanation/architecture.md, "The Task protocol".
    """

    @property
    def spec(self) -> TaskSpec:
        """The task's facts."""
        ...

    def reset(self, key: Key[Array, ""]) -> S:
        """A fresh world drawn from `key`."""
        ...

    def step(self, state: S, action: Num[Array, " action"]) -> S:
        """One env step."""
        ...
