"""A multiplier rule of one's own, beside gradient ascent.

    python examples/own_rule.py --out rules

trains both on the reservoir of own_jax_task.py (half a minute on two cores) and draws how their
multipliers and costs moved.
"""

import argparse
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from matplotlib import pyplot
from own_jax_task import ReservoirTask

import saddle

LIMIT = 10.0


class Factor(NamedTuple):
    """What the rule remembers from epoch to epoch; `lam` is lambda."""

    lam: jax.Array  # [m]


@saddle.register_rule
@dataclass(frozen=True)
class Deadband(saddle.Rule):
    """Lambda moves by a share of itself where the cost is far from the limit, and rests near it."""

    name: ClassVar[str] = "deadband"
    label: ClassVar[str] = "dead band"

    init: float | tuple[float, ...] = 1.0
    """Lambda before the first epoch: one number for every constraint, or one for each."""
    rate: float = 0.1
    """How much log lambda moves in an epoch."""
    band: float = 0.2
    """Share of the limit that a cost may be off before lambda moves."""

    @staticmethod
    def start(numbers, constraints):
        """Before the first epoch."""
        return Factor(jnp.full(constraints, numbers.init))

    @staticmethod
    def update(memory, numbers, cost, limit):
        """After an epoch of mean cost `cost` [m]."""
        off = cost - limit
        direction = jnp.where(jnp.abs(off) > numbers.band * limit, jnp.sign(off), 0.0)
        return Factor(memory.lam * jnp.exp(numbers.rate * direction))


def main(arguments=None):
    """Train both rules with the same seeds, as one program, and draw them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="rules")
    parser.add_argument("--quick", action="store_true", help="seconds, to see that it runs")
    options = parser.parse_args(arguments)

    saddle.register("Reservoir", ReservoirTask)
    rules = (saddle.GradientAscent(lr=0.05), Deadband())
    plan = saddle.Plan(
        name="rules",
        tasks=("Reservoir",),
        stages=(saddle.Stage("compare", rules=rules, limits=((LIMIT,),)),),
        seeds=range(2),
        steps=8000 if options.quick else 400_000,
        learner=saddle.PPO(
            steps_per_epoch=4000, hidden=(32, 32), passes=4, batch=500, actor_lr=1e-3
        ),
    )
    study = saddle.run_study(plan, f"{options.out}/study", progress=True)

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    saddle.plot.training(study, "lambda", ax=left)
    saddle.plot.training(study, "window_cost", ax=right)
    right.axhline(LIMIT, color="grey", linestyle="--")
    figure.savefig(f"{options.out}/rules.png")
    last = study.metrics.filter(study.metrics["epoch"] == study.metrics["epoch"].max())
    for run in last.iter_rows(named=True):
        print(f"{run['run']}: return {run['window_return']:.1f}, cost {run['window_cost']:.1f}")


if __name__ == "__main__":
    main()
