"""Whole episodes of many policies at once: one program for all policies of a task that share a
form.

A slot is one policy in one mode: by its mean, or as trained. Axes: S slots of a batch, E episodes
of each. Every slot meets the same E worlds with the same noise; they come from the seed alone.

How many slots a batch has follows from the number of episodes and the size of the networks, not
from how many policies there are; slots that are left over repeat the last policy. So the program,
and with it every rounding, does not depend on who else is played.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle import policies, tasks
from saddle.collect.steps import first_keys
from saddle.errors import SaddleError
from saddle.float32 import in_float32
from saddle.policies import Form, NetworkPolicy, Weights
from saddle.study import room
from saddle.tasks import HostTask, HostWorlds, Task, TaskSpec

# Of a batch on a CPU, where more are hardly faster; one policy's two modes of 100 nearly fill it
WORLDS = 256
WORLDS_OF_AN_ACCELERATOR = 4096
WEIGHT_BYTES = 2**28  # of a batch's policies: a quarter of a gigabyte

Play = Callable[[Weights, np.ndarray, int, int], np.ndarray]
"""Weights [S, ...], is a slot stochastic [S], how many slots count, the worlds' seed -> totals
[that many, E, 2 + m].
"""


def slots(form: Form, episodes: int) -> int:
    """Slots of a batch: as many as its worlds and its weights have room for, and at least one."""
    numbers = sum((before + 1) * after for before, after in pairwise(form.widths))
    worlds = WORLDS if jax.default_backend() == "cpu" else WORLDS_OF_AN_ACCELERATOR
    by_worlds = worlds // episodes
    by_weights = WEIGHT_BYTES // (4 * numbers)
    return max(1, min(by_worlds, by_weights))


@in_float32
def play(
    alike: Sequence[NetworkPolicy],
    episodes: int,
    seed: int,
    done: Callable[[int], None] = lambda count: None,
) -> np.ndarray:
    """Play policies of one task and one form: totals [policies, 2, episodes, 2 + m].

    The second axis is by the mean, as trained; the last is return, length, costs. After each batch
    `done` is told how many policies are through.
    """
    player = Player(alike[0].task, alike[0].form, episodes)
    wanted: list[tuple[Weights, bool]] = []
    for policy in alike:
        wanted += [(policy.weights, False), (policy.weights, True)]
    found = player.play(wanted, seed, lambda count: done(count // 2))
    return found.reshape(len(alike), 2, episodes, -1)


class Player:
    """Plays policies of one task and one form, for so many episodes each; compiled once."""

    def __init__(self, name: str, form: Form, episodes: int) -> None:
        task = tasks.make(name)
        _check(name, form, task.spec)
        self.size = slots(form, episodes)
        if isinstance(task, HostTask):
            self._run = _on_host(task, form, self.size, episodes)
        else:
            self._run = _on_device(task, form, self.size, episodes)

    def play(
        self,
        wanted: Sequence[tuple[Weights, bool]],
        seed: int,
        done: Callable[[int], None] = lambda count: None,
    ) -> np.ndarray:
        """Totals [wanted, episodes, 2 + m] of policies' weights, each by its mean or as trained.
        After each batch `done` is told how many are through.
        """
        found: list[np.ndarray] = []
        for first in range(0, len(wanted), self.size):
            batch = list(wanted[first : first + self.size])
            filled = batch + batch[-1:] * (self.size - len(batch))
            every_weights, stochastic = zip(*filled, strict=True)
            weights = jax.tree.map(lambda *arrays: np.stack(arrays), *every_weights)
            found += list(self._run(weights, np.array(stochastic), len(batch), seed))
            done(len(found))
        return np.stack(found)


def _check(name: str, form: Form, spec: TaskSpec) -> None:
    """A policy fits its task. Where the task did not come with Saddle, nobody could say so
    before.
    """
    obs_dim = form.widths[0]
    wanted = (obs_dim, form.action_dim, form.choices)
    if wanted != (spec.obs_dim, spec.action_dim, spec.choices):
        raise SaddleError(
            f"a policy of {name} maps {obs_dim} observations to {_kind(form)}; the task has "
            f"{spec.obs_dim} and {_kind(spec)}; was it trained on another version of it, or on "
            f"another task?"
        )


def _kind(facts: Form | TaskSpec) -> str:
    """What actions are, in words."""
    kind = f" with {list(facts.choices)} choices" if facts.choices else ""
    return f"{facts.action_dim} actions{kind}"


def _actions(form: Form, weights: Weights, stochastic: Array, obs: Array, key: Array) -> Array:
    """Of every slot. obs [S, E, obs_dim] -> [S, E, action_dim]; the noise is the same in all
    slots.
    """
    output = jax.vmap(partial(policies.output, form))(weights, obs)
    drawn = jax.vmap(form.family.draw, (0, 0, None))(output, weights.log_std, key)
    return jnp.where(stochastic[:, None, None], drawn, form.family.mode(output))


def _noise_keys(spec: TaskSpec, seed: int) -> Array:
    """One per env step."""
    return jax.random.split(jax.random.key(seed + 1), spec.episode_length)


class _Episodes(NamedTuple):
    """Of N worlds, while they are played."""

    state: Any
    total: Array  # [N, 2 + m]
    running: Array  # [N] bool


def _on_device(task: Task, form: Form, size: int, episodes: int) -> Play:
    """Worlds of all slots are one flat batch of the task. A world that has ended adds nothing
    more.
    """
    count = size * episodes
    constraints = len(task.spec.constraints)

    @jax.jit
    def totals(weights: Weights, stochastic: Array, worlds: Array, keys: Array) -> Array:
        def step(before: _Episodes, key: Array) -> tuple[_Episodes, None]:
            obs = before.state.obs.reshape(size, episodes, -1)
            actions = _actions(form, weights, stochastic, obs, key)
            after = jax.vmap(task.step)(before.state, actions.reshape(count, -1))
            one_step = jnp.ones((count, 1))
            gained = jnp.concatenate([after.reward[:, None], one_step, after.cost], -1)
            total = before.total + jnp.where(before.running[:, None], gained, 0.0)
            ended = after.terminated | after.truncated
            return _Episodes(after, total, before.running & ~ended), None

        start = _Episodes(
            state=jax.vmap(task.reset)(worlds),
            total=jnp.zeros((count, 2 + constraints)),
            running=jnp.ones(count, bool),
        )
        done, _ = jax.lax.scan(step, start, keys)
        return done.total.reshape(size, episodes, -1)

    def run(weights: Weights, stochastic: np.ndarray, used: int, seed: int) -> np.ndarray:
        worlds = jnp.tile(first_keys(jax.random.key(seed)[None], episodes), size)
        keys = _noise_keys(task.spec, seed)
        return np.asarray(totals(weights, stochastic, worlds, keys))[:used]

    return run


def _on_host(task: HostTask, form: Form, size: int, episodes: int) -> Play:
    """As `_on_device`; the worlds of the slots that count are one batch of the host, or several
    where memory has no room for so many.
    """
    spec = task.spec
    most = _room_for_worlds(task)
    made: dict[int, HostWorlds] = {}
    act_in_slots = jax.jit(partial(_actions, form))

    def act(
        weights: Weights, stochastic: np.ndarray, places: np.ndarray, obs: np.ndarray, key: Array
    ) -> np.ndarray:
        """obs [n, obs_dim] of the worlds at these places of the batch -> [n, action_dim]. Slots
        whose worlds are not played now see zeros.
        """
        full = np.zeros((size * episodes, spec.obs_dim), np.float32)
        full[places] = obs
        every_obs = full.reshape(size, episodes, spec.obs_dim)
        actions = np.asarray(act_in_slots(weights, stochastic, every_obs, key))
        return actions.reshape(size * episodes, -1)[places]

    def totals(
        weights: Weights, stochastic: np.ndarray, places: np.ndarray, seed: int
    ) -> np.ndarray:
        """Of these worlds [n] of the batch: [n, 2 + m]."""
        count = len(places)
        if count not in made:
            made[count] = task.worlds(count)
        worlds = made[count]
        own_seeds = np.arange(seed * episodes, (seed + 1) * episodes, dtype=np.uint64)
        obs = worlds.reset(own_seeds[places % episodes])
        total = np.zeros((count, 2 + len(spec.constraints)))
        running = np.ones(count, bool)
        for key in _noise_keys(spec, seed):
            now = worlds.step(act(weights, stochastic, places, obs, key))
            gained = np.column_stack([now.reward, np.ones(count), now.cost])
            total += running[:, None] * gained
            running &= ~(now.terminated | now.truncated)
            obs = now.obs
            if not running.any():
                break
        return total

    def run(weights: Weights, stochastic: np.ndarray, used: int, seed: int) -> np.ndarray:
        weights = jax.device_put(weights)
        count = used * episodes
        parts = np.array_split(np.arange(count), math.ceil(count / most))
        found = [totals(weights, stochastic, places, seed) for places in parts]
        return np.concatenate(found).reshape(used, episodes, -1)

    return run


def _room_for_worlds(task: HostTask) -> int:
    """Worlds that half of the free memory holds, where the task says how much each takes."""
    each = getattr(task, "world_bytes", 0)
    if not each:
        return 2**31
    return max(1, room.free() // (2 * each))


def by_form(found: Sequence[NetworkPolicy]) -> Iterator[tuple[str, list[int]]]:
    """Task and places of the policies that one program can play, task by task."""
    alike: dict[tuple[str, Form], list[int]] = {}
    for place, policy in enumerate(found):
        alike.setdefault((policy.task, policy.form), []).append(place)
    for (task, _), places in alike.items():
        yield task, places
