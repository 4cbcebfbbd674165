"""Who computes networks: the plain functions, or kernels on a GPU. Both have the functions of
`Backend`.
"""

from typing import Any, Protocol

from jax import Array

from saddle.learners.networks import plain
from saddle.learners.networks.plain import Net, NetworkSettings


class Backend(Protocol):
    """Functions of one network of one member; `jax.vmap` adds the members.

    A view is a network as the backend's products take it, a trace what its backward pass needs of
    the forward pass; both are the backend's own.
    """

    def rounded(self, settings: NetworkSettings, net: Net, /) -> Any:
        """The network's view: who runs it many times need not round its weights each time."""
        ...

    def split(self, settings: NetworkSettings, net: Net, /) -> tuple[Any, Any]:
        """The network between two minibatches: what products take of it, after the rest of it."""
        ...

    def join(self, settings: NetworkSettings, rest: Any, held: Any, /) -> tuple[Net, Any]:
        """The network that `split` took apart, and its view."""
        ...

    def weights(self, view: Any, /) -> Net:
        """The network, to the rounding of its view."""
        ...

    def fed(self, settings: NetworkSettings, x: Array, /) -> Array:
        """Inputs x [N, in] as `forward` takes them best."""
        ...

    def forward(self, settings: NetworkSettings, view: Any, x: Array, /) -> tuple[Array, Any]:
        """Output [N, out] of x [N, in], and the trace."""
        ...

    def output(self, settings: NetworkSettings, view: Any, x: Array, /) -> Array:
        """Output [N, out] of x [N, in], for those who need no backward pass."""
        ...

    def regression(
        self, settings: NetworkSettings, view: Any, x: Array, target: Array, weight: Array, /
    ) -> tuple[Net, Array]:
        """Gradient of sum(weight * error**2), and the errors [N] of the output from target [N].
        weight [N].
        """
        ...

    def deltas(self, settings: NetworkSettings, view: Any, trace: Any, last: Array, /) -> Any:
        """Back-propagation of last [N, out], sample by sample, not yet weighted."""
        ...

    def weighted_gradients(
        self, settings: NetworkSettings, view: Any, trace: Any, found: Any, weights: Array, /
    ) -> list[Net]:
        """Weighted sums of the samples' gradients, one per row of weights [K, N]. found is what
        `deltas` gave.
        """
        ...

    def weighted_squares(
        self, settings: NetworkSettings, view: Any, trace: Any, last: Array, weights: Array, /
    ) -> tuple[Array, Any]:
        """[K], the squared norms of `weighted_gradients`; and what `deltas` gives."""
        ...


def choose(settings: NetworkSettings) -> Backend:
    """Kernels where the gate and the networks' sizes allow them, else the plain functions."""
    from saddle.learners.networks.gpu import backend as kernels

    return kernels if kernels.fits(settings) else plain
