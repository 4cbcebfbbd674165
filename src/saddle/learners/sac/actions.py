"""What actions are to SAC: which of them a policy weighs, and what critics are asked about them.

Axes: N observations, A actions, K alternatives that are weighed in an observation.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from saddle.errors import SaddleError
from saddle.learners.networks.categorical import Categorical
from saddle.learners.networks.squashed import Squashed

MOST_TOGETHER = 256  # choices of all actions together, each of which is an output of every critic
SHARE_OF_ENTROPY = 0.98  # of what choices can have at most, which a tuned temperature aims at


class Outlook(NamedTuple):
    """What a policy would do in each observation."""

    action: Array  # [N, A], where K is 1
    log_prob: Array  # [N, K]
    weight: Array  # [N, K], adding up to 1

    def mean(self, values: Array) -> Array:
        """[N], of values [N, K] of the alternatives."""
        return jnp.sum(self.weight * values, -1)


class Actions(Protocol):
    """Of a task: real numbers, or choices."""

    @property
    def family(self) -> Squashed | Categorical:
        """What the actor's output is the distribution of."""
        ...

    @property
    def noise(self) -> int:
        """Standard normal numbers that an outlook takes for an observation."""
        ...

    @property
    def wanted_entropy(self) -> float:
        """What a tuned temperature aims at, in nats."""
        ...

    def critic_sizes(self, obs_dim: int) -> tuple[int, int]:
        """Inputs and outputs of a critic."""
        ...

    def asked(self, obs: Array, action: Array) -> Array:
        """Inputs [N, inputs] of a critic that tell it obs [N, obs_dim] and action [N, A]."""
        ...

    def taken(self, values: Array, action: Array) -> Array:
        """A critic's values [N] of actions [N, A], from all that it says [N, outputs]."""
        ...

    def outlook(self, output: Array, noise: Array) -> Outlook:
        """From the actor's output [N, outputs]."""
        ...

    def calm(self, output: Array) -> Outlook | None:
        """The outlook without noise, where it has any."""
        ...

    def spread(self, output: Array) -> Array:
        """Mean standard deviation []; NaN where there is none."""
        ...

    def uniform(self, key: Array, count: int) -> Array:
        """[count, A], all alike."""
        ...


@dataclass(frozen=True)
class RealActions:
    """Within [-1, 1]. One action is drawn in each observation, and critics are asked about it."""

    count: int

    @property
    def family(self) -> Squashed:
        """A Gaussian before a tanh."""
        return Squashed(self.count)

    @property
    def noise(self) -> int:
        """One an action."""
        return self.count

    @property
    def wanted_entropy(self) -> float:
        """Minus the number of actions."""
        return -float(self.count)

    def critic_sizes(self, obs_dim: int) -> tuple[int, int]:
        """Observation and action go in, their value comes out."""
        return obs_dim + self.count, 1

    def asked(self, obs: Array, action: Array) -> Array:
        """Both, side by side."""
        return jnp.concatenate([obs, action], -1)

    def taken(self, values: Array, action: Array) -> Array:
        """The one that there is."""
        del action
        return values[:, 0]

    def outlook(self, output: Array, noise: Array) -> Outlook:
        """One draw by standard normal noise [N, A]."""
        action, log_prob = self.family.sample(output, noise)
        return Outlook(action, log_prob[:, None], jnp.ones((len(noise), 1)))

    def calm(self, output: Array) -> Outlook:
        """The mean, which has no density."""
        nothing = jnp.full((len(output), 1), jnp.nan)
        return Outlook(self.family.mode(output), nothing, jnp.ones((len(output), 1)))

    def spread(self, output: Array) -> Array:
        """Before the tanh."""
        _, log_std = self.family.split(output)
        return jnp.exp(log_std).mean()

    def uniform(self, key: Array, count: int) -> Array:
        """Between -1 and 1."""
        return jax.random.uniform(key, (count, self.count), minval=-1.0)


@dataclass(frozen=True)
class ChosenActions:
    """Whole numbers below `choices`. Critics tell the value of each combination of choices, and the
    policy's mean over all of them is exact: nothing is drawn.
    """

    choices: tuple[int, ...]

    @property
    def family(self) -> Categorical:
        """Independent categories."""
        return Categorical(self.choices)

    @property
    def combinations(self) -> int:
        """Of one choice for each action; the last action's changes fastest."""
        return math.prod(self.choices)

    @property
    def noise(self) -> int:
        """None."""
        return 0

    @property
    def wanted_entropy(self) -> float:
        """A share of what choices that are all alike have."""
        return SHARE_OF_ENTROPY * math.log(self.combinations)

    def critic_sizes(self, obs_dim: int) -> tuple[int, int]:
        """The observation goes in, values of all combinations come out."""
        return obs_dim, self.combinations

    def asked(self, obs: Array, action: Array) -> Array:
        """The observation alone."""
        del action
        return obs

    def taken(self, values: Array, action: Array) -> Array:
        """That of the combination that was chosen."""
        place = jnp.zeros(len(action), jnp.int32)
        for i, count in enumerate(self.choices):
            place = place * count + jnp.rint(action[:, i]).astype(jnp.int32)
        return jnp.take_along_axis(values, place[:, None], 1)[:, 0]

    def outlook(self, output: Array, noise: Array) -> Outlook:
        """All combinations, by their probabilities."""
        logs = jnp.zeros((len(output), 1))
        for own in self.family.log_probs(output):
            logs = (logs[:, :, None] + own[:, None, :]).reshape(len(output), -1)
        return Outlook(jnp.zeros((len(output), len(self.choices))), logs, jnp.exp(logs))

    def calm(self, output: Array) -> None:
        """There is no noise."""
        del output

    def spread(self, output: Array) -> Array:
        """Choices have none."""
        del output
        return jnp.full((), jnp.nan)

    def uniform(self, key: Array, count: int) -> Array:
        """Each choice as likely as any other."""
        shape = (count, len(self.choices))
        return jax.random.randint(key, shape, 0, jnp.array(self.choices), jnp.int32)


def actions_of(name: str, action_dim: int, choices: tuple[int, ...]) -> Actions:
    """Of a task of that name."""
    if not choices:
        return RealActions(action_dim)
    found = ChosenActions(choices)
    if found.combinations > MOST_TOGETHER:
        raise SaddleError(
            f"the choices of {name} have {found.combinations} combinations, and sac weighs at most "
            f"{MOST_TOGETHER}; train it with ppo"
        )
    return found
