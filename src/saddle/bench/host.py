"""Speed of a task whose worlds step on the host, whoever wrote it: env steps per second, and how
much of the time is not the environment's own.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from saddle.collect.settings import WIDE_SEGMENT
from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.tasks import HostTask
from saddle.tasks.host import random_actions

SECONDS = 1.0  # of each measurement
ROUNDS = 3  # such measurements; the fastest counts, since a busy neighbour only ever slows one
SHORT_ROUNDS = 12  # of a quarter of that time each, where two things are held against each other
STEPS = 16  # of each world that are measured at once, and at least in a collected rollout


@dataclass(frozen=True)
class HostResult:
    """One task under random actions, auto-reset and observations included."""

    task: str
    worlds: int
    all_threads: float  # env steps/s


@dataclass(frozen=True)
class HostOverhead:
    """One environment, in the best of some short rounds. Shares are of the time of all processes
    together, and hold whatever is not the environment's own code: waiting for the slowest included.
    Of collecting, the compiled share is what the one compiled call takes by itself that is made
    between two steps: it takes in what the worlds show, writes it down and decides. All else is
    Python, processes that wait for each other, and memory.
    """

    task: str
    worlds: int
    processes: int
    stepping: float  # env steps/s under random actions
    stepping_overhead: float
    collecting: float  # env steps/s of rollouts, with a policy that acts and is normalised
    collecting_overhead: float
    collecting_compiled: float


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


def measure_overhead(name: str, task: Any, count: int) -> HostOverhead:
    """How much of the time goes elsewhere than into the environment, when so many worlds are
    stepped, and when a policy collects from them.
    """
    worlds: Any = task.worlds(count) if isinstance(task, HostTask) else None
    if not hasattr(worlds, "seconds"):
        raise SaddleError(
            f"{name} does not tell how long its own steps take; bench host is for environments: "
            f"gym:ID or module:attribute"
        )
    worlds.reset(np.arange(count, dtype=np.uint64))
    draw = np.random.default_rng(0)
    batches = [random_actions(task.spec, draw, count) for _ in range(STEPS)]

    def step() -> None:
        for actions in batches:
            worlds.step(actions)

    stepping, stepping_overhead = _best(step, worlds, count * STEPS)
    processes = worlds.processes
    worlds.close()
    steps = int(np.clip(stepping * SECONDS / 4 / count, STEPS, WIDE_SEGMENT))
    collect, between, own_worlds = _collecting(task, count, steps)
    collecting, collecting_overhead = _best(collect, own_worlds, count * steps)
    own_worlds.close()
    return HostOverhead(
        task=name,
        worlds=count,
        processes=processes,
        stepping=stepping,
        stepping_overhead=stepping_overhead,
        collecting=collecting,
        collecting_overhead=collecting_overhead,
        collecting_compiled=_seconds(between) * collecting / count,
    )


def _best(work: Callable[[], None], worlds: Any, env_steps: int) -> tuple[float, float]:
    """Env steps/s, and the share of the time that is not the environment's, of the best round.

    work: makes so many env steps.
    """
    work()  # compiles, where anything does
    found = []
    for _ in range(SHORT_ROUNDS):
        own = worlds.seconds.sum()
        began = time.perf_counter()
        times = 0
        while time.perf_counter() - began < SECONDS / 4:
            work()
            times += 1
        wall = time.perf_counter() - began
        share = (worlds.seconds.sum() - own) / (worlds.processes * wall)
        found.append((times * env_steps / wall, 1 - share))
    return min(found, key=lambda one: one[1])


def _seconds(work: Callable[[], None]) -> float:
    """Of one call, in the best of some short rounds."""
    work()
    found = []
    for _ in range(SHORT_ROUNDS):
        began = time.perf_counter()
        for _ in range(STEPS):
            work()
        found.append((time.perf_counter() - began) / STEPS)
    return min(found)


def _collecting(
    task: HostTask, count: int, steps: int
) -> tuple[Callable[[], None], Callable[[], None], Any]:
    """What collects a rollout of so many steps of each world with an untrained policy, what makes
    the compiled call between two of these steps, and these worlds.
    """
    import jax
    import jax.numpy as jnp

    from saddle.collect.host import HostCollector
    from saddle.collect.steps import no_moments

    settings = PPO(steps_per_epoch=steps * count, worlds=count, layout="wide")
    learner = settings.learner(task.spec)
    keys = jax.vmap(jax.random.key)(jnp.zeros(1, jnp.uint32))
    actor = learner.actor(jax.vmap(learner.init)(keys))
    collector = HostCollector(task, settings, learner, members=1)
    moments = no_moments(1, task.spec.obs_dim)
    running, recent = collector.fresh(moments, keys)

    def collect() -> None:
        nonlocal running
        running, _, rollout = collector.collect(actor, moments, recent, running, keys)
        jax.block_until_ready(rollout)

    decision = collector.act(actor, running.seen, keys, 0)
    shown = collector.step(decision)
    before = running._replace(state={})
    rows = collector.no_rows(steps, moments, recent, before, decision, shown, keys)

    def between() -> None:
        nonlocal rows
        told = (moments, recent, before, decision, shown, actor, keys)
        *_, rows, _ = jax.block_until_ready(collector.go_on(*told, 0, 0, rows=rows))

    return collect, between, collector.worlds
