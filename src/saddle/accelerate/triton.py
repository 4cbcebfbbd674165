"""Pallas' back end for Triton, which JAX has deprecated and will remove: the one place that imports
it.

Without it everything still imports, and the gate says no to the kernels that are written for it.
"""

from typing import Any

__all__ = ["MISSING", "CompilerParams", "dot"]

CompilerParams: Any = None
dot: Any = None
MISSING: str | None = None  # why there is none
try:
    from jax.experimental.pallas.triton import CompilerParams, dot
except ImportError as error:
    MISSING = f"this JAX has no Triton back end in Pallas ({error})"
