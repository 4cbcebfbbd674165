"""One env step of a batch of worlds in MJX's own code, and what a body can need; `warp_graph` has
the step on Warp.
"""

import contextlib
import copy
import io
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.velocity import colliders, models
from saddle.tasks.velocity.body import Body, glide

mjx: Any
with contextlib.redirect_stdout(io.StringIO()):  # it prints that Warp is missing, where it is
    from mujoco import mjx

TORSO = 1  # the first body after the world
ROWS = 4  # constraint rows of a contact with friction

# Runge and Kutta: each stage's weight, and how far (in substeps) the next stage starts from here.
STAGES = ((1 / 6, 1 / 2), (1 / 3, 1 / 2), (1 / 3, 1.0), (1 / 6, 0.0))


class Moved(NamedTuple):
    """Where worlds are after an env step; leading axis N in a batch."""

    qpos: Array  # [nq]
    qvel: Array  # [nv]
    seen: Array  # [k] horizontal torso position that the engine computed last


Batch = tuple[Array, Array, Array]  # qpos [N, nq], qvel [N, nv], control [N, nu]


def jax_step(body: Body, iterations: int | None = None) -> Callable[[Batch], Moved]:
    """MJX's own implementation."""
    native: Any = models.compiled(body.model())
    substep = _runge_kutta if native.opt.integrator == 1 else _euler

    def one(qpos: Array, qvel: Array, control: Array) -> Moved:
        model = put_model(body, iterations)
        data = mjx.make_data(native, impl="jax").replace(ctrl=control)

        def more(_: int, moved: tuple[Moved, Array]) -> tuple[Moved, Array]:
            return substep(body, model, data, moved)

        start = (Moved(qpos, qvel, qpos[: body.travels]), jnp.zeros_like(qvel))
        return jax.lax.fori_loop(0, body.substeps, more, start)[0]

    def batched(batch: Batch) -> Moved:
        with colliders.in_jax():
            return jax.vmap(one)(*batch)

    return batched


def _euler(body: Body, model: Any, data: Any, carry: tuple[Moved, Array]) -> tuple[Moved, Array]:
    """One substep with damping taken implicitly, as MJX does it."""
    moved, warm = carry
    data = mjx.step(model, data.replace(qpos=moved.qpos, qvel=moved.qvel, qacc_warmstart=warm))
    return Moved(data.qpos, data.qvel, data.qpos[: body.travels]), data.qacc_warmstart


def _runge_kutta(
    body: Body, model: Any, data: Any, carry: tuple[Moved, Array]
) -> tuple[Moved, Array]:
    """One substep in four stages. In a loop, so that the engine is compiled once and not four
    times.
    """
    (qpos, qvel, _), warm = carry
    h = model.opt.timestep

    def move(turn: Array) -> Array:
        return glide(qpos, turn, jnp) if body.free else qpos + turn

    def stage(
        carry: tuple[Array, ...], table: tuple[Array, Array]
    ) -> tuple[tuple[Array, ...], None]:
        (weight, reach), (place, speed, warm, _, mean_speed, mean_slope) = table, carry
        slope = mjx.forward(model, data.replace(qpos=place, qvel=speed, qacc_warmstart=warm)).qacc
        means = (mean_speed + weight * speed, mean_slope + weight * slope)
        return (
            move(reach * h * speed),
            qvel + reach * h * slope,
            slope,
            place[: body.travels],
            *means,
        ), None

    weights, reaches = (jnp.asarray(column, qpos.dtype) for column in zip(*STAGES, strict=True))
    zero = jnp.zeros_like(qvel)
    start = (qpos, qvel, warm, qpos[: body.travels], zero, zero)
    (_, _, warm, seen, mean_speed, mean_slope), _ = jax.lax.scan(stage, start, (weights, reaches))
    moved = move(h * mean_speed)
    return Moved(moved, qvel + h * mean_slope, seen if body.free else moved[: body.travels]), warm


@cache
def most_contacts(body: Body) -> tuple[int, int]:
    """Contacts and constraint rows that a world can have at once: buffers of this size cannot
    overflow.

    A capsule touches the floor at both ends, a sphere once, each with friction; two links touch at
    most once, without.
    """
    model: Any = models.compiled(body.model())
    ends = sum(1 if kind == 2 else 2 for kind in model.geom_type[1:])
    links = _linked_pairs(model)
    return ends + links, ROWS * ends + links + int(model.jnt_limited.sum())


def _linked_pairs(model: Any) -> int:
    """Pairs of the body's own geoms that may collide: neighbours never do."""
    count = 0
    for a in range(1, model.ngeom):
        for b in range(a + 1, model.ngeom):
            meet = (
                model.geom_contype[a] & model.geom_conaffinity[b]
                or model.geom_contype[b] & model.geom_conaffinity[a]
            )
            first = model.geom_bodyid[a]
            second = model.geom_bodyid[b]
            near = (
                first in (second, model.body_parentid[second])
                or second == model.body_parentid[first]
            )
            count += bool(meet) and not near
    return count


def put_model(body: Body, iterations: int | None = None) -> Any:
    """The model as MJX wants it, in the precision that JAX has now."""
    return _put_model(body, iterations, jnp.zeros(()).dtype.name)


@cache
def _put_model(body: Body, iterations: int | None, dtype: str) -> Any:
    with jax.ensure_compile_time_eval():
        return mjx.put_model(model_for(body, iterations), impl="jax")


def model_for(body: Body, iterations: int | None) -> Any:
    """MuJoCo's model as MJX and Warp take it."""
    model: Any = copy.copy(models.compiled(body.model()))
    # They never reset a diverged world, and do not know the flag that says so
    model.opt.disableflags = 0
    model.opt.iterations = iterations or model.opt.iterations
    return model
