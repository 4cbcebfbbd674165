"""The compiled programs behind the environments: one pair per task, shared by every environment of
that task.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import jax
from jax import Array

from saddle.tasks import State, Task, TaskSpec, autoreset

S = TypeVar("S", bound=State)

# Info entries that the reference reports on some steps only, and the State field that says on
# which.
SOMETIMES = {"goal_met": "goal_met", "cost_buttons": "button_cost_active", "diverged": "diverged"}


class Outcome(NamedTuple):
    """What a step hands to the user, JAX or NumPy arrays. One world; with a leading axis N for N
    worlds.
    """

    obs: Any  # [obs_dim]
    reward: Any  # []
    cost: Any  # [], summed over the constraints
    terminated: Any  # [] bool
    truncated: Any  # [] bool
    info: dict[str, Any]  # name -> []
    shown: dict[str, Any]  # name -> [] bool: whether the reference reports that entry on this step


class Programs(NamedTuple):
    """Jitted functions of one task."""

    reset: Callable[..., Any]
    """Keys -> state."""
    step: Callable[..., Any]
    """State, actions -> state to go on from, Outcome (and, for many worlds, ended obs)."""


@dataclass(frozen=True)
class Shortened(Generic[S]):
    """A task whose episodes are truncated early."""

    task: Task[S]
    length: int  # env steps

    @property
    def spec(self) -> TaskSpec:
        """The task's own, with the shorter episodes."""
        return replace(self.task.spec, episode_length=self.length)

    def reset(self, key: Array) -> S:
        """As the task does."""
        return self.task.reset(key)

    def step(self, state: S, action: Array) -> S:
        """As the task does, truncated at `length`."""
        state = self.task.step(state, action)
        return replace(state, truncated=state.truncated | (state.steps >= self.length))

    def info(self, state: S) -> dict[str, Any]:
        """As the task does."""
        return info_of(self.task, state)


def shortened(task: Task[S], length: int) -> Task[S]:
    """The task itself if its episodes are no longer than that."""
    return Shortened(task, length) if length < task.spec.episode_length else task


def info_of(task: Any, state: State) -> dict[str, Any]:
    """The task's own info entries, name -> [] array; a task without a member `info` has none."""
    return task.info(state) if hasattr(task, "info") else {}


def named_costs(spec: TaskSpec, cost: Any) -> dict[str, Any]:
    """Each of several constraints by its name, cost [..., m] -> 'cost_NAME' [...]; of one, `cost`
    says it all.
    """
    if len(spec.constraints) < 2:
        return {}
    return {f"cost_{name}": cost[..., i] for i, name in enumerate(spec.constraints)}


def outcome(task: Task[S], state: S) -> Outcome:
    """The user's view of the step that led to `state`, one world."""
    info = named_costs(task.spec, state.cost) | info_of(task, state)
    always = jax.numpy.ones((), bool)
    shown = {name: getattr(state, SOMETIMES.get(name, ""), always) for name in info}
    return Outcome(
        state.obs,
        state.reward,
        state.cost.sum(),
        state.terminated,
        state.truncated,
        dict(info),
        shown,
    )


@functools.cache
def single(task: Task) -> Programs:
    """One world: reset(key) and step(state, action) -> state, Outcome."""

    def step(state: State, action: Array) -> tuple[State, Outcome]:
        state = task.step(state, action)
        return state, outcome(task, state)

    return Programs(jax.jit(task.reset), jax.jit(step))


@functools.cache
def many(task: Task) -> Programs:
    """N worlds that restart by themselves: reset(keys [N]) and step(state, actions [N, action_dim])
    -> state, Outcome.

    The Outcome is that of the transition: its obs is the true final observation of the worlds that
    ended.
    """

    def step(state: State, actions: Array) -> tuple[State, Outcome]:
        now, ended = autoreset.step(task, state, actions)
        return now, jax.vmap(lambda s: outcome(task, s))(ended)

    return Programs(jax.jit(lambda keys: autoreset.reset(task, keys)), jax.jit(step))


@jax.jit
def next_key(key: Array) -> Array:
    """The key of a world's next episode, as auto-reset draws it from the last one's. [...] ->
    [...].
    """

    def draw(k: Array) -> Array:
        return jax.random.split(k)[0]

    for _ in range(key.ndim):
        draw = jax.vmap(draw)
    return draw(key)
