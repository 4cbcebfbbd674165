"""Env steps per second of a task whose worlds step on the host, whoever wrote it."""

import time
from dataclasses import dataclass

import numpy as np

from saddle.tasks import HostTask
from saddle.tasks.host import random_actions

SECONDS = 1.0  # of each measurement
ROUNDS = 3  # such measurements; the fastest counts, since a busy neighbour only ever slows one


@dataclass(frozen=True)
class HostResult:
    """One task under random actions, auto-reset and observations included."""

    task: str
    worlds: int
    all_threads: float  # env steps/s


def measure(name: str, task: HostTask, count: int) -> HostResult:
    """Step so many worlds for a while. name: how the task was asked for."""
    worlds = task.worlds(count)
    worlds.reset(np.arange(count, dtype=np.uint64))
    draw = np.random.default_rng(0)
    rates = []
    for _ in range(ROUNDS):
        spent = 0.0
        done = 0
        while spent < SECONDS:
            actions = random_actions(task.spec, draw, count)
            start = time.perf_counter()
            worlds.step(actions)
            spent += time.perf_counter() - start
            done += count
        rates.append(done / spent)
    return HostResult(name, count, max(rates))
