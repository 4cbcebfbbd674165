"""Whether this machine runs kernels: a small one of each kind is compiled, run and held against
NumPy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental import pallas as pl

from saddle.accelerate import cpu_kernel, gpu_kernel, triton, xla_ffi
from saddle.accelerate.untraced import untraced
from saddle.errors import first_line

Kind = Literal["llvm", "ptx", "triton"]  # what a kernel is written in

WORLDS = 64
SIDE = 16  # of a matrix: the least that a tensor core takes


def fault(kind: Kind) -> str | None:
    """Why kernels of this kind do not work on JAX's default device, in one line; None where they
    do.
    """
    probe = PROBES[kind]
    try:
        missing = probe.missing()
        if missing is not None:
            return missing
        ours, expected = untraced(probe.run)
    except Exception as error:  # whatever breaks, this kernel or JAX itself, is the answer
        return first_line(error)
    if not np.allclose(ours, expected, rtol=1e-5, atol=1e-5):
        return f"a kernel is off by {np.max(np.abs(ours - expected)):.2g}"
    return None


def sample(x: tuple[Array, Array]) -> Array:
    """[K], of two arrays [K]: two kinds of loop, a choice, and functions that contacts use."""
    a, b = x

    def is_small(grown: Array) -> Array:
        return jnp.any(grown < b)

    def grow(grown: Array) -> Array:
        return 1.5 * grown + 1

    def add_square(total: Array, row: Array) -> tuple[Array, None]:
        return total + row * row, None

    grown = lax.while_loop(is_small, grow, jnp.abs(a))
    rows = jnp.stack([a, b, jnp.hypot(a, b)])
    total, _ = lax.scan(add_square, jnp.zeros_like(a), rows)
    return jnp.sqrt(total + jnp.where(a > 0, grown, 1 + jnp.sin(b)))


def _expected(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`sample` in NumPy, world by world."""
    grown = np.abs(a)
    while np.any(grown < b):
        grown = np.where(grown < b, 1.5 * grown + 1, grown)
    total = 2 * (a**2 + b**2)
    return np.sqrt(total + np.where(a > 0, grown, 1 + np.sin(b)))


def _contact_like(backend: ModuleType) -> tuple[np.ndarray, np.ndarray]:
    """[WORLDS] what a kernel made from `sample` gives, and what is right; a third of the worlds
    keep their default.
    """
    a = np.linspace(-2, 2, WORLDS)
    b = np.linspace(0, 9, WORLDS)
    chosen = np.arange(WORLDS) % 3 > 0
    default = np.full(WORLDS, -1.0)
    x = jnp.asarray(a, jnp.float32), jnp.asarray(b, jnp.float32)
    kernel = jax.jit(partial(backend.patch, sample))
    ours = kernel(jnp.asarray(chosen), x, jnp.asarray(default, jnp.float32))
    expected = np.where(chosen, _expected(a, b), default)
    return np.asarray(ours), expected


def _product() -> tuple[np.ndarray, np.ndarray]:
    """[SIDE, SIDE] a matrix times itself and one more, by a tensor core where there is one, and
    what is right.
    """

    def kernel(x: Any, out: Any) -> None:
        out[...] = triton.dot(x[...], x[...]) + 1

    x = np.arange(SIDE**2).reshape(SIDE, SIDE) % 5 - 2
    shape = jax.ShapeDtypeStruct(x.shape, jnp.float32)
    params = triton.CompilerParams(num_warps=1, num_stages=1)
    interpreted = jax.default_backend() == "cpu"
    run = pl.pallas_call(kernel, shape, compiler_params=params, interpret=interpreted)
    ours = jax.jit(run)(jnp.asarray(x, jnp.bfloat16))
    return np.asarray(ours), x @ x + 1


@dataclass(frozen=True)
class Probe:
    """How to find out whether kernels of one kind work."""

    missing: Callable[[], str | None]
    """What they cannot do without and is not there, in one line; None where all is."""
    run: Callable[[], tuple[np.ndarray, np.ndarray]]
    """What a kernel gives, and what is right."""


PROBES: dict[Kind, Probe] = {
    "llvm": Probe(
        missing=lambda: cpu_kernel.missing() or xla_ffi.mismatch(),
        run=partial(_contact_like, cpu_kernel),
    ),
    "ptx": Probe(missing=lambda: None, run=partial(_contact_like, gpu_kernel)),
    "triton": Probe(missing=lambda: triton.MISSING, run=_product),
}
