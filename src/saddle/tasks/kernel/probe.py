"""Whether kernels work on this machine: a small one is compiled, run and held against JAX."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from saddle.tasks.kernel import call, native

WORLDS = 64
BACKENDS: dict[str, ModuleType] = {"cpu": native, "gpu": call}


def fault(platform: str) -> str | None:
    """Why kernels do not work on the platform `cpu` or `gpu`, in one line; None where they do."""
    try:
        with jax.default_device(jax.devices(platform)[0]):
            ours, expected = _both(BACKENDS[platform])
    except Exception as error:  # whatever breaks, this kernel or JAX itself, is the answer
        return next(iter(str(error).splitlines()), type(error).__name__)
    if not np.allclose(ours, expected, rtol=1e-5, atol=1e-5):
        return f"a kernel is off by {np.max(np.abs(ours - expected)):.2g}"
    return None


def _both(backend: ModuleType) -> tuple[np.ndarray, np.ndarray]:
    """[WORLDS] what a kernel gives, and what JAX gives without one."""
    a, b = jnp.linspace(-2, 2, WORLDS), jnp.linspace(0, 9, WORLDS)
    default, chosen = jnp.full(WORLDS, -1.0), jnp.arange(WORLDS) % 3 > 0
    alone = lambda a, b: _sample((a[None], b[None]))[0]
    ours = jax.jit(lambda *args: backend.patch(_sample, *args))(chosen, (a, b), default)
    plain = jnp.where(chosen, jax.vmap(alone)(a, b), default)
    return np.asarray(ours), np.asarray(plain)


def _sample(x: Any) -> Array:
    """[K], of two arrays [K]: two kinds of loop, a choice, and functions that contacts use."""
    a, b = x
    grown = lax.while_loop(lambda c: jnp.any(c < b), lambda c: 1.5 * c + 1, jnp.abs(a))
    rows = jnp.stack([a, b, jnp.sinc(a), jnp.hypot(a, b)])
    total = lax.scan(lambda c, row: (c + row * row, None), jnp.zeros_like(a), rows)[0]
    return jnp.sqrt(total + jnp.where(a > 0, grown, 1 + jnp.sin(b)))
