"""What a policy draws its actions from: a Gaussian where actions are real, categories where they
are choices.

A network says where (the Gaussian's mean, the categories' logits); a log standard deviation that
does not depend on the observation says how widely. Of a squashed Gaussian the network says both
(`squashed.py`). Everything here is for one member.
"""

from typing import NamedTuple, Protocol

import jax.numpy as jnp
from jax import Array

from saddle.learners.networks import plain
from saddle.learners.networks.plain import Net, NetworkSettings


class Actor(NamedTuple):
    """A policy's parameters."""

    net: Net
    log_std: Array  # [action_dim] of a Gaussian, [0] of categories


class Score(NamedTuple):
    """grad log pi of every sample, before it goes back through the network."""

    output: Array  # [N, outputs], with respect to the network's output
    log_std: Array  # [N, action_dim], with respect to log_std; [N, 0] of categories


class Drawn(Protocol):
    """What actions are drawn from. `output` [..., outputs] is what the network says, `log_std` the
    spread that all observations share.
    """

    @property
    def outputs(self) -> int:
        """How many numbers the network gives."""
        ...

    @property
    def spreads(self) -> int:
        """How many log standard deviations there are."""
        ...

    def draw(self, output: Array, log_std: Array, key: Array) -> Array:
        """A random action for each output: [..., outputs] -> [..., action_dim]."""
        ...

    def mode(self, output: Array) -> Array:
        """The likeliest action for each output: [..., outputs] -> [..., action_dim]."""
        ...


class Distribution(Drawn, Protocol):
    """A family of distributions over actions that knows its densities."""

    def log_prob(self, output: Array, log_std: Array, action: Array) -> Array:
        """Log density, or log probability, of action [..., action_dim] -> [...]."""
        ...

    def score(self, output: Array, log_std: Array, action: Array) -> Score:
        """Gradient of `log_prob`, sample by sample. output [N, outputs], action [N, action_dim]."""
        ...

    def kl(self, old: Array, old_log_std: Array, new: Array, new_log_std: Array) -> Array:
        """KL(old, new), summed over action_dim. old, new [..., outputs] -> [...]."""
        ...

    def entropy(self, output: Array, log_std: Array) -> Array:
        """Mean over samples and actions. output [N, outputs] -> []."""
        ...

    def entropy_slope(self, output: Array, log_std: Array) -> tuple[Array | None, Array]:
        """Gradient of `entropy`: N times that with respect to output [N, outputs], None where it
        does not depend on it; and that with respect to log_std.
        """
        ...


def of_actions(action_dim: int, choices: tuple[int, ...]) -> Distribution:
    """What a task's actions are drawn from; a `TaskSpec` says what both arguments are."""
    from saddle.learners.networks.categorical import Categorical
    from saddle.learners.networks.gaussian import Gaussian

    return Categorical(choices) if choices else Gaussian(action_dim)


def init_actor(
    key: Array, settings: NetworkSettings, obs_dim: int, family: Distribution, log_std: float
) -> Actor:
    """An untrained policy."""
    return Actor(
        plain.init_net(key, (obs_dim, *settings.hidden, family.outputs)),
        jnp.full(family.spreads, log_std, jnp.float32),
    )
