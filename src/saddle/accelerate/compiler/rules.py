"""What scalars.py knows of single primitives: which move numbers, and which combine them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import lax

from saddle.accelerate.compiler.known import Params, is_known

# 2 / pi, and pi / 2 in three parts of few bits, so that multiples of the first two are exact
QUARTERS = 0.6366197723675814
PARTS = (1.5703125, 4.837512969970703125e-4, 7.549789948768648e-8)
SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)  # sin r = r + r^3 p(r^2), |r| < pi/4
# cos r = 1 - r^2/2 + r^4 p(r^2)
COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


class _Float32:
    """Arithmetic of a scope's numbers and of Python's, which are float32."""

    def __init__(self, scope: Any) -> None:
        self.scope = scope

    def apply(self, name: str, *numbers: Any) -> Any:
        """An elementwise primitive."""
        return self.scope.apply(
            name, [x if hasattr(x, "dtype") else np.float32(x) for x in numbers]
        )

    def add(self, a: Any, b: Any) -> Any:
        """a + b."""
        return self.apply("add", a, b)

    def sub(self, a: Any, b: Any) -> Any:
        """a - b."""
        return self.apply("sub", a, b)

    def mul(self, a: Any, b: Any) -> Any:
        """a * b."""
        return self.apply("mul", a, b)

    def quadratic(self, z: Any, coefficients: tuple[float, float, float]) -> Any:
        """(c0 * z + c1) * z + c2."""
        highest, middle, lowest = coefficients
        inner = self.add(self.mul(z, highest), middle)
        return self.add(self.mul(inner, z), lowest)


def _turn(shift: int) -> Callable[..., Any]:
    """Sine of an angle (rad, up to some thousand) and so many quarter turns."""

    def rule(scope: Any, params: Params, x: Any) -> Any:
        op = _Float32(scope)
        turns = op.apply("round", op.mul(x, QUARTERS))
        r = x
        for part in PARTS:
            r = op.sub(r, op.mul(turns, part))
        z = op.mul(r, r)
        cubed = op.mul(r, z)
        sine = op.add(r, op.mul(cubed, op.quadratic(z, SINE)))
        near = op.sub(1, op.mul(z, 0.5))
        fourth = op.mul(z, z)
        cosine = op.add(near, op.mul(fourth, op.quadratic(z, COSINE)))

        quarter = scope.apply("convert_element_type", [turns], {"new_dtype": np.dtype(np.int32)})
        quarter = scope.apply("add", [quarter, np.int32(shift)])
        value = scope.select(_bit(scope, quarter, 1), cosine, sine)
        below = _bit(scope, quarter, 2)
        return scope.select(below, op.apply("neg", value), value)

    return rule


def _bit(scope: Any, number: Any, bit: int) -> Any:
    """Whether a whole number has the bit of this value."""
    rest = scope.apply("and", [number, np.int32(bit)])
    return scope.apply("ne", [rest, np.int32(0)])


def _sign(scope: Any, params: Params, x: Any) -> Any:
    number = np.dtype(x.dtype).type
    below = scope.select(scope.apply("lt", [x, number(0)]), number(-1), number(0))
    return scope.select(scope.apply("gt", [x, number(0)]), number(1), below)


def _power(scope: Any, params: Params, x: Any) -> Any:
    return _chain(scope, lax.mul_p, [x] * params.get("y", 2))


def _polynomial(scope: Any, params: Params, x: Any, *coefficients: Any) -> Any:
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


def _broadcast(params: Params, aval: Any, x: np.ndarray) -> np.ndarray:
    shape = [1] * len(params["shape"])
    for axis, size in zip(params["broadcast_dimensions"], x.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(x.reshape(shape), params["shape"])


def _slice(params: Params, aval: Any, x: np.ndarray) -> np.ndarray:
    strides = params["strides"] or [1] * x.ndim
    parts = map(slice, params["start_indices"], params["limit_indices"], strides)
    return x[tuple(parts)]


def _iota(params: Params, aval: Any) -> np.ndarray:
    shape = params["shape"]
    axis = params["dimension"]
    number = np.dtype(params["dtype"]).type
    column = np.array([number(k) for k in range(shape[axis])], object)
    sizes = [1] * len(shape)
    sizes[axis] = shape[axis]
    return np.broadcast_to(column.reshape(sizes), shape)


def _gather(params: Params, aval: Any, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """With indices that are known."""
    if not all(is_known(index) for index in indices.flat):
        raise NotImplementedError("a kernel has no gather with indices that it computes")
    dims = params["dimension_numbers"]
    sizes = params["slice_sizes"]
    batch = [axis for axis in range(len(aval.shape)) if axis not in dims.offset_dims]
    window = [axis for axis in range(x.ndim) if axis not in dims.collapsed_slice_dims]
    out = np.empty(aval.shape, object)
    for place in np.ndindex(out.shape):
        at = [0] * x.ndim
        starts = indices[tuple(place[axis] for axis in batch)]
        for axis, start in zip(dims.start_index_map, starts, strict=True):
            last = x.shape[axis] - sizes[axis]
            at[axis] = min(max(int(start), 0), last)
        for axis, offset_axis in zip(window, dims.offset_dims, strict=True):
            at[axis] += place[offset_axis]
        out[place] = x[tuple(at)]
    return out


def _reshape(params: Params, aval: Any, x: np.ndarray) -> np.ndarray:
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
    def rule(scope: Any, params: Params, x: np.ndarray) -> np.ndarray:
        axes = params["axes"]
        x = np.moveaxis(x, axes, range(len(axes)))
        folded = x.shape[: len(axes)]
        kept = x.shape[len(axes) :]
        x = x.reshape(int(np.prod(folded)), *kept)
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
        numbers = [array[place] for array in arrays]
        out[place] = f(*numbers)
    return out


def _chain(scope: Any, primitive: Any, numbers: Sequence[Any]) -> Any:
    out = numbers[0]
    for x in numbers[1:]:
        out = scope.apply(primitive, [out, x])
    return out


def _arg(better: Any) -> Callable[..., np.ndarray]:
    """The first index of the least or greatest number."""

    def rule(scope: Any, params: Params, x: np.ndarray) -> np.ndarray:
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


def _cumsum(scope: Any, params: Params, x: np.ndarray) -> np.ndarray:
    def add(a: Any, b: Any) -> Any:
        return scope.apply(lax.add_p, [a, b])

    first, *others = rows(x, params["axis"])
    sums = [first]
    for row in others:
        sums.append(_each(add, sums[-1], row))
    return np.stack(sums, axis=params["axis"])


def _dot(scope: Any, params: Params, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Batched products, one of many terms at a time."""
    (sum_a, sum_b), (batch_a, batch_b) = params["dimension_numbers"]
    free_a = [axis for axis in range(a.ndim) if axis not in (*sum_a, *batch_a)]
    free_b = [axis for axis in range(b.ndim) if axis not in (*sum_b, *batch_b)]
    batch = [a.shape[axis] for axis in batch_a]
    rows_of_a = [a.shape[axis] for axis in free_a]
    rows_of_b = [b.shape[axis] for axis in free_b]
    depth = int(np.prod([a.shape[axis] for axis in sum_a]))
    count = int(np.prod(batch))
    a = a.transpose(*batch_a, *free_a, *sum_a).reshape(count, -1, depth)
    b = b.transpose(*batch_b, *free_b, *sum_b).reshape(count, -1, depth)

    def product(k: int, i: int, j: int) -> Any:
        return _product(scope, a[k, i], b[k, j])

    places = np.indices((count, a.shape[1], b.shape[1]))
    return _each(product, *places).reshape((*batch, *rows_of_a, *rows_of_b))


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
