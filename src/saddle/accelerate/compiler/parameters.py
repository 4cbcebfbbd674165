"""Which parameters of a primitive the rules know, and with which values; the rest is refused.

A parameter that a rule does not look at would otherwise be ignored, and a sum that runs backwards
come out as one that runs forwards. What is refused here runs without a kernel (rare.py), which is
slow and right.

Of a result's type nothing is said here: a rule's numbers must have the one that JAX says
(scalars.py), so that a product which is to be summed in another type is refused there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax import lax

Accepts = Callable[[Any], bool]


def check(name: str, params: dict[str, Any]) -> None:
    """Raise NotImplementedError where a rule does not know a parameter, or not with this value."""
    if name in CALLS:
        return
    known = PARAMETERS.get(name, {})
    for parameter, value in params.items():
        if parameter not in known:
            raise NotImplementedError(f"a kernel has no {name} with a parameter {parameter}")
        if not known[parameter](value):
            raise NotImplementedError(f"a kernel has no {name} with {parameter} {value}")


def _used(value: Any) -> bool:
    """The rule follows it, whatever it is."""
    return True


def _promise(value: Any) -> bool:
    """It may make code faster and never changes a result."""
    return True


def _unset(value: Any) -> bool:
    return value is None


def _no(value: Any) -> bool:
    return not value


def _one_axis(value: Any) -> bool:
    return len(value) == 1


def _float(value: Any) -> bool:
    return value is None or np.dtype(value).name in ("float32", "float64")


def _positive(value: Any) -> bool:
    return value >= 1


def _to_even(value: Any) -> bool:
    return value == lax.RoundingMethod.TO_NEAREST_EVEN


def _clipped(value: Any) -> bool:
    """The rule keeps indices inside, which those that are promised to lie there do not notice."""
    modes = lax.GatherScatterMode
    return value in (modes.CLIP, modes.PROMISE_IN_BOUNDS)


def _without_batch(value: Any) -> bool:
    return not value.operand_batching_dims and not value.start_indices_batching_dims


# A call computes what its jaxpr computes. Everything else that it says is how XLA is to compile it
# and how to differentiate it, in words that change with every version of JAX; so these are not
# listed.
CALLS = frozenset(["jit", "pjit", "closed_call", "eval_jaxpr", "custom_jvp_call"])

_REDUCE: dict[str, Accepts] = {"axes": _used, "out_sharding": _unset}
_ARG: dict[str, Accepts] = {"axes": _one_axis, "index_dtype": _used}
_ACCURACY: dict[str, Accepts] = {"accuracy": _unset}

PARAMETERS: dict[str, dict[str, Accepts]] = {
    "mul": {"out_dtype": _unset},
    "sqrt": _ACCURACY,
    "rsqrt": _ACCURACY,
    "sin": _ACCURACY,
    "cos": _ACCURACY,
    "round": {"rounding_method": _to_even},
    "integer_pow": {"y": _positive},
    "polynomial": {"unroll": _promise},
    "convert_element_type": {"new_dtype": _used, "weak_type": _promise, "sharding": _unset},
    "broadcast_in_dim": {"shape": _used, "broadcast_dimensions": _used, "sharding": _unset},
    "slice": {"start_indices": _used, "limit_indices": _used, "strides": _used},
    "squeeze": {"dimensions": _used},
    "expand_dims": {"dimensions": _used},
    "reshape": {"new_sizes": _used, "dimensions": _unset, "sharding": _unset},
    "transpose": {"permutation": _used},
    "concatenate": {"dimension": _used},
    "stack": {"axis": _used},
    "unstack": {"axis": _used},
    "rev": {"dimensions": _used},
    "iota": {"shape": _used, "dimension": _used, "dtype": _used, "sharding": _unset},
    "gather": {
        "dimension_numbers": _without_batch,
        "slice_sizes": _used,
        "mode": _clipped,
        "fill_value": _unset,
        "indices_are_sorted": _promise,
        "unique_indices": _promise,
    },
    "reduce_sum": _REDUCE,
    "reduce_min": _REDUCE,
    "reduce_max": _REDUCE,
    "reduce_or": _REDUCE,
    "reduce_and": _REDUCE,
    "argmin": _ARG,
    "argmax": _ARG,
    "cumsum": {"axis": _used, "reverse": _no},
    "dot_general": {
        "dimension_numbers": _used,
        "precision": _promise,  # a kernel has full precision, the best that could be asked for
        "preferred_element_type": _float,
        "out_sharding": _unset,
    },
    "while": {
        "cond_jaxpr": _used,
        "body_jaxpr": _used,
        "cond_nconsts": _used,
        "body_nconsts": _used,
    },
    "scan": {
        "jaxpr": _used,
        "length": _used,
        "reverse": _used,
        "num_consts": _used,
        "num_carry": _used,
        "ft_in": _used,
        "ft_out": _promise,  # how results are grouped, as their count and order say already
        "linear": _promise,
        "unroll": _promise,
        "_split_transpose": _promise,
    },
    "cond": {"branches": _used},
}
