"""The velocity tasks on MJX, inside JAX: on its own code ("jax", anywhere) or on Warp ("warp", a
CUDA GPU).

A world is its positions and velocities: nothing of the engine's own data outlasts an env step and
the solver starts cold, as in the reference's transitions. All worlds of a batch go through the
engine together, however they are stacked.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
from jax import Array

from saddle.batch import one_batch
from saddle.errors import SaddleError
from saddle.tasks.spec import TaskSpec
from saddle.tasks.task import State, pytree
from saddle.tasks.velocity import models, steppers
from saddle.tasks.velocity.body import Body, observe, settle, upright

Impl = Literal["jax", "warp"]


@pytree
class VelocityState(State):
    """State plus the body."""

    qpos: Array  # [nq]
    qvel: Array  # [nv]
    # [k] m: the torso position that speeds are taken from, minus the one in qpos; 0 but in Ant
    lag: Array
    velocity: Array  # [k] m/s, over the step that led here
    diverged: Array  # [] bool: the physics broke down in that step


@dataclass(frozen=True)
class MjxTask:
    """A velocity task on MJX."""

    body: Body
    impl: Impl
    # Of the contact solver at most; None as in the reference, which stops by itself
    iterations: int | None = None
    layout: ClassVar[str] = "wide"  # of worlds: an accelerator is filled by large batches of them

    def __post_init__(self) -> None:
        if self.iterations is not None and self.iterations < 1:
            raise SaddleError(
                f"iterations is {self.iterations}; the contact solver needs at least 1"
            )

    @property
    def spec(self) -> TaskSpec:
        """The body's."""
        return self.body.spec

    @property
    def engine(self) -> str:
        """Its name in `saddle.tasks.make`."""
        return f"mjx-{self.impl}"

    def reset(self, key: Array) -> VelocityState:
        """The model's first pose with noise on every coordinate."""
        body = self.body
        model = models.compiled(self.body.model())
        key, positions, speeds = jax.random.split(key, 3)

        def noise(key: Array, size: int) -> Array:
            return jax.random.uniform(key, (size,), minval=-body.noise, maxval=body.noise)

        qpos = jnp.asarray(model.qpos0, float) + noise(positions, model.nq)
        qpos = upright(qpos, jnp) if body.free else qpos
        qvel = (
            body.noise * jax.random.normal(speeds, (model.nv,))
            if body.normal
            else noise(speeds, model.nv)
        )
        still = jnp.zeros(body.travels)
        no = jnp.zeros((), bool)
        return VelocityState(
            obs=observe(body, qpos, qvel, jnp),
            reward=jnp.zeros(()),
            cost=jnp.zeros(1),
            terminated=no,
            truncated=no,
            steps=jnp.zeros((), jnp.int32),
            key=key,
            qpos=qpos,
            qvel=qvel,
            lag=still,
            velocity=still,
            diverged=no,
        )

    def step(self, state: VelocityState, action: Array) -> VelocityState:
        """One env step. The physics starts at x = y = 0, so that a speed never is a difference of
        large numbers.
        """
        if jnp.shape(action) != (self.spec.action_dim,):
            raise SaddleError(
                f"{self.spec.name} takes actions of shape ({self.spec.action_dim},) per world, not "
                f"{jnp.shape(action)}; use jax.vmap for many worlds"
            )
        k = self.body.travels
        control = jnp.clip(action, -1, 1).astype(state.qpos.dtype)
        moved = _advance(self.body, self.impl, self.iterations)(
            (state.qpos.at[:k].set(0), state.qvel, control)
        )
        travelled = replace(
            state, lag=moved.seen - moved.qpos[:k], velocity=(moved.seen - state.lag) / self.spec.dt
        )
        qpos = moved.qpos.at[:k].add(state.qpos[:k])
        return self.settle(replace(travelled, qpos=qpos, qvel=moved.qvel), action)

    def settle(self, state: VelocityState, action: Array) -> VelocityState:
        """What a step does after the physics: `state` has the new positions and velocities."""
        ruled = settle(self.body, state.qpos, state.qvel, state.velocity, action, jnp)
        return replace(
            state,
            obs=ruled.obs,
            reward=ruled.reward,
            cost=ruled.cost[None],
            terminated=ruled.terminated,
            truncated=state.steps + 1 >= self.spec.episode_length,
            steps=state.steps + 1,
            diverged=ruled.diverged,
        )

    def observe(self, state: VelocityState) -> Array:
        """[obs_dim]: positions but the horizontal ones, then velocities."""
        return observe(self.body, state.qpos, state.qvel, jnp)

    def info(self, state: VelocityState) -> dict[str, Any]:
        """The reference's entries; `diverged` is ours."""
        position = state.qpos[: self.body.travels] + state.lag
        return self.body.info(position, state.velocity, state.reward) | {"diverged": state.diverged}


@cache
def _advance(
    body: Body, impl: Impl, iterations: int | None
) -> Callable[[tuple[Array, Array, Array]], steppers.Moved]:
    """(qpos [nq], qvel [nv], control [nu]) of one world -> where it is after an env step."""
    if impl == "jax":
        return one_batch(steppers.jax_step(body, iterations))
    from saddle.tasks.velocity.warp_graph import warp_step  # needs Warp

    return one_batch(warp_step(body, iterations))
