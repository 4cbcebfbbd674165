"""A diagonal Gaussian: its mean comes from a network, its spread does not depend on the
observation.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from saddle.learners.networks.distributions import Score


@dataclass(frozen=True)
class Gaussian:
    """The `Distribution` of real actions. The network's output is the mean."""

    action_dim: int

    @property
    def outputs(self) -> int:
        """One mean for each action."""
        return self.action_dim

    @property
    def spreads(self) -> int:
        """One for each action."""
        return self.action_dim

    def draw(self, output: Array, log_std: Array, key: Array) -> Array:
        """[..., action_dim] -> [..., action_dim]."""
        return output + jnp.exp(log_std) * jax.random.normal(key, output.shape)

    def mode(self, output: Array) -> Array:
        """The mean."""
        return output

    def log_prob(self, output: Array, log_std: Array, action: Array) -> Array:
        """Log density. [..., action_dim] -> [...]."""
        scaled = (action - output) * jnp.exp(-log_std)
        log_density = -0.5 * scaled**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
        return jnp.sum(log_density, axis=-1)

    def score(self, output: Array, log_std: Array, action: Array) -> Score:
        """[N, action_dim] each."""
        inverse = jnp.exp(-log_std)
        scaled = (action - output) * inverse
        return Score(output=scaled * inverse, log_std=scaled**2 - 1)

    def kl(self, old: Array, old_log_std: Array, new: Array, new_log_std: Array) -> Array:
        """Of diagonal Gaussians. [..., action_dim] -> [...]."""
        ratio = jnp.exp(2 * (old_log_std - new_log_std))
        shift = ((old - new) * jnp.exp(-new_log_std)) ** 2
        of_each = 0.5 * (ratio + shift - 1) + new_log_std - old_log_std
        return jnp.sum(of_each, axis=-1)

    def entropy(self, output: Array, log_std: Array) -> Array:
        """Averaged over action_dim as the published study's learner does; the same for all
        outputs.
        """
        of_each = 0.5 + 0.5 * jnp.log(2 * jnp.pi) + log_std
        return jnp.mean(of_each, axis=-1)

    def entropy_slope(self, output: Array, log_std: Array) -> tuple[Array | None, Array]:
        """It depends on the spread alone."""
        return None, jnp.full_like(log_std, 1 / log_std.size)
