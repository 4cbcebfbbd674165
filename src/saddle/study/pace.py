"""How fast this machine runs a unit, measured in seconds rather than by running one.

On a CPU a unit's epoch may take minutes, so its parts are timed apart and scaled: a few env steps
of all members, the reset that an epoch begins with, and what one member learns from a part of its
samples. An accelerator takes the whole unit at once, so there its own first epochs are timed.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from saddle.config import Member
from saddle.float32 import in_float32
from saddle.learners.settings import LearnerSettings

if TYPE_CHECKING:
    from saddle.study.program import UnitProgram

STEPS = 16  # of the timed rollout
REPEATS = 2  # at least, and for at least so many seconds: a busy machine needs more than one look
SECONDS = 1.0
EPOCHS = 3  # of a unit that is timed whole, after the one that compiles


@dataclass(frozen=True)
class Pace:
    """Of the units of one task."""

    compile: float
    """Seconds that a unit takes before its first epoch."""
    member_epoch: float
    """Seconds of a unit's epoch, divided by its members."""

    def seconds(self, members: int, epochs: int) -> float:
        """Of a whole unit."""
        return self.compile + self.member_epoch * members * epochs


UNKNOWN = Pace(0.0, 0.0)


def of_program(program: "UnitProgram", members: int) -> Pace:
    """By running some epochs of the unit itself."""
    began = time.monotonic()
    state, _ = program.epoch(program.init())
    first = time.monotonic() - began
    times = []
    for _ in range(min(EPOCHS, program.epochs - 1)):
        began = time.monotonic()
        state, _ = program.epoch(state)
        times.append(time.monotonic() - began)
    epoch = statistics.median(times) if times else first
    return Pace(max(first - epoch, 0.0), epoch / members)


@in_float32
def of_population(
    task: str, learner: LearnerSettings, members: Sequence[Member], epochs: int
) -> Pace:
    """By timing parts of an epoch, for a population on a CPU that trains for so many."""
    if learner.in_cycles:
        return _of_cycles(task, learner, members, epochs)
    rollout = _rollout_time(task, learner, members)
    learning = _learning_time(task, learner, members, epochs)
    each = (rollout.run + learning.run) / len(members)
    return Pace(rollout.compile + learning.compile, each)


def _of_cycles(task: str, learner: LearnerSettings, members: Sequence[Member], epochs: int) -> Pace:
    """By timing some cycles, where steps and learning take turns, of one member on each core."""
    from saddle.population import Population

    small, times = learner.sample(epochs)
    cores = Population(task, small, members, small.steps_per_epoch).cores
    population = Population(task, small, members[: cores.count], small.steps_per_epoch)
    state = population.init()

    def epoch() -> Any:
        nonlocal state
        state, metrics = population.epoch(state)
        return metrics

    timed = _timed(epoch)
    return Pace(timed.compile, timed.run * times * cores.share / len(members))


@dataclass(frozen=True)
class _Timed:
    """Seconds to compile something, and to run it."""

    compile: float
    run: float


def _timed(function: Callable[[], Any]) -> _Timed:
    """Call it once, which compiles, and then until its time is known."""
    import jax

    began = time.monotonic()
    jax.block_until_ready(function())
    first = time.monotonic() - began
    times: list[float] = []
    while len(times) < REPEATS or sum(times) < SECONDS:
        began = time.monotonic()
        jax.block_until_ready(function())
        times.append(time.monotonic() - began)
    run = statistics.mean(times)
    return _Timed(max(first - run, 0.0), run)


def _rollout_time(task: str, learner: LearnerSettings, members: Sequence[Member]) -> _Timed:
    """Of an epoch's rollout of all members."""
    from saddle import tasks
    from saddle.population import Population

    worlds = learner.worlds_for(tasks.make(task).spec.episode_length)
    steps = learner.steps_per_epoch // worlds
    short = min(STEPS, steps)
    small = dataclasses.replace(learner, steps_per_epoch=short * worlds, worlds=worlds)
    population = Population(task, small, members, small.steps_per_epoch)
    state = population.init()
    fresh = population.compiled_fresh()
    rollout = population.compiled_rollout()
    resetting = _timed(lambda: fresh(state))
    started = state._replace(worlds=fresh(state)[0])
    stepping = _timed(lambda: rollout(started)[2].signal)
    # In the study's layout all worlds start together, and all end together at the epoch's last
    # step.
    resets = 2 if learner.layout == "study" else 0
    return _Timed(stepping.compile, stepping.run * steps / short + resets * resetting.run)


def _learning_time(
    task: str, learner: LearnerSettings, members: Sequence[Member], epochs: int
) -> _Timed:
    """Of what all members learn in an epoch of so many, on average: one on each core is timed."""
    from saddle.population import Population

    small, times = learner.sample(epochs)
    cores = Population(task, small, members, small.steps_per_epoch).learning_cores
    population = Population(task, small, members[: cores.count], small.steps_per_epoch)
    state = population.init()
    rollout = population.made_up_rollout(state)
    learn = population.compiled_learning()
    timed = _timed(lambda: learn(state, rollout))
    return _Timed(timed.compile, timed.run * times * cores.share)
