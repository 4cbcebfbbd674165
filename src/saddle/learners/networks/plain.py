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

Net = tuple[tuple[Array, Array], ...]
"""(weights [in, out], biases [out]) of each layer, from the input on."""

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
    count = sum((inputs + 1) * outputs for inputs, outputs in shapes)
    numbers = jax.random.uniform(key, (count,), minval=-1.0)
    layers = []
    start = 0
    for inputs, outputs in shapes:
        middle = start + inputs * outputs
        end = middle + outputs
        bound = inputs**-0.5
        w = numbers[start:middle].reshape(inputs, outputs) * bound
        b = numbers[middle:end] * bound
        layers.append((w, b))
        start = end
    return tuple(layers)


def init_critic(key: Array, settings: NetworkSettings, inputs: int, outputs: int = 1) -> Net:
    """An untrained value function."""
    return init_net(key, (inputs, *settings.hidden, outputs))


def rounded(settings: NetworkSettings, net: Net) -> Net:
    """The network with its weights as its products take them: who runs it many times need not round
    them each time.
    """
    if settings.precision != "bf16":
        return net
    return tuple((w.astype(jnp.bfloat16), b) for w, b in net)


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
    return _through(settings, net, x, prepare=lambda y: y)


def normalised_output(settings: NetworkSettings, net: Net, x: Array) -> Array:
    """x [N, in] -> output [N, out], where each sample's numbers have mean 0 and variance 1 before
    every hidden activation.
    """
    return _through(settings, net, x, prepare=layer_norm)[0]


def layer_norm(x: Array) -> Array:
    """Mean 0 and variance 1 over the last axis, without a scale or shift of its own."""
    centred = x - x.mean(-1, keepdims=True)
    variance = jnp.mean(centred**2, -1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + LAYER_NORM_EPSILON)


def _through(
    settings: NetworkSettings, net: Net, x: Array, prepare: Callable[[Array], Array]
) -> tuple[Array, tuple[Array, ...]]:
    """`forward`, with something done to what enters each hidden activation."""
    activate = ACTIVATIONS[settings.activation].value
    inputs = [x]
    for w, b in net[:-1]:
        product = _dot(inputs[-1], w, FORWARD, settings.precision, keep=True)
        entering = product.astype(jnp.float32) + b
        hidden = activate(prepare(entering))
        inputs.append(hidden.astype(product.dtype))
    w, b = net[-1]
    output = _dot(inputs[-1], w, FORWARD, settings.precision) + b
    return output, tuple(inputs)


def output(settings: NetworkSettings, net: Net, x: Array) -> Array:
    """x [N, in] -> output [N, out], for those who need no backward pass."""
    return forward(settings, net, x)[0]


def deltas(
    settings: NetworkSettings, net: Net, inputs: tuple[Array, ...], last: Array
) -> tuple[Array, ...]:
    """Back-propagation, sample by sample: d(last . output) / d(what enters each layer's
    activation), [N, width].
    """
    slope = ACTIVATIONS[settings.activation].slope
    found = [last]
    for (w, _), hidden in zip(net[:0:-1], inputs[:0:-1], strict=True):
        back = _back(settings, found[-1], w).astype(jnp.float32)
        delta = back * slope(hidden.astype(jnp.float32))
        found.append(delta.astype(hidden.dtype))
    return tuple(reversed(found))


def regression(
    settings: NetworkSettings, net: Net, x: Array, target: Array, weight: Array
) -> tuple[Net, Array]:
    """Gradient of sum(weight * error**2), and the errors [N] of the output from target [N].
    x [N, in], weight [N].
    """
    output, inputs = forward(settings, net, x)
    error = output[:, 0] - target
    present = (weight > 0).astype(jnp.float32)[None]
    pull = 2 * weight * error
    found = deltas(settings, net, inputs, pull[:, None])
    grads = []
    for layer_input, delta in zip(inputs, found, strict=True):
        of_weights = _dot(layer_input, delta, SUM, settings.precision)
        of_biases = _sums(settings, present, delta)[0]
        grads.append((of_weights, of_biases))
    return tuple(grads), error


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
    layers = []
    for layer_input, delta in zip(inputs, found, strict=True):
        every_bias = _sums(settings, weights, delta)
        layer = []
        for weight, of_biases in zip(weights, every_bias, strict=True):
            of_weights = _weighted(settings, layer_input, delta, weight)
            layer.append((of_weights, of_biases))
        layers.append(layer)
    return list(zip(*layers, strict=True))


def weighted_squares(
    settings: NetworkSettings, net: Net, inputs: tuple[Array, ...], last: Array, weights: Array
) -> tuple[Array, tuple[Array, ...]]:
    """[K], the squared norms of `weighted_gradients`; and what `deltas` gives."""
    found = deltas(settings, net, inputs, last)
    every_gradient = weighted_gradients(settings, net, inputs, found, weights)
    return jnp.stack([squares(gradient) for gradient in every_gradient]), found


def squares(tree: Any) -> Array:
    """[], sum of the squares of all leaves."""
    return sum((jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(tree)), jnp.zeros(()))


def _weighted(settings: NetworkSettings, x: Array, delta: Array, weight: Array) -> Array:
    """x^T diag(weight) delta; the narrower factor is the one to scale."""

    def scaled(factor: Array) -> Array:
        return (weight[:, None] * factor.astype(jnp.float32)).astype(factor.dtype)

    if x.shape[1] <= delta.shape[1]:
        x = scaled(x)
    else:
        delta = scaled(delta)
    return _dot(x, delta, SUM, settings.precision)


def _back(settings: NetworkSettings, delta: Array, w: Array) -> Array:
    """delta [N, out] @ w^T -> [N, in]. Of few outputs term by term: cheaper than a product, and
    what follows can be done in the same go.
    """
    outputs = w.shape[1]
    if outputs >= NARROW:
        return _dot(delta, w, BACK, settings.precision, keep=True)
    terms = (delta[:, k, None] * w[:, k] for k in range(outputs))
    return sum(terms, jnp.zeros((), w.dtype))


def _sums(settings: NetworkSettings, weights: Array, delta: Array) -> Array:
    """weights [K, N] @ delta [N, width], as a product of enough rows: on a GPU a plain sum over N
    is far slower.
    """
    count, samples = weights.shape
    filling = jnp.zeros((-count % NARROW, samples))
    rows = jnp.concatenate([weights, filling])
    return _dot(rows, delta, FORWARD, settings.precision)[:count]


def _dot(
    x: Array, w: Array, axes: tuple[int, int], precision: Precision, keep: bool = False
) -> Array:
    """Product over x's and w's `axes`, in float32. bf16 rounds the factors and, with `keep`, also
    the result.
    """
    free = 1 - axes[1]
    width = w.shape[free]
    if width < NARROW:  # a tensor core takes no fewer columns
        pad = [(0, 0), (0, 0)]
        pad[free] = (0, NARROW - width)
        return _dot(x, jnp.pad(w, pad), axes, precision, keep)[:, :width]
    if precision == "bf16":
        result = jnp.bfloat16 if keep else jnp.float32
        return dot_16(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), axes, result)
    how = "highest" if precision == "highest" else "default"  # a GPU's default for float32 is TF32
    return jax.lax.dot_general(x, w, _contraction(axes), precision=how)


def dot_16(x: Array, w: Array, axes: tuple[int, int], result: DTypeLike) -> Array:
    """Product of factors 16 bits wide over their `axes`, summed in float32, of the type
    `result`.
    """
    return jax.lax.dot_general(x, w, _contraction(axes), preferred_element_type=result)


def _contraction(axes: tuple[int, int]) -> tuple:
    of_x, of_w = axes
    no_batch = ((), ())
    return ((of_x,), (of_w,)), no_batch
