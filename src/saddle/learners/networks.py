"""Actor and critics: plain multi-layer perceptrons, for one member; `jax.vmap` adds the members.

A network is ONE flat vector [P], layer after layer, weights before biases: whatever treats all parameters alike (Adam,
norms, picking members) is then one operation, on a GPU one kernel. `layers_of` shows it as matrices.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.config import PPO, Precision

Layers = tuple[tuple[Array, Array], ...]  # (weights [in, out], biases [out]) from the input on

# Each activation with its derivative as a function of its OUTPUT, so that going back needs one array per layer.
ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "elu": (
        lambda y: jnp.where(y > 0, y, jnp.exp(jnp.minimum(y, 0.0)) - 1.0),
        lambda h: jnp.where(h > 0, 1.0, h + 1.0),
    ),
    "tanh": (jnp.tanh, lambda h: 1.0 - h * h),
    "relu": (jax.nn.relu, lambda h: (h > 0).astype(h.dtype)),
}


class Actor(NamedTuple):
    """A diagonal Gaussian: its mean comes from a network, its spread does not depend on the observation."""

    net: Array  # [P]
    log_std: Array  # [action_dim]


def init_net(key: Array, sizes: Sequence[int]) -> Array:
    """[P]. PyTorch's default: weights and biases uniform within 1 / sqrt(inputs)."""
    bounds = [
        np.full((inputs + 1) * outputs, inputs**-0.5, np.float32) for inputs, outputs in itertools.pairwise(sizes)
    ]
    return jax.random.uniform(key, (sum(map(len, bounds)),), minval=-1.0) * np.concatenate(bounds)


def init_actor(key: Array, ppo: PPO, obs_dim: int, action_dim: int) -> Actor:
    """An untrained policy."""
    return Actor(init_net(key, (obs_dim, *ppo.hidden, action_dim)), jnp.full(action_dim, ppo.log_std, jnp.float32))


def init_critic(key: Array, ppo: PPO, obs_dim: int) -> Array:
    """An untrained value function [P]."""
    return init_net(key, (obs_dim, *ppo.hidden, 1))


def layers_of(ppo: PPO, net: Array, inputs: int, outputs: int) -> Layers:
    """The matrices of a network [P]."""
    layers, start = [], 0
    for a, b in itertools.pairwise((inputs, *ppo.hidden, outputs)):
        middle, end = start + a * b, start + (a + 1) * b
        layers.append((net[start:middle].reshape(a, b), net[middle:end]))
        start = end
    return tuple(layers)


def flat(layers: Layers) -> Array:
    """The network [P] that has these matrices."""
    return jnp.concatenate([part.ravel() for layer in layers for part in layer])


def mean(ppo: PPO, actor: Actor, x: Array) -> Array:
    """The policy's mean. x [..., obs_dim] -> [..., action_dim]."""
    return forward(ppo, layers_of(ppo, actor.net, x.shape[-1], actor.log_std.size), x)[0]


def value(ppo: PPO, critic: Array, x: Array) -> Array:
    """x [..., obs_dim] -> [...]."""
    return forward(ppo, layers_of(ppo, critic, x.shape[-1], 1), x)[0][..., 0]


def forward(ppo: PPO, layers: Layers, x: Array) -> tuple[Array, tuple[Array, ...]]:
    """x [..., in] -> output [..., out], and what each layer was fed: x, then the hidden activations."""
    activate, inputs = ACTIVATIONS[ppo.activation][0], [x]
    for w, b in layers[:-1]:
        y = _dot(inputs[-1], w, ppo.precision, keep=True)
        inputs.append(activate(y.astype(jnp.float32) + b).astype(y.dtype))
    w, b = layers[-1]
    return _dot(inputs[-1], w, ppo.precision) + b, tuple(inputs)


def deltas(ppo: PPO, layers: Layers, inputs: tuple[Array, ...], last: Array) -> tuple[Array, ...]:
    """Back-propagation, sample by sample: d(last . output) / d(what enters each layer's activation), [N, width]."""
    slope, found = ACTIVATIONS[ppo.activation][1], [last]
    for (w, _), h in zip(layers[:0:-1], inputs[:0:-1], strict=True):
        back = _dot(found[0], w.T, ppo.precision, keep=True)
        found.insert(0, (back.astype(jnp.float32) * slope(h.astype(jnp.float32))).astype(h.dtype))
    return tuple(found)


def gradient(ppo: PPO, inputs: tuple[Array, ...], found: tuple[Array, ...], present: Array) -> Array:
    """Sum of the samples' gradients [P]. present [N] is 1 for each sample."""

    def layer(x: Array, delta: Array) -> tuple[Array, Array]:
        return _dot(x.T, delta, ppo.precision), _sums(ppo, present[None], delta)[0]

    return flat(tuple(layer(x, delta) for x, delta in zip(inputs, found, strict=True)))


def weighted_gradients(ppo: PPO, inputs: tuple[Array, ...], found: tuple[Array, ...], weights: Array) -> list[Array]:
    """Weighted sums of the samples' gradients [P], one per row of weights [K, N]. One back-propagation serves all."""

    def layer(x: Array, delta: Array) -> list[tuple[Array, Array]]:
        biases = _sums(ppo, weights, delta)
        return [(_weighted(ppo, x, delta, weight), bias) for weight, bias in zip(weights, biases, strict=True)]

    layers = [layer(x, delta) for x, delta in zip(inputs, found, strict=True)]
    return [flat(tuple(layer[k] for layer in layers)) for k in range(weights.shape[0])]


def _weighted(ppo: PPO, x: Array, delta: Array, weight: Array) -> Array:
    """x^T diag(weight) delta; the narrower factor is the one to scale."""
    scale = lambda y: (weight[:, None] * y.astype(jnp.float32)).astype(y.dtype)
    x, delta = (scale(x), delta) if x.shape[1] <= delta.shape[1] else (x, scale(delta))
    return _dot(x.T, delta, ppo.precision)


def _sums(ppo: PPO, weights: Array, delta: Array) -> Array:
    """weights [K, N] @ delta [N, width], as a product of at least 8 rows: on a GPU a plain sum over N is far slower."""
    rows = jnp.concatenate([weights, jnp.zeros((-weights.shape[0] % 8, weights.shape[1]))])
    return _dot(rows, delta, ppo.precision)[: weights.shape[0]]


def _dot(x: Array, w: Array, precision: Precision, keep: bool = False) -> Array:
    """Product in float32. bf16 rounds the factors, adds up in float32 and, with `keep`, leaves the result in bf16."""
    if precision == "bf16":
        result = jnp.bfloat16 if keep else jnp.float32
        return jnp.matmul(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), preferred_element_type=result)
    how = "highest" if precision == "highest" else "default"  # a GPU's default for float32 is TF32
    return jnp.matmul(x, w, precision=how)


def log_prob(actor: Actor, mean: Array, action: Array) -> Array:
    """Of a diagonal Gaussian. mean, action [..., action_dim] -> [...]."""
    scaled = (action - mean) * jnp.exp(-actor.log_std)
    return jnp.sum(-0.5 * scaled**2 - actor.log_std - 0.5 * jnp.log(2 * jnp.pi), axis=-1)


def kl(mean_old: Array, log_std_old: Array, mean: Array, log_std: Array) -> Array:
    """KL(old, new) of diagonal Gaussians, summed over action_dim. [..., action_dim] -> [...]."""
    ratio = jnp.exp(2 * (log_std_old - log_std))
    shift = ((mean_old - mean) * jnp.exp(-log_std)) ** 2
    return jnp.sum(0.5 * (ratio + shift - 1) + log_std - log_std_old, axis=-1)


def entropy(log_std: Array) -> Array:
    """Of the policy, averaged over action_dim as the study's learner does."""
    return jnp.mean(0.5 + 0.5 * jnp.log(2 * jnp.pi) + log_std, axis=-1)
