"""Independent categories: each action is one of a number of choices."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from saddle.learners.networks.distributions import Score


@dataclass(frozen=True)
class Categorical:
    """The `Distribution` of actions that are choices: action i is a whole number below choices[i].

    The network's output are the logits of all choices, those of the first action first. An action
    is an int32 array [..., len(choices)].
    """

    choices: tuple[int, ...]

    @property
    def outputs(self) -> int:
        """A logit for each choice of each action."""
        return sum(self.choices)

    @property
    def spreads(self) -> int:
        """None: the logits say how wide a distribution is."""
        return 0

    def draw(self, output: Array, log_std: Array, key: Array) -> Array:
        """[..., outputs] -> [..., actions], by adding Gumbel noise to the logits."""
        return self.mode(output + jax.random.gumbel(key, output.shape))

    def mode(self, output: Array) -> Array:
        """[..., outputs] -> [..., actions]."""
        best = [jnp.argmax(logits, -1) for logits in self._split(output)]
        return jnp.stack(best, -1).astype(jnp.int32)

    def log_prob(self, output: Array, log_std: Array, action: Array) -> Array:
        """Log probability of action [..., actions] -> [...]."""
        log_probs = self._log_probs(output)
        return jnp.sum(log_probs * self._one_hot(action), -1)

    def score(self, output: Array, log_std: Array, action: Array) -> Score:
        """[N, outputs], and [N, 0]."""
        slope = self._one_hot(action) - jnp.exp(self._log_probs(output))
        no_spread = jnp.zeros((*slope.shape[:-1], 0))
        return Score(output=slope, log_std=no_spread)

    def kl(self, old: Array, old_log_std: Array, new: Array, new_log_std: Array) -> Array:
        """[..., outputs] -> [...]."""
        before = self._log_probs(old)
        probabilities = jnp.exp(before)
        return jnp.sum(probabilities * (before - self._log_probs(new)), -1)

    def entropy(self, output: Array, log_std: Array) -> Array:
        """In nats. [..., outputs] -> []."""
        return jnp.mean(self._entropies(output))

    def entropy_slope(self, output: Array, log_std: Array) -> tuple[Array | None, Array]:
        """[N, outputs], and [0]."""
        log_probs = self._log_probs(output)
        counts = jnp.array(self.choices)
        entropies = jnp.repeat(
            self._entropies(output), counts, axis=-1, total_repeat_length=self.outputs
        )
        slope = -jnp.exp(log_probs) * (log_probs + entropies) / len(self.choices)
        return slope, jnp.zeros_like(log_std)

    def _entropies(self, output: Array) -> Array:
        """Of each action. [..., outputs] -> [..., actions]."""
        found = []
        for logs in self._split(self._log_probs(output)):
            found.append(-jnp.sum(jnp.exp(logs) * logs, -1))
        return jnp.stack(found, -1)

    def log_probs(self, output: Array) -> list[Array]:
        """Of each action's choices: [..., choices[i]]."""
        return [jax.nn.log_softmax(logits) for logits in self._split(output)]

    def _log_probs(self, output: Array) -> Array:
        """Normalised logits, [..., outputs]."""
        return jnp.concatenate(self.log_probs(output), -1)

    def _one_hot(self, action: Array) -> Array:
        """1 where a choice was taken: [..., actions] -> [..., outputs]."""
        taken = []
        for i, count in enumerate(self.choices):
            taken.append(jax.nn.one_hot(action[..., i], count))
        return jnp.concatenate(taken, -1)

    def _split(self, output: Array) -> Iterator[Array]:
        """The part of each action, [..., choices[i]]."""
        ends = itertools.accumulate(self.choices)
        for end, count in zip(ends, self.choices, strict=True):
            yield output[..., end - count : end]
