"""How fast this machine runs a unit, measured in seconds rather than by running one.

On a CPU a unit's epoch may take minutes, so its parts are timed apart and scaled: a few env steps of all members, the
reset that an epoch begins with, and what one member learns from a part of its samples. An accelerator takes the whole
unit at once, so there its own first epochs are timed.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from saddle.config import PPO, Member

if TYPE_CHECKING:
    from saddle.collect import Rollout
    from saddle.population import Population
    from saddle.study.program import UnitProgram

STEPS = 16  # of the timed rollout
MINIBATCHES = 2  # of the timed passes
REPEATS = 2  # at least, and for at least so many seconds: a busy machine needs more than one look
SECONDS = 1.0
EPOCHS = 3  # of a unit that is timed whole, after the one that compiles

SHARE_OF_PASSES = 0.75
"""Of the most that an epoch may take, as members stop by their KL. The runs in results/ took 0.94 (Circle1), 0.69
(Goal1) and 0.73 (HalfCheetah) on average; Goal1's took 0.38 when they were 3.5e7 steps long."""


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


def of_population(task: str, ppo: PPO, members: Sequence[Member]) -> Pace:
    """By timing an epoch's parts, for a population on a CPU."""
    rollout = _rollout_time(task, ppo, members)
    learning = _learning_time(task, ppo, members[0])
    return Pace(
        compile=rollout.compile + learning.compile,
        member_epoch=rollout.run / len(members) + learning.run,
    )


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


def _rollout_time(task: str, ppo: PPO, members: Sequence[Member]) -> _Timed:
    """Of an epoch's rollout of all members."""
    import jax

    from saddle import tasks
    from saddle.population import Population

    worlds = ppo.worlds_for(tasks.make(task).spec.episode_length)
    steps = ppo.steps_per_epoch // worlds
    short = min(STEPS, steps)
    small = dataclasses.replace(ppo, steps_per_epoch=short * worlds, worlds=worlds)
    population = Population(task, small, members, small.steps_per_epoch)
    compiled = (lambda function: function) if population.on_host else jax.jit
    state = population.init()
    fresh = compiled(population.fresh)
    rollout = compiled(population.rollout)
    resetting = _timed(lambda: fresh(state))
    started = state._replace(worlds=fresh(state)[0])
    stepping = _timed(lambda: rollout(started)[2].signal)
    # In the study's layout all worlds start together, and all end together at the epoch's last step.
    resets = 2 if ppo.layout == "study" else 0
    return _Timed(stepping.compile, stepping.run * steps / short + resets * resetting.run)


def _learning_time(task: str, ppo: PPO, member: Member) -> _Timed:
    """Of what one member learns in an epoch."""
    import jax

    from saddle.population import Population

    samples = min(ppo.steps_per_epoch, MINIBATCHES * ppo.batch)
    passes = max(1, round(SHARE_OF_PASSES * ppo.passes))
    small = dataclasses.replace(ppo, steps_per_epoch=samples, worlds=1, passes=passes, target_kl=1e9, layout="study")
    population = Population(task, small, [member], samples)
    state = population.init()
    rollout = _made_up_rollout(population, samples)
    learn = jax.jit(population.learn)
    timed = _timed(lambda: learn(state, None, state.moments, rollout)[1]["kl"])
    return _Timed(timed.compile, timed.run * ppo.steps_per_epoch / samples)


def _made_up_rollout(population: "Population", steps: int) -> "Rollout":
    """Numbers of the right shapes: one member, one world. What is learned from them does not matter."""
    import jax
    import jax.numpy as jnp

    from saddle.collect import Rollout

    spec = population.spec
    m = len(spec.constraints)
    noise = jax.random.normal(jax.random.key(0), (steps, 1, 1, spec.obs_dim))
    numbers = jnp.zeros((steps, 1, 1))
    flags = jnp.zeros((steps, 1, 1), bool)
    actions = jnp.zeros((steps, 1, 1, spec.action_dim))
    signal = jax.random.normal(jax.random.key(1), (steps, 1, 1, 1 + m))
    return Rollout(
        obs=noise,
        next_obs=noise,
        action=actions,
        mean=actions,
        log_prob=numbers - 1.0,
        signal=signal,
        terminated=flags,
        ended=flags,
        finished=jnp.zeros((steps, 1, 1, 2 + m)),
        counted=flags,
    )
