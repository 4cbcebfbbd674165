"""Constrained tasks so small that their best policies are known in closed form."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from saddle.tasks import State, TaskSpec, pytree


def spec(name, obs_dim, length, constraints=("cost",), actions=1):
    return TaskSpec(name, obs_dim, actions, length, 1.0, constraints, "a toy", (1.0,))


def begin(spec, key, obs):
    m, no = len(spec.constraints), jnp.zeros((), bool)
    return {
        "obs": obs,
        "reward": jnp.zeros(()),
        "cost": jnp.zeros(m),
        "terminated": no,
        "truncated": no,
        "steps": jnp.zeros((), jnp.int32),
        "key": key,
    }


class Toy:
    spec: TaskSpec

    def info(self, state):
        return {}

    def _after(self, state, **changes):
        steps = state.steps + 1
        return replace(state, steps=steps, truncated=steps >= self.spec.episode_length, **changes)


@dataclass(frozen=True)
class Bandit(Toy):
    """One action a: reward -(a - 1)^2, cost a^2. Best at lambda: a = 1 / (1 + lambda), whatever the
    spread.
    """

    spec: TaskSpec = spec("Bandit", 1, 1)

    def reset(self, key):
        return State(**begin(self.spec, key, jnp.ones(1)))

    def step(self, state, action):
        a = action[0]
        return self._after(state, reward=-((a - 1) ** 2), cost=jnp.stack([a**2]))


@dataclass(frozen=True)
class TwoCosts(Toy):
    """Reward -(a - 1)^2, costs a^2 and (a + 1)^2: best at lambda is a = (1 - lambda_1) / (1 +
    lambda_0 + lambda_1).
    """

    spec: TaskSpec = spec("TwoCosts", 1, 1, ("near", "far"))

    def reset(self, key):
        return State(**begin(self.spec, key, jnp.ones(1)))

    def step(self, state, action):
        a = action[0]
        return self._after(state, reward=-((a - 1) ** 2), cost=jnp.stack([a**2, (a + 1) ** 2]))


@dataclass(frozen=True)
class Choices(Toy):
    """One of three and one of two, each with a reward and a cost of its own, which add up.

    With an entropy bonus the best policy at lambda is a softmax of (reward - lambda cost), divided
    by (1 + lambda) and by the bonus's weight for an action.
    """

    spec: TaskSpec = TaskSpec("Choices", 1, 2, 1, 1.0, ("cost",), "a toy", (1.0,), choices=(3, 2))
    rewards: tuple[tuple[float, ...], ...] = ((0.0, 0.8, 1.0), (0.0, 0.5))
    costs: tuple[tuple[float, ...], ...] = ((0.0, 0.3, 1.0), (0.0, 0.6))

    def reset(self, key):
        return State(**begin(self.spec, key, jnp.ones(1)))

    def step(self, state, action):
        reward = sum(jnp.array(r)[action[i]] for i, r in enumerate(self.rewards))
        cost = sum(jnp.array(c)[action[i]] for i, c in enumerate(self.costs))
        return self._after(state, reward=reward, cost=jnp.stack([cost]))


@dataclass(frozen=True)
class TwoPrices(Toy):
    """Reward -(a - 1)^2 - (b - 1)^2, costs a^2 + b^2 and b^2. Best at lambda are a = 1 / (1 +
    lambda_0) and b = 1 / (1 + lambda_0 + lambda_1): both multipliers move both costs.
    """

    spec: TaskSpec = spec("TwoPrices", 1, 1, ("both", "second"), actions=2)

    def reset(self, key):
        return State(**begin(self.spec, key, jnp.ones(1)))

    def step(self, state, action):
        a, b = action
        cost = jnp.stack([a**2 + b**2, b**2])
        return self._after(state, reward=-((a - 1) ** 2) - (b - 1) ** 2, cost=cost)


@dataclass(frozen=True)
class Chain(Toy):
    """Two states; action a leads to state 1 with probability sigmoid(a), from anywhere.

    A step into state 1 earns 1 and costs 1; an action costs effort 0.1 a^2 of reward. At lambda the
    best action solves sigmoid'(a) (1 - lambda) = 0.2 a.
    """

    spec: TaskSpec = spec("Chain", 2, 10)

    def reset(self, key):
        return State(**begin(self.spec, key, jnp.array([1.0, 0.0])))

    def step(self, state, action):
        key, draw = jax.random.split(state.key)
        there = (jax.random.uniform(draw) < jax.nn.sigmoid(action[0])).astype(jnp.float32)
        effort = 0.1 * action[0] ** 2
        obs = jnp.stack([1 - there, there])
        return self._after(state, reward=there - effort, cost=there[None], obs=obs, key=key)


@pytree
class PlaceState(State):
    place: jax.Array


@dataclass(frozen=True)
class Regulator(Toy):
    """x' = x + a, reward -(x' - 1)^2 - a^2 / 2, cost x'^2: linear-quadratic, with 1 / (1 + lambda)
    as its aim.
    """

    spec: TaskSpec = spec("Regulator", 1, 20)

    def reset(self, key):
        key, draw = jax.random.split(key)
        x = jax.random.uniform(draw, minval=-0.5, maxval=1.5)
        return PlaceState(**begin(self.spec, key, x[None]), place=x)

    def step(self, state, action):
        x = state.place + action[0]
        reward = -((x - 1) ** 2) - action[0] ** 2 / 2
        return self._after(state, reward=reward, cost=(x**2)[None], obs=x[None], place=x)


@pytree
class Shaky(State):
    """A state whose physics can break down."""

    diverged: jax.Array


@dataclass(frozen=True)
class Broken(Toy):
    """Its physics break down in every third step, and its reward is not a number in episodes that
    start badly.
    """

    spec: TaskSpec = spec("Broken", 1, 6)

    def reset(self, key):
        return Shaky(**begin(self.spec, key, jnp.ones(1)), diverged=jnp.zeros((), bool))

    def step(self, state, action):
        odd = jax.random.uniform(state.key) < 0.05
        reward = jnp.where(odd, jnp.nan, action[0])
        return self._after(
            state, reward=reward, cost=jnp.ones(1), diverged=(state.steps + 1) % 3 == 0
        )
