# pyright: reportInvalidTypeForm=false
"""An env step of many worlds by MuJoCo Warp, as one call from JAX. Needs Warp.

MJX's own way to Warp is a call per substep with some 170 arrays in and out, which Python looks
through and XLA copies. A world is its positions and velocities, so here nothing else crosses: the
engine's data stays with Warp, and all substeps are one graph of kernels, recorded once.

Many of those kernels start a thread for every contact or constraint row that there could be, and
worlds hardly ever have as many. So a step runs with room for the usual number; where that was too
little, it runs again with room for all.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import warp as wp  # type: ignore[import-not-found]
from jax import Array
from mujoco.mjx.third_party import mujoco_warp
from mujoco.mjx.third_party.mujoco_warp._src import forward as stages

from saddle.tasks.velocity import colliders
from saddle.tasks.velocity.body import Body
from saddle.tasks.velocity.steppers import TORSO, Batch, Moved, model_for, most_contacts

USUAL_ROWS = 32  # of a world: in a million steps of random actions, no body has had more
# Of a world, on average over a batch, with pairs that are only near; under random actions 2
USUAL_CONTACTS = 8

Numbers = wp.array2d(dtype=float)
Places = wp.array2d(dtype=wp.vec3)
Counts = wp.array(dtype=int)


class Room(NamedTuple):
    """What the engine's data is sized for."""

    contacts: int  # of all worlds together
    rows: int  # of each world


def warp_step(body: Body, iterations: int | None = None) -> Callable[[Batch], Moved]:
    """One env step of a batch of worlds."""
    contacts, rows = most_contacts(body)

    def batched(batch: Batch) -> Moved:
        worlds = batch[0].shape[0]
        dtype = batch[0].dtype
        batch = jax.tree.map(lambda x: x.astype(jnp.float32), batch)  # Warp has no other

        def run(room: Room, batch: Batch) -> list[Array]:
            return _call(body, iterations, worlds, room)(*batch)

        def again(batch: Batch, _: list[Array]) -> list[Array]:
            return run(Room(worlds * contacts, rows), batch)[:3]

        *usual, exceeded = run(
            Room(worlds * min(USUAL_CONTACTS, contacts) + contacts, min(USUAL_ROWS, rows)), batch
        )
        qpos, qvel, places = jax.lax.cond(
            exceeded[0] > 0, again, lambda _, usual: usual, batch, usual
        )
        seen = places[:, TORSO] if body.free else qpos
        return jax.tree.map(lambda x: x.astype(dtype), Moved(qpos, qvel, seen[:, : body.travels]))

    return batched


@cache
def _call(
    body: Body, iterations: int | None, worlds: int, room: Room
) -> Callable[..., list[Array]]:
    """qpos [N, nq], qvel [N, nv], control [N, nu] -> qpos, qvel, where bodies were seen last, and a
    flag.

    The places are [N, bodies, 3]. The flag [1] is 1 if there was not room enough; then all is void.
    """
    colliders.in_warp()
    on_gpu = jax.default_backend() == "gpu"
    with wp.ScopedDevice("cuda:0" if on_gpu else "cpu"):
        model, data = _allocate(body, iterations, worlds, room)

    def run(
        qpos: Numbers,
        qvel: Numbers,
        control: Numbers,
        qpos_out: Numbers,
        qvel_out: Numbers,
        places: Places,
        exceeded: Counts,
    ) -> None:
        for to, values in ((data.qpos, qpos), (data.qvel, qvel), (data.ctrl, control)):
            wp.copy(to, values)
        data.qacc_warmstart.zero_()
        exceeded.zero_()
        with _watched(exceeded):
            for _ in range(body.substeps):
                mujoco_warp.step(model, data)
        for to, values in ((qpos_out, data.qpos), (qvel_out, data.qvel), (places, data.xpos)):
            wp.copy(to, values)

    # Recorded on arrays of its own, a graph serves wherever JAX has its arrays next time.
    mode = wp.JaxCallableGraphMode.WARP_STAGED if on_gpu else wp.JaxCallableGraphMode.NONE
    outputs = {"qpos_out": data.qpos, "qvel_out": data.qvel, "places": data.xpos}
    shapes = {name: array.shape for name, array in outputs.items()} | {"exceeded": (1,)}
    return wp.jax_callable(run, num_outputs=4, graph_mode=mode, output_dims=shapes)


def _allocate(body: Body, iterations: int | None, worlds: int, room: Room) -> tuple[Any, Any]:
    """The model, and data for so many worlds."""
    native = model_for(body, iterations)
    model = mujoco_warp.put_model(native)
    model.opt.warn_overflow = 0  # `_watched` notices
    model.nlight = 0  # nobody looks
    return model, mujoco_warp.make_data(
        native, nworld=worlds, naconmax=room.contacts, njmax=room.rows
    )


@contextlib.contextmanager
def _watched(exceeded: Any) -> Iterator[None]:
    """Meanwhile every evaluation of the forces sets `exceeded` if there was more than there is room
    for.

    Warp's own flag is set once a substep, from the last of its four evaluations.
    """
    theirs = stages.forward

    def forward(model: Any, data: Any) -> None:
        theirs(model, data)
        found = [data.nefc, data.nacon, data.ncollision, data.njmax, data.naconmax]
        wp.launch(_watch, data.nworld, inputs=found, outputs=[exceeded])

    stages.forward = forward
    try:
        yield
    finally:
        stages.forward = theirs


@wp.kernel
def _watch(
    rows: Counts, contacts: Counts, pairs: Counts, most_rows: int, most: int, exceeded: Counts
) -> None:
    if rows[wp.tid()] > most_rows or contacts[0] > most or pairs[0] > most:
        exceeded[0] = 1
