"""Two limits at once: a courier who shall neither wear out nor strain itself.

    python examples/two_constraints.py --out courier

trains a grid of multipliers, one for each constraint (a minute on two cores), and says which pair
of multipliers meets both limits, and which of them binds. docs/tutorials/constraints.md goes
further.
"""

import argparse
import itertools
from dataclasses import dataclass, replace

import jax.numpy as jnp

import saddle
from saddle.tasks import State, TaskSpec

LIMITS = (0.7, 0.25)
GRID = (0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Courier:
    """Once a trip: how fast to go, and how much to carry. It earns most at speed 1 and load 1."""

    spec = TaskSpec(
        name="Courier",
        obs_dim=1,
        action_dim=2,
        episode_length=1,
        dt=1.0,
        constraints=("wear", "strain"),
        summary="speed and load, squared; and load, squared",
    )

    def reset(self, key):
        """Every trip begins alike."""
        return State(
            obs=jnp.ones(1),
            reward=jnp.zeros(()),
            cost=jnp.zeros(2),
            terminated=jnp.zeros((), bool),
            truncated=jnp.zeros((), bool),
            steps=jnp.zeros((), jnp.int32),
            key=key,
        )

    def step(self, state, action):
        """The whole trip; its cost has an entry for each constraint."""
        speed, load = action
        return replace(
            state,
            reward=-((1 - speed) ** 2) - (1 - load) ** 2,
            cost=jnp.stack([speed**2 + load**2, load**2]),
            truncated=jnp.ones((), bool),
            steps=state.steps + 1,
        )


def main(arguments=None):
    """Train a policy at every pair of multipliers, and look for lambda* of both constraints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="courier")
    parser.add_argument("--quick", action="store_true", help="seconds, to see that it runs")
    options = parser.parse_args(arguments)

    saddle.register("Courier", Courier)
    pairs = itertools.product(GRID, GRID)
    plan = saddle.Plan(
        name="courier",
        tasks=("Courier",),
        stages=(saddle.Stage("sweep", lambdas=tuple(pairs)),),
        seeds=range(2),
        steps=512 if options.quick else 12_800,
        learner=saddle.PPO(
            steps_per_epoch=256,
            worlds=1,
            hidden=(16, 16),
            passes=4,
            batch=256,
            actor_lr=0.02,
            log_std=-2.5,
            target_kl=1e9,
            rsi="off",  # multipliers are then in units of return per cost
            standardise=False,
            obs_norm=False,
        ),
    )
    study = saddle.run_study(plan, options.out, progress=True)
    findings = saddle.analyze(study, limits=(LIMITS,))
    for share in findings.joint[0].multipliers:
        print(
            f"{share.constraint} at {share.limit:g}: lambda {share.lambda_.value}, "
            f"binds: {share.binds}"
        )
    print(findings.joint[0].reason)


if __name__ == "__main__":
    main()
