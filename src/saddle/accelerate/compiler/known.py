"""Numbers of a kernel, and what is known of them before it runs: those that are NumPy's scalars
already, and results that follow without computing.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Params = dict[str, Any]
"""Of a primitive, by name."""


def objects(numbers: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Numbers as an object array; numpy must not look inside them."""
    out = np.empty(len(numbers), object)
    for i, x in enumerate(numbers):
        out[i] = x
    return out.reshape(shape)


def constant(value: Any) -> np.ndarray:
    """A known array as numbers."""
    value = np.asarray(value)
    return objects([value.dtype.type(x) for x in value.ravel()], value.shape)


def is_known(x: Any) -> bool:
    """Whether a number is known now."""
    return isinstance(x, np.generic)


def key(x: Any) -> Any:
    """What numbers share that are surely equal."""
    return (x.dtype, x.tobytes()) if is_known(x) else id(x)


def simplify(name: str, numbers: Sequence[Any], params: Params) -> Any:
    """The result of an elementwise primitive where it is known without computing, else None."""
    if name == "convert_element_type":
        (number,) = numbers
        if np.dtype(number.dtype) == np.dtype(params["new_dtype"]):
            return number
    if all(is_known(x) for x in numbers):
        return FOLD[name](params, *numbers) if name in FOLD else None
    if name == "select_n":
        return _selected(*numbers)
    if len(numbers) == 2:
        return _with_known(name, *numbers)
    return None


def _selected(which: Any, *cases: Any) -> Any:
    """One of two numbers, where it is known which or they are the same."""
    if len(cases) != 2:
        raise NotImplementedError(f"a kernel has no select_n among {len(cases)}")
    if which.dtype != bool:
        raise NotImplementedError(f"a kernel has no select_n by {which.dtype}")
    if is_known(which):
        return cases[int(which)]
    return cases[0] if _same(*cases) else None


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    return is_known(a) and is_known(b) and a.tobytes() == b.tobytes()


def _with_known(name: str, a: Any, b: Any) -> Any:
    """Sums with 0, products with 0 and 1, logic with a known side. 0 * x is 0: physics is
    finite.
    """
    if name in ("add", "mul", "and", "or") and is_known(a):
        a, b = b, a
    if not is_known(b):
        return None
    if name in ("add", "sub") and b == 0:
        return a
    if name == "mul" and b == 0:
        return b
    if name in ("mul", "div") and b == 1:
        return a
    if name == "and" and b.dtype == bool:
        return a if b else b
    if name == "or" and b.dtype == bool:
        return b if b else a
    return None


def _div(params: Params, a: Any, b: Any) -> Any:
    """Of whole numbers, towards 0."""
    if np.issubdtype(a.dtype, np.floating):
        return a / b
    return type(a)(int(a / b))


def _convert(params: Params, a: Any) -> Any:
    return np.dtype(params["new_dtype"]).type(a)


def _select(params: Params, which: Any, *cases: Any) -> Any:
    return cases[int(which)]


def _integer_pow(params: Params, a: Any) -> Any:
    return type(a)(a ** params["y"])


def _without_params(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda params, *numbers: function(*numbers)


_NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "sqrt": np.sqrt,
    "max": np.maximum,
    "min": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "not": np.invert,
    "square": np.square,
    "sin": np.sin,
    "cos": np.cos,
    "round": np.round,
    "floor": np.floor,
    "rem": np.fmod,
}

FOLD: dict[str, Callable[..., Any]] = {
    **{name: _without_params(function) for name, function in _NUMPY.items()},
    "div": _div,
    "convert_element_type": _convert,
    "select_n": _select,
    "integer_pow": _integer_pow,
}
"""What primitives give of numbers that are all known."""
