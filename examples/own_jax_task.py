"""A task of one's own in JAX: the return-cost frontier of a reservoir.

    python examples/own_jax_task.py --out reservoir

trains one policy with a dial (half a minute on two cores), says which multiplier meets which limit,
and draws the frontier.
"""

import argparse
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from matplotlib import pyplot

import saddle
from saddle.tasks import State, TaskSpec, pytree


@pytree
class Reservoir(State):
    """A State of Saddle, and what this world needs besides."""

    level: jax.Array  # [] share of the dam's height, 0 to 1


@dataclass(frozen=True)
class ReservoirTask:
    """Make power of the water in a reservoir. A flow above `banks` washes the river's banks away,
    which is what a step costs.
    """

    banks: float = 0.08

    spec = TaskSpec(
        name="Reservoir",
        obs_dim=1,
        action_dim=1,
        episode_length=50,
        dt=1.0,
        constraints=("erosion",),
        summary="more flow than the banks hold",
    )

    def reset(self, key):
        """A reservoir that is half full, more or less."""
        key, draw = jax.random.split(key)
        level = jax.random.uniform(draw, minval=0.3, maxval=0.7)
        return Reservoir(
            obs=level[None],
            reward=jnp.zeros(()),
            cost=jnp.zeros(1),
            terminated=jnp.zeros((), bool),
            truncated=jnp.zeros((), bool),
            steps=jnp.zeros((), jnp.int32),
            key=key,
            level=level,
        )

    def step(self, state, action):
        """Water flows out as the action says, and rain comes in."""
        key, draw = jax.random.split(state.key)
        flow = 0.1 * (1 + jnp.clip(action[0], -1, 1))
        flow = jnp.minimum(flow, state.level)
        rain = 0.12 * jax.random.uniform(draw)
        level = jnp.clip(state.level - flow + rain, 0, 1)
        return replace(
            state,
            obs=level[None],
            reward=10 * flow * state.level,  # power is flow times height
            cost=(flow > self.banks).astype(jnp.float32)[None],
            truncated=state.steps + 1 >= self.spec.episode_length,
            steps=state.steps + 1,
            key=key,
            level=level,
        )


def main(arguments=None):
    """Train, say and draw what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="reservoir")
    parser.add_argument("--quick", action="store_true", help="seconds, to see that it runs")
    options = parser.parse_args(arguments)

    saddle.register("Reservoir", ReservoirTask)
    learner = saddle.Conditioned(
        steps_per_epoch=4000, hidden=(32, 32), passes=4, batch=500, actor_lr=1e-3
    )
    study = saddle.frontier(
        "Reservoir",
        f"{options.out}/study",
        limits=(5, 15),
        seeds=1,
        steps=8000 if options.quick else 400_000,
        learner=learner,
        progress=True,
    )
    found = saddle.analyze(study, limits=(5, 15)).task()
    for at in found.limits:
        print(f"limit {at.limit:g}: lambda {at.lambda_.value}, return {at.return_.value}")
    figure, axes = pyplot.subplots(layout="constrained")
    saddle.plot.frontier(found, ax=axes)
    figure.savefig(f"{options.out}/frontier.png")


if __name__ == "__main__":
    main()
