"""Reward-scale invariance: beta weighs costs so that at lambda = 1 reward and cost pull equally
hard. m constraints.
"""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from saddle.learners.settings import ScaleSettings

EPSILON = 1e-8


def start(settings: ScaleSettings, m: int) -> Float[Array, " m"]:
    """Beta before the first look at gradients: none yet (NaN), or 1 where it is bounded or off."""
    none_yet = settings.rsi == "published"
    return jnp.full(m, jnp.nan if none_yet else 1.0, jnp.float32)


def refreshed(
    settings: ScaleSettings,
    beta: Float[Array, " m"],
    reward_norm: Float[Array, ""],
    cost_norms: Float[Array, " m"],
) -> Float[Array, " m"]:
    """Beta after a look at gradients with these norms: the first ratio as it is, later ones
    smoothed.

    Bounded, each ratio lies between 1 / rsi_max and rsi_max before it is smoothed, and so does
    beta, which begins at 1.
    """
    now = reward_norm / (cost_norms + EPSILON)
    if settings.rsi == "bounded":
        now = jnp.clip(now, 1 / settings.rsi_max, settings.rsi_max)
    return jnp.where(jnp.isnan(beta), now, settings.rsi_ema * beta + (1 - settings.rsi_ema) * now)


def unit(costs: Float[Array, "... m"]) -> Float[Array, " m"]:
    """What a cost is, of all that were met: the root mean square of those that are not 0, and 0
    where all are. Of costs that are 0 or 1 it is 1.
    """
    steps = tuple(range(costs.ndim - 1))
    largest = jnp.max(jnp.abs(costs), steps)
    # Squares of costs below 1e-19 or above 1e19 have no float32.
    shares = costs / jnp.where(largest > 0, largest, 1.0)
    count = jnp.sum(costs != 0, steps)
    square = jnp.sum(jnp.square(shares), steps) / jnp.maximum(count, 1)
    return largest * jnp.sqrt(square)
