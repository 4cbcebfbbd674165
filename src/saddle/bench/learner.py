"""Training speed of a population: end to end, and rollouts and updates apart."""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from saddle.bench.scan import peak
from saddle.config import USUAL_LIMIT, Member
from saddle.errors import SaddleError
from saddle.learners import LearnerSettings
from saddle.multipliers import Fixed
from saddle.population import Population
from saddle.study.prepare import check_members, constraints


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
    if members < 1 or epochs < 1:
        raise SaddleError("--members and --epochs must be at least 1")
    check_members(task, learner, members)
    lambdas = [10 ** (-1 + 2 * i / max(members - 1, 1)) for i in range(members)]
    limits = (USUAL_LIMIT,) * constraints(task)
    runs = [Member(i, Fixed(lam), limits) for i, lam in enumerate(lambdas)]
    population = Population(task, learner, runs, (epochs + 2) * 1000 * learner.steps_per_epoch)
    start = time.perf_counter()
    state, _ = population.epoch(population.init())
    compile_s = time.perf_counter() - start
    seconds = []
    for _ in range(epochs):
        start = time.perf_counter()
        state, _ = population.epoch(state)
        seconds.append(time.perf_counter() - start)
    epoch_s = statistics.median(seconds)
    rollout_s = median_seconds(population.compile(population.rollout), state, epochs)
    steps = members * learner.steps_per_epoch
    device = jax.devices()[0]
    return Result(
        task=task,
        device=f"{device.platform} {device.device_kind}",
        cores=os.cpu_count() or 1,
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
        peak_bytes=peak(population.executable(state)),
    )


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
