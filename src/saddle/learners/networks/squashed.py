"""A Gaussian before a tanh: mean and spread come from a network, actions lie within [-1, 1]."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

LOWEST, HIGHEST = -20.0, 2.0  # that a log standard deviation is cut to


@dataclass(frozen=True)
class Squashed:
    """Real actions within [-1, 1]. The network's output are means and log standard deviations."""

    action_dim: int

    @property
    def outputs(self) -> int:
        """A mean for each action, then a log standard deviation for each."""
        return 2 * self.action_dim

    @property
    def spreads(self) -> int:
        """None: the network says how wide a distribution is."""
        return 0

    def split(self, output: Array) -> tuple[Array, Array]:
        """Mean and log standard deviation before the tanh. [..., outputs] -> [..., action_dim]."""
        mean, log_std = jnp.split(output, 2, -1)
        return mean, jnp.clip(log_std, LOWEST, HIGHEST)

    def draw(self, output: Array, log_std: Array, key: Array) -> Array:
        """[..., outputs] -> [..., action_dim]."""
        del log_std
        noise = jax.random.normal(key, (*output.shape[:-1], self.action_dim))
        return self.sample(output, noise)[0]

    def mode(self, output: Array) -> Array:
        """The mean's tanh, which is what policies without noise take."""
        return jnp.tanh(self.split(output)[0])

    def sample(self, output: Array, noise: Array) -> tuple[Array, Array]:
        """Actions [..., action_dim] by standard normal noise, and their log densities [...].

        The density is taken before the tanh, which need not be inverted: log(1 - tanh(x)^2) is
        2 (log 2 - x - softplus(-2 x)).
        """
        mean, log_std = self.split(output)
        x = mean + jnp.exp(log_std) * noise
        density = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
        stretch = 2 * (jnp.log(2.0) - x - jax.nn.softplus(-2 * x))
        return jnp.tanh(x), jnp.sum(density - stretch, -1)
