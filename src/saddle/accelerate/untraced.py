"""Running something now, while JAX traces a program that is to run later."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import jax
import jax.numpy as jnp

X = TypeVar("X")


def untraced(run: Callable[[], X]) -> X:
    """What `run` gives, even while a program is being traced, which would otherwise take up all
    that it does.

    What is being traced is a thread's own affair, so it runs in a new one.
    (`jax.ensure_compile_time_eval` also changes how functions are traced inside: kernels come out
    otherwise than they are in a program, and those of Pallas not at all.) The precision is a
    thread's own as well, and handed on.
    """
    precise = jnp.result_type(float) == jnp.float64

    def run_alike() -> X:
        with jax.enable_x64(precise):
            return run()

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(run_alike).result()
