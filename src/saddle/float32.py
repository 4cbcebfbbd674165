"""Single precision, whatever a program has set JAX to: what Saddle trains, measures and plays is
made for it.
"""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def in_float32(function: Callable[P, R]) -> Callable[P, R]:
    """The function, within which JAX has numbers of 32 bits also where JAX_ENABLE_X64 is set."""

    @functools.wraps(function)
    def run(*arguments: P.args, **options: P.kwargs) -> R:
        import jax

        with jax.enable_x64(False):
            return function(*arguments, **options)

    return run
