"""Training speed of a population: end to end, and rollouts and updates apart."""

import dataclasses
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from saddle.bench.scan import peak
from saddle.config import PPO, Member, to_dict
from saddle.console import console
from saddle.errors import SaddleError
from saddle.multipliers import Fixed
from saddle.population import Population
from saddle.study.prepare import check_members
from saddle.tables import Column, print_table
from saddle.words import counted


@dataclass(frozen=True)
class Result:
    """Seconds are medians over epochs."""

    task: str
    device: str
    cores: int
    members: int
    precision: str
    passes: int
    rsi: bool
    compile_s: float
    epoch_s: float
    rollout_s: float
    update_s: float
    steps_per_second: float  # env steps, all members, end to end
    rollout_steps_per_second: float
    flop_per_epoch: float  # of the update's matrix products, counted
    peak_bytes: int | None  # that the compiler plans for an epoch


def run(task: str, members: int, epochs: int, ppo: PPO, as_json: bool) -> None:
    """Measure and print."""
    if members < 1 or epochs < 1:
        raise SaddleError("--members and --epochs must be at least 1")
    result = measure(task, members, epochs, ppo)
    if as_json:
        print(json.dumps(dataclasses.asdict(result) | {"ppo": to_dict(ppo)}, indent=2))
    else:
        _print(result)


def measure(task: str, members: int, epochs: int, ppo: PPO) -> Result:
    """Compile, run one epoch unseen, and time the next ones."""
    check_members(task, ppo, members)
    lambdas = [10 ** (-1 + 2 * i / max(members - 1, 1)) for i in range(members)]
    runs = [Member(i, Fixed(lam), (25.0,) * constraints(task)) for i, lam in enumerate(lambdas)]
    population = Population(task, ppo, runs, (epochs + 2) * 1000 * ppo.steps_per_epoch)
    if population.on_host:
        raise SaddleError(f"{task} steps on the host here; 'saddle bench tasks' measures it, or choose a JAX task")
    start = time.perf_counter()
    state, _ = population.epoch(population.init())
    compile_s = time.perf_counter() - start
    seconds = []
    for _ in range(epochs):
        start = time.perf_counter()
        state, _ = population.epoch(state)
        seconds.append(time.perf_counter() - start)
    epoch_s = statistics.median(seconds)
    rollout_s = median_seconds(jax.jit(population.rollout), state, epochs)
    steps = members * ppo.steps_per_epoch
    device = jax.devices()[0]
    return Result(
        task=task,
        device=f"{device.platform} {device.device_kind}",
        cores=os.cpu_count() or 1,
        members=members,
        precision=ppo.precision,
        passes=ppo.passes,
        rsi=ppo.rsi,
        compile_s=compile_s,
        epoch_s=epoch_s,
        rollout_s=rollout_s,
        update_s=epoch_s - rollout_s,
        steps_per_second=steps / epoch_s,
        rollout_steps_per_second=steps / rollout_s,
        flop_per_epoch=members * flop(ppo, population.spec.obs_dim, population.spec.action_dim, len(runs[0].limits)),
        peak_bytes=peak(population.executable(state)),
    )


def flop(ppo: PPO, obs_dim: int, action_dim: int, m: int) -> float:
    """Floating-point operations of one member's passes, matrix products alone.

    A layer of a x b weights takes 2 a b a sample forward, as much for its gradient, and as much to go on back, which
    the first layer does not need. With scale invariance the actor has 2 + m gradients from one way back.
    """
    hidden = sum(a * b for a, b in itertools.pairwise(ppo.hidden))
    first, last = obs_dim * ppo.hidden[0], ppo.hidden[-1]
    gradients = 2 + m if ppo.rsi else 1
    actor = (1 + gradients) * (first + hidden + last * action_dim) + hidden + last * action_dim
    critic = 2 * (first + hidden + last) + hidden + last
    return 2.0 * ppo.passes * ppo.steps_per_epoch * (actor + (1 + m) * critic)


def constraints(task: str) -> int:
    """How many the task has."""
    from saddle import tasks

    return len(tasks.make(task).spec.constraints)


def median_seconds(program: Callable[[Any], Any], state: Any, repeats: int) -> float:
    """Of a call, after one that compiles."""
    jax.block_until_ready(program(state))
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(program(state))
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _print(result: Result) -> None:
    memory = "-" if result.peak_bytes is None else f"{result.peak_bytes / 2**30:.2f} GiB"
    settings = f"{counted(result.passes, 'pass', 'passes')}, {result.precision}, RSI {'on' if result.rsi else 'off'}"
    rows = (
        ("settings", settings),
        ("end to end", f"{result.steps_per_second:,.0f} env steps/s"),
        ("rollouts alone", f"{result.rollout_steps_per_second:,.0f} env steps/s"),
        ("an epoch", f"{result.epoch_s:.2f} s: rollout {result.rollout_s:.2f}, update {result.update_s:.2f}"),
        ("update's matrix products", f"{result.flop_per_epoch / result.update_s / 1e12:.3g} TFLOP/s"),
        ("compilation and first epoch", f"{result.compile_s:.1f} s"),
        ("memory", memory),
    )
    columns = (Column("what", identifies=True), Column("measured"))
    print_table(console(), columns, rows, title=f"{result.members} x {result.task} on {result.device}")
