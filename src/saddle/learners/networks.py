"""Actor and critics: plain multi-layer perceptrons as pytrees, for one member; `jax.vmap` adds the members."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.config import PPO, Precision

Layers = tuple[tuple[Array, Array], ...]  # (weights [in, out], biases [out]) from the input on

# Each activation with its derivative as a function of its OUTPUT, so that a backward pass keeps one array per layer.
ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "elu": (jax.nn.elu, lambda h: jnp.where(h > 0, 1.0, h + 1.0)),
    "tanh": (jnp.tanh, lambda h: 1.0 - h * h),
    "relu": (jax.nn.relu, lambda h: (h > 0).astype(h.dtype)),
}


class Actor(NamedTuple):
    """A diagonal Gaussian: its mean comes from the layers, its spread does not depend on the observation."""

    layers: Layers
    log_std: Array  # [action_dim]


def init_layers(key: Array, sizes: Sequence[int]) -> Layers:
    """PyTorch's default: weights and biases uniform within 1 / sqrt(inputs)."""

    def layer(key: Array, inputs: int, outputs: int) -> tuple[Array, Array]:
        bound = inputs**-0.5
        w, b = jax.random.split(key)
        draw = functools.partial(jax.random.uniform, minval=-bound, maxval=bound)
        return draw(w, (inputs, outputs)), draw(b, (outputs,))

    keys = jax.random.split(key, len(sizes) - 1)
    return tuple(layer(k, a, b) for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True))


def init_actor(key: Array, ppo: PPO, obs_dim: int, action_dim: int) -> Actor:
    """An untrained policy."""
    return Actor(init_layers(key, (obs_dim, *ppo.hidden, action_dim)), jnp.full(action_dim, ppo.log_std))


def init_critic(key: Array, ppo: PPO, obs_dim: int) -> Layers:
    """An untrained value function."""
    return init_layers(key, (obs_dim, *ppo.hidden, 1))


def apply(ppo: PPO, layers: Layers, x: Array) -> Array:
    """x [..., in] -> [..., out]."""
    for w, b in layers[:-1]:
        x = jnp.asarray(_layer(x, w, b, ppo.activation, ppo.precision))
    w, b = layers[-1]
    return jnp.asarray(_matmul(x, w, ppo.precision)) + b


def value(ppo: PPO, layers: Layers, x: Array) -> Array:
    """x [..., obs_dim] -> [...]."""
    return apply(ppo, layers, x)[..., 0]


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _layer(x: Array, w: Array, b: Array, activation: str, precision: Precision) -> Array:
    return _hidden(x, w, b, activation, precision)


def _hidden(x: Array, w: Array, b: Array, activation: str, precision: Precision) -> Array:
    h = ACTIVATIONS[activation][0](_dot(x, w, precision) + b)
    return h.astype(jnp.bfloat16) if precision == "bf16" else h  # as activations go through memory


def _layer_forward(
    x: Array, w: Array, b: Array, activation: str, precision: Precision
) -> tuple[Array, tuple[Array, Array, Array]]:
    h = _hidden(x, w, b, activation, precision)
    return h, (x, w, h)


def _layer_backward(
    activation: str, precision: Precision, kept: tuple[Array, Array, Array], g: Array
) -> tuple[Array, Array, Array]:
    x, w, h = kept
    delta = (g.astype(jnp.float32) * ACTIVATIONS[activation][1](h.astype(jnp.float32))).reshape(-1, h.shape[-1])
    dw = _dot(x.reshape(-1, x.shape[-1]).T, delta, precision)
    dx = _dot(delta, w.T, precision).reshape(x.shape)
    return dx.astype(x.dtype), dw, delta.sum(0)


_layer.defvjp(_layer_forward, _layer_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _matmul(x: Array, w: Array, precision: Precision) -> Array:
    return _dot(x, w, precision)


def _matmul_forward(x: Array, w: Array, precision: Precision) -> tuple[Array, tuple[Array, Array]]:
    return _dot(x, w, precision), (x, w)


def _matmul_backward(precision: Precision, kept: tuple[Array, Array], g: Array) -> tuple[Array, Array]:
    x, w = kept
    flat = g.reshape(-1, g.shape[-1])
    dw = _dot(x.reshape(-1, x.shape[-1]).T, flat, precision)
    return _dot(flat, w.T, precision).reshape(x.shape).astype(x.dtype), dw


_matmul.defvjp(_matmul_forward, _matmul_backward)


def _dot(x: Array, w: Array, precision: Precision) -> Array:
    """float32 result. bf16 rounds the factors and adds up in float32."""
    if precision == "bf16":
        return jnp.matmul(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
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
