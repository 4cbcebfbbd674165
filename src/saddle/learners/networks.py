"""Actor and critics: plain multi-layer perceptrons as pytrees, for one member; `jax.vmap` adds the members."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
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
    """A diagonal Gaussian: its mean comes from the layers, its spread does not depend on the observation."""

    layers: Layers
    log_std: Array  # [action_dim]


def init_layers(key: Array, sizes: Sequence[int]) -> Layers:
    """PyTorch's default: weights and biases uniform within 1 / sqrt(inputs). One draw for all of them."""
    shapes = [(inputs + 1, outputs) for inputs, outputs in itertools.pairwise(sizes)]
    ends = list(itertools.accumulate(math.prod(shape) for shape in shapes))
    draw = jax.random.uniform(key, (ends[-1],), minval=-1.0)
    parts = [draw[start:end] for start, end in itertools.pairwise([0, *ends])]
    tables = [part.reshape(shape) * sizes[i] ** -0.5 for i, (part, shape) in enumerate(zip(parts, shapes, strict=True))]
    return tuple((table[:-1], table[-1]) for table in tables)


def init_actor(key: Array, ppo: PPO, obs_dim: int, action_dim: int) -> Actor:
    """An untrained policy."""
    return Actor(init_layers(key, (obs_dim, *ppo.hidden, action_dim)), jnp.full(action_dim, ppo.log_std))


def init_critic(key: Array, ppo: PPO, obs_dim: int) -> Layers:
    """An untrained value function."""
    return init_layers(key, (obs_dim, *ppo.hidden, 1))


def forward(ppo: PPO, layers: Layers, x: Array) -> tuple[Array, tuple[Array, ...]]:
    """x [..., in] -> output [..., out], and what each layer was fed: x, then the hidden activations."""
    activate, inputs = ACTIVATIONS[ppo.activation][0], [x]
    for w, b in layers[:-1]:
        y = _dot(inputs[-1], w, ppo.precision, keep=True)
        inputs.append(activate(y.astype(jnp.float32) + b).astype(y.dtype))
    w, b = layers[-1]
    return _dot(inputs[-1], w, ppo.precision) + b, tuple(inputs)


def apply(ppo: PPO, layers: Layers, x: Array) -> Array:
    """x [..., in] -> [..., out]."""
    return forward(ppo, layers, x)[0]


def value(ppo: PPO, layers: Layers, x: Array) -> Array:
    """x [..., obs_dim] -> [...]."""
    return apply(ppo, layers, x)[..., 0]


def deltas(ppo: PPO, layers: Layers, inputs: tuple[Array, ...], last: Array) -> tuple[Array, ...]:
    """Back-propagation, sample by sample: d(last . output) / d(what enters each layer's activation), [N, width]."""
    slope, found = ACTIVATIONS[ppo.activation][1], [last]
    for (w, _), h in zip(layers[:0:-1], inputs[:0:-1], strict=True):
        back = _dot(found[0], w.T, ppo.precision, keep=True)
        found.insert(0, (back.astype(jnp.float32) * slope(h.astype(jnp.float32))).astype(h.dtype))
    return tuple(found)


def gradient(ppo: PPO, inputs: tuple[Array, ...], found: tuple[Array, ...], present: Array) -> Layers:
    """Sum of the samples' gradients. present [N] is 1 for each sample."""

    def layer(x: Array, delta: Array) -> tuple[Array, Array]:
        return _dot(x.T, delta, ppo.precision), _sums(ppo, present[None], delta)[0]

    return tuple(layer(x, delta) for x, delta in zip(inputs, found, strict=True))


def weighted_gradients(
    ppo: PPO, inputs: tuple[Array, ...], found: tuple[Array, ...], weights: Array
) -> tuple[Layers, ...]:
    """Weighted sums of the samples' gradients, one per row of weights [K, N]. One back-propagation serves them all."""

    def layer(x: Array, delta: Array) -> list[tuple[Array, Array]]:
        biases = _sums(ppo, weights, delta)
        return [(_weighted(ppo, x, delta, weight), bias) for weight, bias in zip(weights, biases, strict=True)]

    layers = [layer(x, delta) for x, delta in zip(inputs, found, strict=True)]
    return tuple(tuple(layer[k] for layer in layers) for k in range(weights.shape[0]))


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
