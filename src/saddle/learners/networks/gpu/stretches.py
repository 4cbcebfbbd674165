"""What lies between a network's large products, each stretch by its kernel in PTX where there is
one, else by Triton's.

Arrays as `kernels` and `heads` have them; activations by name.
"""

from jax import Array

from saddle.accelerate import gate
from saddle.learners.networks.activations import ACTIVATIONS
from saddle.learners.networks.gpu import backward, first_layer, heads, kernels, last_layer
from saddle.learners.networks.gpu.head_rows import HeadGradients


def first(activation: str, x: Array, w: Array, b: Array, per: Array, unit: Array) -> Array:
    """As `kernels.first`."""
    samples, inputs = x.shape
    width = w.shape[1]
    if gate.allows("ptx") and first_layer.fits(activation, samples, inputs, width):
        return first_layer.first(activation, x, w, b, per, unit)
    return kernels.first(ACTIVATIONS[activation], x, w, b, per, unit)


def outputs(activation: str, y: Array, per: Array, b: Array, w: Array) -> Array:
    """As `heads.outputs`."""
    samples, width = y.shape
    count = w.shape[1]
    if gate.allows("ptx") and last_layer.fits(activation, samples, width, count):
        return last_layer.outputs(activation, y, per, b, w)
    return heads.outputs(ACTIVATIONS[activation], y, per, b, w)


def regression(
    activation: str,
    y: Array,
    per: Array,
    b: Array,
    last: tuple[Array, Array],
    target: Array,
    weight: Array,
) -> tuple[Array, Array, Array, Array]:
    """As `heads.regression`."""
    samples, width = y.shape
    if gate.allows("ptx") and last_layer.fits(activation, samples, width, outputs=1):
        return last_layer.regression(activation, y, per, b, last, target, weight)
    return heads.regression(ACTIVATIONS[activation], y, per, b, last, target, weight)


def head_gradients(
    activation: str,
    y: Array,
    per: Array,
    b: Array,
    w: Array,
    last: Array,
    weights: Array,
    plain: bool,
) -> HeadGradients:
    """As `heads.gradients`."""
    samples, width = y.shape
    count = w.shape[1]
    sums = weights.shape[0]
    if gate.allows("ptx") and backward.fits(activation, samples, width, count, sums):
        return backward.gradients(activation, y, per, b, w, last, weights, plain)
    return heads.gradients(ACTIVATIONS[activation], y, per, b, w, last, weights, plain)
