"""Does a critic come back after epochs without any cost? `python benchmarks/quiet_critic.py
[QUIET_EPOCHS ...]`

A critic learns a cost of random observations, then nothing for some epochs, in which its L2 penalty
draws all weights towards 0, then the cost again. Prints how much of the variance it explains at the
end of each of these last epochs: in float32, and by the GPU's kernels, interpreted. Nine minutes on
two cores for 10 and 30 quiet epochs.
"""

import sys
from functools import partial
from types import ModuleType

import jax
import jax.numpy as jnp
from jax import Array

from saddle.learners import PPO, Precision, adam
from saddle.learners.networks import plain
from saddle.learners.networks.gpu import backend
from saddle.learners.ppo.minibatch import critic_step

INPUTS, BATCH, STEPS, EPOCHS = 28, 256, 400, 5  # STEPS as in an epoch of training
WAYS: list[tuple[ModuleType, Precision]] = [
    (plain, "highest"),
    (backend, "bf16"),
    (backend, "tf32"),
]


def minibatch(
    module: ModuleType, ppo: PPO, carry: tuple, key: Array, price: float
) -> tuple[tuple, Array]:
    """One step of the critic as training takes it, and the share of the cost's variance that it
    explained.
    """
    net, state = carry
    x = jax.random.normal(key, (BATCH, INPUTS))
    cost = 5 * jnp.maximum(x[:, 0] - 1, 0)
    view = module.rounded(ppo, net)
    grads, error = module.regression(ppo, view, x, price * cost, jnp.full(BATCH, 1 / BATCH))
    state, net = critic_step(ppo, net, module.weights(view), state, grads)
    return (net, state), 1 - jnp.var(error) / jnp.var(cost)


def explained(module: ModuleType, precision: Precision, quiet: int) -> list[float]:
    """After the quiet epochs, epoch by epoch."""
    ppo = PPO(precision=precision)
    net = plain.init_critic(jax.random.key(0), ppo, INPUTS)
    prices = [1.0, 1.0] + [0.0] * quiet + [1.0] * EPOCHS
    keys = jax.random.split(jax.random.key(1), (len(prices), STEPS))
    epoch = jax.jit(
        lambda carry, keys, price: jax.lax.scan(
            partial(minibatch, module, ppo, price=price), carry, keys
        )
    )
    carry, found = (net, adam.init(net)), []
    for price, some in zip(prices, keys, strict=True):
        carry, shares = epoch(carry, some, price)
        found.append(float(shares[-20:].mean()))
    return found[-EPOCHS:]


if __name__ == "__main__":
    for quiet in map(int, sys.argv[1:] or ["10", "30"]):
        for module, precision in WAYS:
            shares = " ".join(f"{share:.3f}" for share in explained(module, precision, quiet))
            print(f"{quiet} epochs without a cost, {precision}: {shares}", flush=True)
