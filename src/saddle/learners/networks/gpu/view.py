"""A network as products on a GPU take it: the weights between its hidden layers 16 bits wide."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from saddle.learners.networks.gpu import halves
from saddle.learners.networks.gpu.units import DEEP, unit
from saddle.learners.networks.plain import Net, NetworkSettings

HALF = {"bf16": jnp.bfloat16, "tf32": jnp.float16}
MARGIN = 32.0  # by which weights are kept smaller, for sums of products with them


class View(NamedTuple):
    """A network as its products take it."""

    net: Net  # its middle weights 16 bits wide, times unit
    unit: Array  # []

    @property
    def middle_weights(self) -> Array:
        """[H1, H2], 16 bits wide, times unit."""
        return self.net[1][0]

    @property
    def middle_biases(self) -> Array:
        """[H2]."""
        return self.net[1][1]

    @property
    def last(self) -> tuple[Array, Array]:
        """Weights [H2, out] and biases [out]."""
        return self.net[2]


def rounded(settings: NetworkSettings, net: Net) -> View:
    """The network with the weights of its large products as these take them."""
    return join(settings, *split(settings, net))[1]


def split(settings: NetworkSettings, net: Net) -> tuple[Net, tuple[Array, Array]]:
    """The middle weights as products take them, with their unit; and the network without what these
    hold of it.
    """
    first, (w, b), last = net
    if settings.precision == "bf16":
        high, low = halves.split(w)
        return (first, (low, b), last), (high, jnp.ones(()))
    own_unit = unit(jnp.abs(w).max(), DEEP) / MARGIN
    return net, ((w * own_unit).astype(HALF[settings.precision]), own_unit)


def join(settings: NetworkSettings, rest: Net, held: tuple[Array, Array]) -> tuple[Net, View]:
    """The network that `split` took apart, and its view."""
    first, (middle, b), last = rest
    w, own_unit = held
    net = rest
    if settings.precision == "bf16":
        net = (first, (halves.join(w, middle), b), last)
    return net, View((first, (w, b), last), own_unit)


def weights(view: View) -> Net:
    """The network, to the rounding of its view."""
    first, (w, b), last = view.net
    return first, (w.astype(jnp.float32) / view.unit, b), last
