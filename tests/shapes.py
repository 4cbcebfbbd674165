"""Shapes that are told are checked, in tests alone: at run time an annotation costs nothing.

Functions are checked by jaxtyping's import hook, with beartype. What functions hand to each other
is a NamedTuple or a dataclass, which beartype does not look into; so here these check the arrays
that they are made of.
"""

import dataclasses
import functools
import sys
import types
import typing
from typing import Any, get_args, get_origin

import jax
import jaxtyping
import numpy as np

FUNCTIONS = (
    "saddle.analysis.bootstrap",
    "saddle.analysis.frontier",
    "saddle.analysis.interpolate",
    "saddle.analysis.smooth",
    "saddle.collect.normalise",
    "saddle.collect.episodes",
    "saddle.collect.rollout",
    "saddle.collect.steps",
    "saddle.multipliers.stacked",
)
"""Modules whose functions are checked."""


class ShapeError(TypeError):
    """An array has another shape, or another type, than its field tells."""


def install() -> None:
    """Check from now on. To be called before Saddle is imported."""
    jaxtyping.install_import_hook(FUNCTIONS, "beartype.beartype")
    from saddle.tasks import task

    make_pytree = task.pytree
    task.pytree = lambda cls: check_contents(make_pytree(cls))  # the States of tasks, all of them
    check_contents(task.State)

    from saddle.analysis.profile import Fit, Sweep
    from saddle.analysis.restrictiveness import Arc, Slopes
    from saddle.collect.rollout import Decision, Rollout, Worlds
    from saddle.learners.api import Learned
    from saddle.learners.ppo.minibatch import Samples
    from saddle.multipliers.stacked import Multiplier, Numbers
    from saddle.tasks.host import HostStep

    learning = (Decision, HostStep, Learned, Multiplier, Numbers, Rollout, Samples, Worlds)
    for kind in (*learning, Arc, Fit, Slopes, Sweep):
        check_contents(kind)


def check_contents(kind: type) -> type:
    """Have a NamedTuple or a dataclass check its arrays whenever one is made. Returns the class.

    Its fields share the names of axes. JAX itself takes such classes apart and puts them together
    again with whatever else it needs to carry (batches, specifications, numbers), which is not
    looked at.
    """
    name = "__init__" if dataclasses.is_dataclass(kind) else "__new__"
    make = getattr(kind, name)

    @functools.wraps(make)
    def checked(*args: Any, **options: Any) -> Any:
        made = make(*args, **options)
        if not sys._getframe(1).f_globals.get("__name__", "").startswith("jax"):
            _check(kind, args[0] if name == "__init__" else made)
        return made

    setattr(kind, name, checked)
    return kind


def _check(kind: type, made: Any) -> None:
    told = _fields(kind)
    with jaxtyping.jaxtyped("context"):
        for field, hint in told.items():
            for value in _values(getattr(made, field)):
                if isinstance(value, jax.Array | np.ndarray) and not isinstance(value, hint):
                    raise ShapeError(
                        f"{kind.__name__}.{field} is {value.dtype}{list(value.shape)}, "
                        f"but it is told to be {hint.__name__}"
                    )


@functools.cache
def _fields(kind: type) -> dict[str, Any]:
    """The fields that tell a shape, in order, and what they tell."""
    found = {}
    for field, hint in typing.get_type_hints(kind).items():
        if get_origin(hint) is dict:
            hint = get_args(hint)[1]
        if get_origin(hint) in (typing.Union, types.UnionType):
            hint = get_args(hint)[0]
        if hasattr(hint, "dim_str"):
            found[field] = hint
    return found


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else [value]
