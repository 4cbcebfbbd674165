"""Three-vectors and rotations as tuples of arrays, so that shapes broadcast component by
component.
"""

from collections.abc import Callable, Sequence

import jax.numpy as jnp
from jax import Array

from saddle.tasks.task import pytree


@pytree
class Vec:
    """A vector in space: three arrays that broadcast against each other."""

    x: Array
    y: Array
    z: Array

    def __add__(self, other: "Vec") -> "Vec":
        return Vec(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: "Vec") -> "Vec":
        return Vec(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y, -self.z)

    def __mul__(self, scale: Array | float) -> "Vec":
        return Vec(self.x * scale, self.y * scale, self.z * scale)

    def __iter__(self):  # noqa: ANN204
        return iter((self.x, self.y, self.z))

    def map(self, f: Callable[[Array], Array]) -> "Vec":
        """f of every component."""
        return Vec(f(self.x), f(self.y), f(self.z))

    def dot(self, other: "Vec") -> Array:
        """Inner product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: "Vec") -> "Vec":
        """Vector product."""
        return Vec(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def norm(self) -> Array:
        """Length."""
        return jnp.sqrt(self.dot(self))

    def __getitem__(self, index) -> "Vec":  # noqa: ANN001
        """The same index of every component."""
        return self.map(lambda part: part[index])


@pytree
class Axes:
    """A rotation: the three body axes in world coordinates (the columns of the rotation matrix)."""

    x: Vec
    y: Vec
    z: Vec

    def __iter__(self):  # noqa: ANN204
        return iter((self.x, self.y, self.z))

    def to_world(self, v: Vec) -> Vec:
        """Body coordinates -> world coordinates."""
        return self.x * v.x + self.y * v.y + self.z * v.z

    def to_body(self, v: Vec) -> Vec:
        """World coordinates -> body coordinates."""
        return Vec(self.x.dot(v), self.y.dot(v), self.z.dot(v))

    def __getitem__(self, index) -> "Axes":  # noqa: ANN001
        """The same index of every component."""
        return Axes(self.x[index], self.y[index], self.z[index])


def where(mask: Array, a: Vec, b: Vec) -> Vec:
    """Component-wise selection."""
    x = jnp.where(mask, a.x, b.x)
    y = jnp.where(mask, a.y, b.y)
    z = jnp.where(mask, a.z, b.z)
    return Vec(x, y, z)


def broadcast(v: Vec, shape: tuple[int, ...]) -> Vec:
    """Every component in that shape."""
    return v.map(lambda part: jnp.broadcast_to(part, shape))


def stack(vectors: Sequence[Vec]) -> Vec:
    """Vectors of one shape [...] -> [len, ...]."""
    x, y, z = zip(*vectors, strict=True)
    return Vec(jnp.stack(x), jnp.stack(y), jnp.stack(z))


def concatenate(vectors: Sequence[Vec]) -> Vec:
    """Vectors [n_i, ...] -> [sum n_i, ...]."""
    x, y, z = zip(*vectors, strict=True)
    return Vec(jnp.concatenate(x), jnp.concatenate(y), jnp.concatenate(z))


def pick(index: Array, options: Array) -> Array:
    """options[index] element by element: index [...], options [n, ...]. Selects instead of
    gathering.
    """
    out = options[0]
    for k in range(1, options.shape[0]):
        out = jnp.where(index == k, options[k], out)
    return out


def pick_vec(index: Array, options: Vec) -> Vec:
    """The same for vectors."""
    return options.map(lambda part: pick(index, part))


def quaternion_axes(w: Array, x: Array, y: Array, z: Array) -> Axes:
    """The rotation of a unit quaternion."""
    return Axes(
        Vec(1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)),
        Vec(2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)),
        Vec(2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)),
    )
