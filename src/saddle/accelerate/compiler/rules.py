"""What scalars.py knows of single primitives: which move numbers, which combine them, and what is
known in advance.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import lax


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


def simplify(name: str, numbers: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of an elementwise primitive where it is known without computing, else None."""
    if name == "convert_element_type":
        (number,) = numbers
        if np.dtype(number.dtype) == np.dtype(params["new_dtype"]):
            return number
    if all(is_known(x) for x in numbers):
        return FOLD[name](params, *numbers) if name in FOLD else None
    if name == "select_n":
        which, *cases = numbers
        if len(cases) != 2:
            raise NotImplementedError(f"a kernel has no select_n among {len(cases)}")
        if which.dtype != bool:
            raise NotImplementedError(f"a kernel has no select_n by {which.dtype}")
        if is_known(which):
            return cases[int(which)]
        return cases[0] if _same(*cases) else None
    if len(numbers) == 2:
        return _with_known(name, *numbers)
    return None


def _same(a: Any, b: Any) -> bool:
    return a is b or (is_known(a) and is_known(b) and a.tobytes() == b.tobytes())


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


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda params, *numbers: f(*numbers)


FOLD: dict[str, Callable[..., Any]] = {
    **{
        name: _plain(f)
        for name, f in {
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
        }.items()
    },
    "div": lambda params, a, b: (
        a / b if np.issubdtype(a.dtype, np.floating) else type(a)(int(a / b))
    ),
    "rem": lambda params, a, b: np.fmod(a, b),
    "convert_element_type": lambda params, a: np.dtype(params["new_dtype"]).type(a),
    "select_n": lambda params, which, *cases: cases[int(which)],
    "integer_pow": lambda params, a: type(a)(a ** params["y"]),
}


# 2 / pi, and pi / 2 in three parts of few bits, so that multiples of the first two are exact
QUARTERS = 0.6366197723675814
PARTS = (1.5703125, 4.837512969970703125e-4, 7.549789948768648e-8)
SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)  # sin r = r + r^3 p(r^2), |r| < pi/4
COSINE = (
    2.443315711809948e-5,
    -1.388731625493765e-3,
    4.166664568298827e-2,
)  # cos r = 1 - r^2/2 + r^4 p(r^2)


def _turn(shift: int) -> Callable[..., Any]:
    """Sine of an angle (rad, up to some thousand) and so many quarter turns."""

    def rule(scope: Any, params: dict[str, Any], x: Any) -> Any:
        op = lambda name, *numbers: scope.apply(
            name, [n if hasattr(n, "dtype") else np.float32(n) for n in numbers]
        )
        turns = op("round", op("mul", x, QUARTERS))
        r = x
        for part in PARTS:
            r = op("sub", r, op("mul", turns, part))
        z = op("mul", r, r)
        poly = lambda c: op("add", op("mul", op("add", op("mul", z, c[0]), c[1]), z), c[2])
        sine = op("add", r, op("mul", op("mul", r, z), poly(SINE)))
        cosine = op(
            "add", op("sub", 1, op("mul", z, 0.5)), op("mul", op("mul", z, z), poly(COSINE))
        )
        quarter = scope.apply("convert_element_type", [turns], {"new_dtype": np.dtype(np.int32)})
        quarter = op("add", quarter, np.int32(shift))
        bit = lambda k: op("ne", op("and", quarter, np.int32(k)), np.int32(0))
        value = scope.select(bit(1), cosine, sine)
        return scope.select(bit(2), op("neg", value), value)

    return rule


def _sign(scope: Any, params: dict[str, Any], x: Any) -> Any:
    number = np.dtype(x.dtype).type
    below = scope.select(scope.apply("lt", [x, number(0)]), number(-1), number(0))
    return scope.select(scope.apply("gt", [x, number(0)]), number(1), below)


def _power(scope: Any, params: dict[str, Any], x: Any) -> Any:
    return _chain(scope, lax.mul_p, [x] * params.get("y", 2))


def _polynomial(scope: Any, params: dict[str, Any], x: Any, *coefficients: Any) -> Any:
    """Horner's rule; the coefficient of x^0 comes first."""
    *lower, value = coefficients
    for coefficient in reversed(lower):
        value = scope.apply(lax.add_p, [scope.apply(lax.mul_p, [value, x]), coefficient])
    return value


# Elementwise primitives that are made of others.
ELEMENT: dict[str, Callable[..., Any]] = {
    "sin": _turn(0),
    "cos": _turn(1),
    "sign": _sign,
    "square": _power,
    "integer_pow": _power,
    "polynomial": _polynomial,
}


def _broadcast(params: dict[str, Any], aval: Any, x: np.ndarray) -> np.ndarray:
    shape = [1] * len(params["shape"])
    for axis, size in zip(params["broadcast_dimensions"], x.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(x.reshape(shape), params["shape"])


def _slice(params: dict[str, Any], aval: Any, x: np.ndarray) -> np.ndarray:
    strides = params["strides"] or [1] * x.ndim
    return x[tuple(map(slice, params["start_indices"], params["limit_indices"], strides))]


def _iota(params: dict[str, Any], aval: Any) -> np.ndarray:
    shape = params["shape"]
    axis = params["dimension"]
    column = [np.dtype(params["dtype"]).type(k) for k in range(shape[axis])]
    return np.broadcast_to(
        np.array(column, object).reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape
    )


def _gather(params: dict[str, Any], aval: Any, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """With indices that are known."""
    if not all(is_known(x) for x in indices.flat):
        raise NotImplementedError("a kernel has no gather with indices that it computes")
    dims = params["dimension_numbers"]
    sizes = params["slice_sizes"]
    batch = [d for d in range(len(aval.shape)) if d not in dims.offset_dims]
    window = [d for d in range(x.ndim) if d not in dims.collapsed_slice_dims]
    out = np.empty(aval.shape, object)
    for place in np.ndindex(out.shape):
        at = [0] * x.ndim
        for axis, start in zip(
            dims.start_index_map, indices[tuple(place[d] for d in batch)], strict=True
        ):
            at[axis] = min(max(int(start), 0), x.shape[axis] - sizes[axis])
        for axis, d in zip(window, dims.offset_dims, strict=True):
            at[axis] += place[d]
        out[place] = x[tuple(at)]
    return out


def _reshape(params: dict[str, Any], aval: Any, x: np.ndarray) -> np.ndarray:
    return x.reshape(aval.shape)


MOVE: dict[str, Callable[..., np.ndarray]] = {
    "broadcast_in_dim": _broadcast,
    "slice": _slice,
    "squeeze": _reshape,
    "reshape": _reshape,
    "expand_dims": _reshape,
    "transpose": lambda params, aval, x: x.transpose(params["permutation"]),
    "concatenate": lambda params, aval, *xs: np.concatenate(xs, axis=params["dimension"]),
    "stack": lambda params, aval, *xs: np.stack(xs, axis=params["axis"]),
    "rev": lambda params, aval, x: np.flip(x, params["dimensions"]),
    "iota": _iota,
    "gather": _gather,
    "copy": lambda params, aval, x: x,
    "stop_gradient": lambda params, aval, x: x,
}


def _fold_axes(primitive: Any) -> Callable[..., np.ndarray]:
    def rule(scope: Any, params: dict[str, Any], x: np.ndarray) -> np.ndarray:
        axes = params["axes"]
        x = np.moveaxis(x, axes, range(len(axes)))
        x = x.reshape(int(np.prod(x.shape[: len(axes)])), *x.shape[len(axes) :])
        return _each(lambda *column: _chain(scope, primitive, column), *rows(x))

    return rule


def rows(x: np.ndarray, axis: int = 0) -> list[np.ndarray]:
    """The parts of an array along an axis, as arrays even where they are single numbers."""
    x = np.moveaxis(x, axis, 0)
    return [x[k : k + 1].reshape(x.shape[1:]) for k in range(len(x))]


def _each(f: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """f of the arrays' numbers, place by place."""
    out = np.empty(arrays[0].shape, object)
    for place in np.ndindex(out.shape):
        out[place] = f(*(a[place] for a in arrays))
    return out


def _chain(scope: Any, primitive: Any, numbers: Sequence[Any]) -> Any:
    out = numbers[0]
    for x in numbers[1:]:
        out = scope.apply(primitive, [out, x])
    return out


def _arg(better: Any) -> Callable[..., np.ndarray]:
    """The first index of the least or greatest number."""

    def rule(scope: Any, params: dict[str, Any], x: np.ndarray) -> np.ndarray:
        number = np.dtype(params["index_dtype"]).type

        def first(*column: Any) -> Any:
            best = column[0]
            index = number(0)
            for k, value in enumerate(column[1:], 1):
                wins = scope.apply(better, [value, best])
                best = scope.select(wins, value, best)
                index = scope.select(wins, number(k), index)
            return index

        return _each(first, *rows(x, params["axes"][0]))

    return rule


def _cumsum(scope: Any, params: dict[str, Any], x: np.ndarray) -> np.ndarray:
    first, *others = rows(x, params["axis"])
    sums = [first]
    for row in others:
        sums.append(_each(lambda a, b: scope.apply(lax.add_p, [a, b]), sums[-1], row))
    return np.stack(sums, axis=params["axis"])


def _dot(scope: Any, params: dict[str, Any], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Batched products, one of many terms at a time."""
    (sum_a, sum_b), (batch_a, batch_b) = params["dimension_numbers"]
    free_a = [d for d in range(a.ndim) if d not in (*sum_a, *batch_a)]
    free_b = [d for d in range(b.ndim) if d not in (*sum_b, *batch_b)]
    batch = [a.shape[d] for d in batch_a]
    rows_of_a = [a.shape[d] for d in free_a]
    rows_of_b = [b.shape[d] for d in free_b]
    depth = int(np.prod([a.shape[d] for d in sum_a]))
    wide = int(np.prod(batch))
    a = a.transpose(*batch_a, *free_a, *sum_a).reshape(wide, -1, depth)
    b = b.transpose(*batch_b, *free_b, *sum_b).reshape(wide, -1, depth)
    places = np.indices((wide, a.shape[1], b.shape[1]))
    products = _each(lambda k, i, j: _product(scope, a[k, i], b[k, j]), *places)
    return products.reshape((*batch, *rows_of_a, *rows_of_b))


def _product(scope: Any, a: np.ndarray, b: np.ndarray) -> Any:
    """Inner product of two rows of numbers."""
    products = [scope.apply(lax.mul_p, [x, y]) for x, y in zip(a, b, strict=True)]
    return _chain(scope, lax.add_p, products)


REDUCE: dict[str, Callable[..., np.ndarray]] = {
    "reduce_sum": _fold_axes(lax.add_p),
    "reduce_min": _fold_axes(lax.min_p),
    "reduce_max": _fold_axes(lax.max_p),
    "reduce_or": _fold_axes(lax.or_p),
    "reduce_and": _fold_axes(lax.and_p),
    "argmin": _arg(lax.lt_p),
    "argmax": _arg(lax.gt_p),
    "cumsum": _cumsum,
    "dot_general": _dot,
}
