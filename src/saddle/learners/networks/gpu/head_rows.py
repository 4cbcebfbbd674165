"""What kernels for the last layer do with some rows of samples."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jax import Array

from saddle.learners.networks.activations import Activation
from saddle.learners.networks.gpu.kernels import narrow, widen


class HeadGradients(NamedTuple):
    """From the output back to what enters the last hidden layer's activation, under each of K rows
    of weights. N samples, a layer of width H, A outputs.
    """

    deltas: list[Array]  # [N, H] each
    sums: Array  # [K, H], of the deltas over samples
    weights: Array  # [K, H, A], the gradients of the last layer's weights


def back(
    activation: Activation, y: Array, per: Any, b: Any, w: Any, ends: list[Array]
) -> tuple[Array, Array]:
    """Some rows' activations and, from what comes back to each output, their deltas [rows, H]:
    what comes back to what enters the activations.
    """
    act, slope = activation.both(widen(y) * per[0] + b[...][None])
    pull = sum(end[:, None] * w[j, :][None] for j, end in enumerate(ends))
    return act, pull * slope


def write(targets: Sequence[Any], at: Any, arrays: list[Array]) -> None:
    """Each array's rows into a result."""
    for target, array in zip(targets, arrays, strict=True):
        target[at, :] = narrow(array, target.dtype)
