"""Training speed of a population: end to end, and rollouts and updates apart."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from saddle.bench.population import Timed, check_asked, device, runs_at
from saddle.bench.scan import peak
from saddle.learners import LearnerSettings
from saddle.machine import cores_to_use
from saddle.population import Population


@dataclass(frozen=True)
class Result:
    """Seconds are medians over epochs."""

    task: str
    device: str
    cores: int
    members: int
    algorithm: str
    precision: str
    compile_s: float
    epoch_s: float
    rollout_s: float
    update_s: float
    steps_per_second: float  # env steps, all members, end to end
    rollout_steps_per_second: float
    flop_per_epoch: float  # of the update's matrix products, counted
    peak_bytes: int | None  # that the compiler plans for an epoch


def measure(task: str, members: int, epochs: int, learner: LearnerSettings) -> Result:
    """Compile, run one epoch unseen, and time the next ones."""
    check_asked(task, learner, members, epochs)
    runs = runs_at(_spread(members), task)
    planned_epochs = (epochs + 2) * 1000  # the learning rate stays about as at the beginning
    population = Population(task, learner, runs, planned_epochs * learner.steps_per_epoch)
    start = time.perf_counter()
    timed = Timed(population)
    timed.epoch()
    compile_s = time.perf_counter() - start
    for _ in range(epochs):
        timed.epoch()
    epoch_s = statistics.median(timed.seconds[1:])
    rollout = population.compiled_rollout()
    rollout_s = median_seconds(rollout, timed.state, epochs)
    steps = members * learner.steps_per_epoch
    return Result(
        task=task,
        device=device(),
        cores=cores_to_use(),
        members=members,
        algorithm=learner.algorithm,
        precision=learner.precision,
        compile_s=compile_s,
        epoch_s=epoch_s,
        rollout_s=rollout_s,
        update_s=epoch_s - rollout_s,
        steps_per_second=steps / epoch_s,
        rollout_steps_per_second=steps / rollout_s,
        flop_per_epoch=members * flop(population),
        peak_bytes=peak(population.executable(timed.state)),
    )


def _spread(members: int) -> list[float]:
    """Multipliers from 0.1 to 10, evenly over their logarithm."""
    gaps = max(members - 1, 1)
    return [10 ** (-1 + 2 * i / gaps) for i in range(members)]


def flop(population: Population) -> float:
    """Floating-point operations that one member's learning takes in an epoch; 0 where the learner
    does not say.
    """
    spec = population.spec
    return population.settings.flop(spec.obs_dim, spec.action_dim, len(spec.constraints))


def median_seconds(program: Callable[[Any], Any], state: Any, repeats: int) -> float:
    """Of a call, after one that compiles."""
    jax.block_until_ready(program(state))
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(program(state))
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
