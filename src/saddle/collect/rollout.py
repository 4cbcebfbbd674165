"""What collectors hand on. Axes: T steps, M members, W worlds of a member, m constraints, and
S = 1 + m signals: reward, costs.

Shapes are jaxtyping's. `*T` is the axis of steps in a rollout, and none in a single step of one.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Key, Num, Shaped


class Decision(NamedTuple):
    """What one member does in its worlds at one step."""

    action: Num[Array, "*M W action"]
    extras: Any  # arrays [W, ...] that its learner wants to find in the rollout again


@runtime_checkable
class Agent(Protocol):
    """Whoever decides. A learner is one."""

    def act(self, actor: Any, obs: Float[Array, "W obs"], key: Key[Array, ""]) -> Decision:
        """What one member does in its worlds. obs is normalised; the key is this step's own."""
        ...

    # An agent may also have `draw_context(worlds, key) -> [worlds, context]`: numbers of its own
    # that it draws for one member's worlds whenever their episodes begin. Until an episode ends
    # they stand behind each of its observations.


class Rollout(NamedTuple):
    """What T steps produced."""

    obs: Float[Array, "*T M W obs"]
    """Normalised as the policy saw them, each with its episode's context behind it."""
    next_obs: Float[Array, "*T M W obs"]
    """Normalised, before any reset."""
    action: Num[Array, "*T M W action"]
    extras: Any
    """[T, M, W, ...], of the learner's decisions."""
    signal: Float[Array, "*T M W S"]
    """Reward, costs."""
    terminated: Bool[Array, "*T M W"]
    ended: Bool[Array, "*T M W"]
    """Terminated or truncated."""
    truncated: Bool[Array, "*T M W"]
    """Some steps are both truncated and terminated."""
    finished: Float[Array, "*T M W S+1"]
    """Return, length, costs of the episode so far."""
    counted: Bool[Array, "*T M W"]
    """An episode ended here that began at a reset."""
    diverged: Bool[Array, "*T M W"] | None = None
    """The physics broke down; None where a task does not tell."""


class Worlds(NamedTuple):
    """Worlds between two epochs."""

    state: Any  # State [M * W] of a JAX task, or a dict of arrays that HostWorlds saved
    seen: Float[Array, "M W obs"]  # the normalised observation to act on, with its context
    totals: Float[Array, "M W sums"]  # return, length, costs of the running episodes
    whole: Bool[Array, "M W"]  # the running episode began at a reset


def by_member(x: Shaped[Array, "T M W *rest"]) -> Shaped[Array, "M T*W *rest"]:
    """In order of time."""
    return jnp.moveaxis(x, 1, 0).reshape(x.shape[1], -1, *x.shape[3:])


def by_time(x: Shaped[Array, "M N *rest"], steps: int) -> Shaped[Array, "{steps} M W *rest"]:
    """The inverse of `by_member`, N = T * W."""
    return jnp.moveaxis(x.reshape(x.shape[0], steps, -1, *x.shape[2:]), 0, 1)
