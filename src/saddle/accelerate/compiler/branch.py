"""What a kernel is made of: a function, and the shapes of one world's arguments and results."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, use_abstract_mesh

from saddle.accelerate.compiler.rolled import rolled


@dataclass(frozen=True)
class Branch:
    """A function from leaves [K, ...] to leaves [K, ...]; equal ones make the same kernel."""

    function: Callable[[Any], Any]
    arguments: tuple[jax.ShapeDtypeStruct, ...]  # [1, ...], leaves of the one argument
    tree: Any  # of that argument
    # How many numbers each leaf has in a world, and of what type
    results: tuple[tuple[int, np.dtype], ...]

    @classmethod
    def of(cls, function: Callable[[Any], Any], x: Any, default: Any) -> "Branch":
        """From the function's argument and result; leaves [N, ...], arrays or shapes."""
        leaves, tree = jax.tree.flatten(x)
        shapes = [jax.ShapeDtypeStruct((1, *leaf.shape[1:]), leaf.dtype) for leaf in leaves]
        results = []
        for leaf in jax.tree.leaves(default):
            worlds = leaf.shape[0]
            results.append((leaf.size // worlds, np.dtype(leaf.dtype)))
        return cls(function, tuple(shapes), tree, tuple(results))

    @property
    def name(self) -> str:
        """Of the function, fit for a label."""
        return "".join(c if c.isalnum() else "_" for c in self.function.__name__).strip("_")

    def traced(self) -> tuple[Any, list[Any], list[tuple[int, np.dtype]]]:
        """The jaxpr for one world, its arguments' types, and `results`."""
        x = jax.tree.unflatten(self.tree, self.arguments)

        def anew(x: Any) -> Any:  # a function of its own: traces are cached by function
            return self.function(x)

        # Where members are spread over cores JAX would note in operations how; a kernel is of one.
        with rolled(), use_abstract_mesh(AbstractMesh((), ())):
            jaxpr = jax.make_jaxpr(anew)(x)
        inputs = getattr(jaxpr, "jaxpr", jaxpr).invars
        return jaxpr, [variable.aval for variable in inputs], list(self.results)
