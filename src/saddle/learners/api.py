"""What a learner does. A population asks nothing else of it.

Axes: T steps, M members of a population, W worlds of a member, m constraints. Members are stacked
along the first axis of every array; who writes for one member adds the others with `jax.vmap`.
"""

from typing import Any, NamedTuple, Protocol, TypeVar

from jax import Array
from jaxtyping import Bool, Float, Key, Shaped

from saddle.collect.rollout import Decision, Rollout

State = TypeVar("State")


class Learned(NamedTuple):
    """What an epoch of learning leaves behind."""

    state: Any  # [M, ...]
    metrics: dict[str, Shaped[Array, "M ..."]]
    """Those that the settings declare; [M, m] where there is one per constraint."""
    sound: Bool[Array, " M"]
    """No loss or parameter of the member has become infinite or NaN."""


class Learner(Protocol[State]):
    """An algorithm with its settings, for one task. Pure functions: everything that changes is in
    the state.
    """

    def init(self, key: Key[Array, ""]) -> State:
        """One untrained member."""
        ...

    # A learner may also have `begin_from(state, arrays, facts) -> state`: one untrained member, but
    # acting as an exported policy does. Without it, training cannot begin from a policy.

    def actor(self, state: State) -> Any:
        """What `act` needs of the members' states [M, ...], made ready once an epoch or cycle."""
        ...

    def act(self, actor: Any, obs: Float[Array, "W obs"], key: Key[Array, ""]) -> Decision:
        """What one member does in its worlds. obs is normalised; the key is this step's own."""
        ...

    def learn(
        self,
        state: State,
        rollout: Rollout,
        lam: Float[Array, "M m"],
        keys: Key[Array, " M"],
        progress: Float[Array, ""],
        active: Bool[Array, " M"],
    ) -> Learned:
        """Learn from an epoch's steps, or a cycle's, at multipliers lam.

        keys are this epoch's or cycle's; progress is the share of training that is done; members
        that are not active have failed, and what becomes of them does not matter. In an epoch of
        cycles they stay as they are, and so do those that are found unsound.
        """
        ...

    def policy(self, state: State) -> dict[str, Array]:
        """One member's policy as plain arrays, as policy.npz holds them."""
        ...

    def policy_facts(self) -> dict[str, Any]:
        """What policy.json says about those arrays."""
        ...
