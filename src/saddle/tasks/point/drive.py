"""The robot's env step without contacts. On a GPU all substeps are one kernel; as a loop of XLA's
they were twenty.
"""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, ShapeDtypeStruct
from jax.experimental import pallas as pl

from saddle.accelerate import gate, gpu_kernel, triton
from saddle.accelerate.compiler.branch import Branch
from saddle.batch import one_batch
from saddle.tasks.point import body
from saddle.tasks.point.body import Agent, Planar

WORLDS = 128  # of one program of the kernel


def step(agent: Agent, throttle: Array, turn: Array) -> tuple[Agent, Planar]:
    """One world: the new state and the acceleration that the accelerometer sees there."""
    if gate.allows("triton") and _works():
        moved = one_batch(in_kernel)
    elif gate.allows("ptx"):  # the same by our own compiler, for a JAX that has no Triton any more
        moved = one_batch(_in_ptx)
    else:
        return substeps(agent, throttle, turn)
    after = moved(jnp.stack([*agent.q, *agent.v, throttle, turn]))
    return body.unpack(after), Planar(*after[6:])


@cache
def _works() -> bool:
    def trial() -> Array:
        return jax.jit(in_kernel)(jnp.zeros((1, 8)))

    return gate.works("the robot's free step", trial)


def _in_ptx(worlds: Array) -> Array:
    """As `in_kernel`, or as a loop where that does not compile."""
    count = worlds.shape[0]
    default = jnp.zeros((count, 9), worlds.dtype)

    def kernel() -> Array:
        gpu_kernel.prove(Branch.of(free_step, worlds, default))
        return gpu_kernel.patch(free_step, jnp.ones(count, bool), worlds, default)

    def plain() -> Array:
        return free_step(worlds)

    return gate.attempt("ptx", "the robot's free step", kernel, plain)


def free_step(worlds: Array) -> Array:
    """[N, 8]: pose, velocity, throttle, turn -> [N, 9]: pose, velocity, acceleration."""
    agent, acceleration = substeps(body.unpack(worlds), worlds[:, 6], worlds[:, 7])
    return jnp.stack([*agent.q, *agent.v, *acceleration], axis=1)


def substeps(agent: Agent, throttle: Array, turn: Array) -> tuple[Agent, Planar]:
    """As `step`, of any batch of worlds element by element."""

    def substep(_: int, agent: Agent) -> Agent:
        return body.integrate(agent, body.smooth_force(agent, throttle, turn))

    agent = jax.lax.fori_loop(0, body.SUBSTEPS, substep, agent)
    return agent, body.solve(agent.q.yaw, body.smooth_force(agent, throttle, turn), 0.0)


def in_kernel(worlds: Array) -> Array:
    """`free_step` as a kernel for Triton."""
    count = worlds.shape[0]
    programs = -(-count // WORLDS)
    padded = programs * WORLDS

    def kernel(before: Any, after: Any) -> None:
        x, y, yaw, vx, vy, w, throttle, turn = (before[i, :] for i in range(8))
        start = Agent(Planar(x, y, yaw), Planar(vx, vy, w))
        agent, acceleration = substeps(start, throttle, turn)
        for i, column in enumerate([*agent.q, *agent.v, *acceleration]):
            after[i, :] = column

    def block(rows: int) -> pl.BlockSpec:
        return pl.BlockSpec((rows, WORLDS), lambda program: (0, program))

    call = pl.pallas_call(
        kernel,
        ShapeDtypeStruct((9, padded), worlds.dtype),
        grid=(programs,),
        in_specs=[block(8)],
        out_specs=block(9),
        compiler_params=triton.CompilerParams(num_warps=4),
        interpret=jax.default_backend() == "cpu",
    )
    columns = jnp.pad(worlds.T, ((0, 0), (0, padded - count)))
    return call(columns).T[:count]
