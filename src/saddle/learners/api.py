"""What a learner does. A population asks nothing else of it.

Axes: T steps, M members of a population, W worlds of a member, m constraints. Members are stacked
along the first axis of every array; who writes for one member adds the others with `jax.vmap`.
"""

from typing import Any, NamedTuple, Protocol, TypeVar

from jax import Array

from saddle.collect.rollout import Decision, Rollout

State = TypeVar("State")


class Learned(NamedTuple):
    """What an epoch of learning leaves behind."""

    state: Any  # [M, ...]
    metrics: dict[
        str, Array
    ]  # [M], or [M, m] where there is one per constraint; those that the settings declare
    sound: Array  # [M] bool: no loss or parameter of the member has become infinite or NaN


class Learner(Protocol[State]):
    """An algorithm with its settings, for one task. Pure functions: everything that changes is in
    the state.
    """

    def init(self, key: Array) -> State:
        """One untrained member."""
        ...

    # A learner may also have `begin_from(state, arrays, facts) -> state`: one untrained member, but
    # acting as an exported policy does. Without it, training cannot begin from a policy.

    def actor(self, state: State) -> Any:
        """What `act` needs of the members' states [M, ...], made ready once an epoch."""
        ...

    def act(self, actor: Any, obs: Array, key: Array) -> Decision:
        """What one member does in its worlds. obs [W, obs_dim], normalised; the key is this step's
        own.
        """
        ...

    def learn(
        self,
        state: State,
        rollout: Rollout,
        lam: Array,
        keys: Array,
        progress: Array,
        active: Array,
    ) -> Learned:
        """Learn from an epoch's steps at multipliers lam [M, m].

        keys [M] are this epoch's; progress [] is the share of training that is done; members that
        are not active [M] have failed, and what becomes of them does not matter.
        """
        ...

    def policy(self, state: State) -> dict[str, Array]:
        """One member's policy as plain arrays, as policy.npz holds them."""
        ...

    def policy_facts(self) -> dict[str, Any]:
        """What policy.json says about those arrays."""
        ...
