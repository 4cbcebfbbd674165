"""Free bodies: pose, velocity, and how they move under an acceleration."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.tasks.point.body import GRAVITY, H
from saddle.tasks.point.physics.once import add_all
from saddle.tasks.point.physics.vec import Axes, Vec, quaternion_axes


class Motion(NamedTuple):
    """Linear and angular velocity or acceleration of bodies, world frame."""

    linear: Vec
    angular: Vec

    def __add__(self, other: "Motion") -> "Motion":
        return Motion(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: "Motion") -> "Motion":
        return Motion(self.linear - other.linear, self.angular - other.angular)


class Kind(NamedTuple):
    """What a body is made of."""

    mass: float  # kg
    inertia: tuple[float, float]  # kg m^2, about its x and y axes, and about its z axis
    inverse_weight: float  # 1/kg, the engine's translational weight in contact regularisation


class Bodies(NamedTuple):
    """B free bodies in each of N worlds: arrays [B, N]."""

    position: Vec  # m
    quaternion: tuple[Array, Array, Array, Array]  # w, x, y, z
    velocity: Vec  # m/s, world frame
    spin: Vec  # rad/s, body frame

    @property
    def axes(self) -> Axes:
        """Orientation."""
        return quaternion_axes(*self.quaternion)


def unpack(bodies: Array) -> Bodies:
    """[N, B, 13] -> Bodies."""
    parts = [bodies[..., i].T for i in range(13)]
    w, x, y, z = parts[3:7]
    return Bodies(
        position=Vec(*parts[:3]),
        quaternion=(w, x, y, z),
        velocity=Vec(*parts[7:10]),
        spin=Vec(*parts[10:]),
    )


def pack(bodies: Bodies) -> Array:
    """Bodies -> [N, B, 13]."""
    parts = [*bodies.position, *bodies.quaternion, *bodies.velocity, *bodies.spin]
    return jnp.stack([part.T for part in parts], axis=-1)


def smooth_acceleration(bodies: Bodies, axes: Axes, kind: Kind) -> Motion:
    """Gravity and the gyroscopic term, in the world frame."""
    across, about = kind.inertia
    ratio = (about - across) / across
    x, y, z = bodies.spin
    zero = jnp.zeros_like(x)
    gyroscopic = Vec(-ratio * y * z, ratio * x * z, zero)
    return Motion(Vec(zero, zero, zero - GRAVITY), axes.to_world(gyroscopic))


def mass_matrix(kind: Kind, axes: Axes) -> list[list[Array]]:
    """Mass and inertia in the world frame: lower triangle over (linear, angular), arrays [B, N]."""
    across, about = kind.inertia
    z = [*axes.z]
    zero = jnp.zeros_like(axes.z.x)
    rows = []
    for i in range(3):
        rows.append([zero] * i + [zero + kind.mass])
    for i in range(3):
        turn = []
        for j in range(i + 1):
            on_diagonal = across if i == j else 0
            turn.append((about - across) * z[i] * z[j] + on_diagonal)
        rows.append([zero] * 3 + turn)
    return rows


def integrate(bodies: Bodies, axes: Axes, a: Motion) -> Bodies:
    """One semi-implicit Euler substep."""
    velocity = bodies.velocity + a.linear * H
    spin = bodies.spin + axes.to_body(a.angular) * H
    return Bodies(
        position=bodies.position + velocity * H,
        quaternion=_turn(bodies.quaternion, spin * H),
        velocity=velocity,
        spin=spin,
    )


def _turn(q: tuple[Array, Array, Array, Array], rotation: Vec) -> tuple[Array, Array, Array, Array]:
    """The quaternion after a rotation vector (rad) in the body frame."""
    half = 0.5 * rotation.norm()
    scale = 0.5 * jnp.sinc(half / jnp.pi)
    c = jnp.cos(half)
    w, x, y, z = q
    u = rotation * scale
    turned = (
        w * c - x * u.x - y * u.y - z * u.z,
        w * u.x + x * c + y * u.z - z * u.y,
        w * u.y - x * u.z + y * c + z * u.x,
        w * u.z + x * u.y - y * u.x + z * c,
    )
    length = jnp.sqrt(add_all(part * part for part in turned))
    return tuple(part / length for part in turned)  # type: ignore[return-value]
