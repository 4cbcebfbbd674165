"""MJX's contact of a capsule with the floor, with MuJoCo C's friction directions.

Where a capsule stands steeper than 60 degrees, MJX turns its contact frame to a world axis; MuJoCo
C keeps the projected axis of the capsule. The friction pyramid has corners, so the direction
matters: Ant's velocities after a step are off by up to 1.5 m/s or rad/s. Both of MJX's
implementations look the collider up by name, and here they find ours instead. Only this process is
changed, and only towards what MuJoCo C does.
"""

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import jax.numpy as jnp
from jax import Array

VERTICAL = 1e-15  # a projected axis shorter than this has no direction: MuJoCo C takes x


def friction_frame(normal: Array, axis: Array) -> Array:
    """[3, 3] rows: the floor's normal, the capsule's axis projected onto the floor, and their cross
    product.
    """
    along = axis - normal * jnp.dot(normal, axis)
    length = jnp.sqrt(jnp.sum(jnp.square(along)))
    along = jnp.where(
        length < VERTICAL, jnp.eye(3, dtype=along.dtype)[0], along / jnp.maximum(length, VERTICAL)
    )
    return jnp.stack([normal, along, jnp.cross(normal, along)])


@contextlib.contextmanager
def in_jax() -> Iterator[None]:
    """While a step is traced, MJX's own implementation finds our collider."""
    from mujoco.mjx._src import collision_driver

    table: Any = collision_driver._COLLISION_FUNC
    pair = (collision_driver.GeomType.PLANE, collision_driver.GeomType.CAPSULE)
    theirs = table[pair]
    table[pair] = _jax_collider()
    try:
        yield
    finally:
        table[pair] = theirs


@cache
def _jax_collider() -> Any:
    from mujoco.mjx._src.collision_primitive import _plane_sphere, collider

    @collider(ncon=2)
    def plane_capsule(plane: Any, capsule: Any) -> tuple[Array, Array, Array]:
        """Distances [2], positions [2, 3] and frames [2, 3, 3] of both ends."""
        normal = plane.mat[:, 2]
        axis = capsule.mat[:, 2]
        reach = axis * capsule.size[1]
        ends = [
            _plane_sphere(normal, plane.pos, capsule.pos + end, capsule.size[0])
            for end in (reach, -reach)
        ]
        distances, positions = (jnp.stack(column) for column in zip(*ends, strict=True))
        return distances, positions, jnp.stack([friction_frame(normal, axis)] * 2)

    return plane_capsule


def in_warp() -> None:
    """From now on Warp compiles its floor-capsule contact with our frame. Call before the first
    step.
    """
    from mujoco.mjx.third_party.mujoco_warp._src import collision_primitive

    from saddle.tasks.velocity.warp_collider import plane_capsule

    primitive: Any = collision_primitive
    primitive.plane_capsule = plane_capsule
