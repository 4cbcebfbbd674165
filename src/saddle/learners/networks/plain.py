"""Plain multi-layer perceptrons, for one member; `jax.vmap` adds the members."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from saddle.learners.networks.activations import ACTIVATIONS
from saddle.learners.settings import Precision

Net = tuple[
    tuple[Array, Array], ...
]  # (weights [in, out], biases [out]) of each layer, from the input on

FORWARD, BACK, SUM = (1, 0), (1, 1), (0, 0)  # axes of x @ w, delta @ w^T and x^T @ delta
LAYER_NORM_EPSILON = 1e-5  # PyTorch's
NARROW = 8  # columns below which a product is not worth a tensor core's while


class NetworkSettings(Protocol):
    """What a learner's settings say about its networks."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Widths of the hidden layers."""
        ...

    @property
    def activation(self) -> str:
        """Of the hidden layers."""
        ...

    @property
    def precision(self) -> Precision:
        """Of the factors of products."""
        ...


def init_net(key: Array, sizes: Sequence[int]) -> Net:
    """PyTorch's default: weights and biases uniform within 1 / sqrt(inputs)."""
    shapes = list(itertools.pairwise(sizes))
    numbers = jax.random.uniform(key, (sum((a + 1) * b for a, b in shapes),), minval=-1.0)
    layers, start = [], 0
    for a, b in shapes:
        middle, end = start + a * b, start + (a + 1) * b
        layers.append(
            (numbers[start:middle].reshape(a, b) * a**-0.5, numbers[middle:end] * a**-0.5)
        )
        start = end
    return tuple(layers)


def init_critic(key: Array, settings: NetworkSettings, inputs: int, outputs: int = 1) -> Net:
    """An untrained value function."""
    return init_net(key, (inputs, *settings.hidden, outputs))


def rounded(settings: NetworkSettings, net: Net) -> Net:
    """The network with its weights as its products take them: who runs it many times need not round
    them each time.
    """
    return (
        tuple((w.astype(jnp.bfloat16), b) for w, b in net) if settings.precision == "bf16" else net
    )


def split(settings: NetworkSettings, net: Net) -> tuple[Net, tuple[()]]:
    """What of a network is worth having rounded all the time, after the rest: here nothing."""
    del settings
    return net, ()


def join(settings: NetworkSettings, rest: Net, held: tuple[()]) -> tuple[Net, Net]:
    """The network that `split` took apart, and its view."""
    del held
    return rest, rounded(settings, rest)


def weights(view: Net) -> Net:
    """The network, to the rounding of its view."""
    return view


def fed(settings: NetworkSettings, x: Array) -> Array:
    """Inputs as `forward` takes them best: as they are."""
    del settings
    return x


def forward(settings: NetworkSettings, net: Net, x: Array) -> tuple[Array, tuple[Array, ...]]:
    """x [N, in] -> output [N, out], and what each layer was fed: x, then the hidden activations."""
    return _through(settings, net, x, lambda y: y)


def normalised_output(settings: NetworkSettings, net: Net, x: Array) -> Array:
    """x [N, in] -> output [N, out], where each sample's numbers have mean 0 and variance 1 before
    every hidden activation.
    """
    return _through(settings, net, x, layer_norm)[0]


def layer_norm(x: Array) -> Array:
    """Mean 0 and variance 1 over the last axis, without a scale or shift of its own."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + LAYER_NORM_EPSILON)


def _through(
    settings: NetworkSettings, net: Net, x: Array, prepare: Callable[[Array], Array]
) -> tuple[Array, tuple[Array, ...]]:
    """`forward`, with something done to what enters each hidden activation."""
    activate, inputs = ACTIVATIONS[settings.activation].value, [x]
    for w, b in net[:-1]:
        y = _dot(inputs[-1], w, FORWARD, settings.precision, keep=True)
        inputs.append(activate(prepare(y.astype(jnp.float32) + b)).astype(y.dtype))
    w, b = net[-1]
    return _dot(inputs[-1], w, FORWARD, settings.precision) + b, tuple(inputs)


def output(settings: NetworkSettings, net: Net, x: Array) -> Array:
    """x [N, in] -> output [N, out], for those who need no backward pass."""
    return forward(settings, net, x)[0]


def deltas(
    settings: NetworkSettings, net: Net, inputs: tuple[Array, ...], last: Array
) -> tuple[Array, ...]:
    """Back-propagation, sample by sample: d(last . output) / d(what enters each layer's
    activation), [N, width].
    """
    slope, found = ACTIVATIONS[settings.activation].slope, [last]
    for (w, _), h in zip(net[:0:-1], inputs[:0:-1], strict=True):
        back = (
            _few(found[0], w)
            if w.shape[1] < NARROW
            else _dot(found[0], w, BACK, settings.precision, keep=True)
        )
        found.insert(0, (back.astype(jnp.float32) * slope(h.astype(jnp.float32))).astype(h.dtype))
    return tuple(found)


def regression(
    settings: NetworkSettings, net: Net, x: Array, target: Array, weight: Array
) -> tuple[Net, Array]:
    """Gradient of sum(weight * error**2), and the errors [N] of the output from target [N]. x [N,
    in], weight [N].
    """
    output, inputs = forward(settings, net, x)
    error, present = output[:, 0] - target, (weight > 0).astype(jnp.float32)[None]
    found = deltas(settings, net, inputs, (2 * weight * error)[:, None])

    def layer(x: Array, delta: Array) -> tuple[Array, Array]:
        return _dot(x, delta, SUM, settings.precision), _sums(settings, present, delta)[0]

    return tuple(layer(x, delta) for x, delta in zip(inputs, found, strict=True)), error


def weighted_gradients(
    settings: NetworkSettings,
    net: Net,
    inputs: tuple[Array, ...],
    found: tuple[Array, ...],
    weights: Array,
) -> list[Net]:
    """Weighted sums of the samples' gradients, one per row of weights [K, N]. One back-propagation
    serves all.
    """

    def layer(x: Array, delta: Array) -> list[tuple[Array, Array]]:
        biases = _sums(settings, weights, delta)
        return [
            (_weighted(settings, x, delta, weight), bias)
            for weight, bias in zip(weights, biases, strict=True)
        ]

    layers = [layer(x, delta) for x, delta in zip(inputs, found, strict=True)]
    return list(zip(*layers, strict=True))


def weighted_squares(
    settings: NetworkSettings, net: Net, inputs: tuple[Array, ...], last: Array, weights: Array
) -> tuple[Array, tuple[Array, ...]]:
    """[K], the squared norms of `weighted_gradients`; and what `deltas` gives."""
    found = deltas(settings, net, inputs, last)
    return jnp.stack(
        [squares(grads) for grads in weighted_gradients(settings, net, inputs, found, weights)]
    ), found


def squares(tree: Any) -> Array:
    """[], sum of the squares of all leaves."""
    return sum((jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(tree)), jnp.zeros(()))


def _weighted(settings: NetworkSettings, x: Array, delta: Array, weight: Array) -> Array:
    """x^T diag(weight) delta; the narrower factor is the one to scale."""
    scale = lambda y: (weight[:, None] * y.astype(jnp.float32)).astype(y.dtype)
    x, delta = (scale(x), delta) if x.shape[1] <= delta.shape[1] else (x, scale(delta))
    return _dot(x, delta, SUM, settings.precision)


def _few(delta: Array, w: Array) -> Array:
    """delta [N, few] @ w^T, term by term: cheaper than a product, and what follows can be done in
    the same go.
    """
    return sum((delta[:, k, None] * w[:, k] for k in range(w.shape[1])), jnp.zeros((), w.dtype))


def _sums(settings: NetworkSettings, weights: Array, delta: Array) -> Array:
    """weights [K, N] @ delta [N, width], as a product of enough rows: on a GPU a plain sum over N
    is far slower.
    """
    rows = jnp.concatenate([weights, jnp.zeros((-weights.shape[0] % NARROW, weights.shape[1]))])
    return _dot(rows, delta, FORWARD, settings.precision)[: weights.shape[0]]


def _dot(
    x: Array, w: Array, axes: tuple[int, int], precision: Precision, keep: bool = False
) -> Array:
    """Product over x's and w's `axes`, in float32. bf16 rounds the factors and, with `keep`, also
    the result.
    """
    width = w.shape[1 - axes[1]]
    if width < NARROW:  # a tensor core takes no fewer columns
        pad = [(0, 0), (0, 0)]
        pad[1 - axes[1]] = (0, NARROW - width)
        return _dot(x, jnp.pad(w, pad), axes, precision, keep)[:, :width]
    if precision == "bf16":
        return dot_16(
            x.astype(jnp.bfloat16),
            w.astype(jnp.bfloat16),
            axes,
            jnp.bfloat16 if keep else jnp.float32,
        )
    how = "highest" if precision == "highest" else "default"  # a GPU's default for float32 is TF32
    return jax.lax.dot_general(x, w, _contraction(axes), precision=how)


def dot_16(x: Array, w: Array, axes: tuple[int, int], result: DTypeLike) -> Array:
    """Product of factors 16 bits wide over their `axes`, summed in float32, of the type
    `result`.
    """
    return jax.lax.dot_general(x, w, _contraction(axes), preferred_element_type=result)


def _contraction(axes: tuple[int, int]) -> tuple:
    return (((axes[0],), (axes[1],)), ((), ()))
