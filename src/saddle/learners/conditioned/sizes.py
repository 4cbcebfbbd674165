"""Settings of PPO with the multipliers as inputs, by the machine that they are for. Without JAX."""

from saddle.learners.conditioned.settings import Conditioned

LAPTOP = Conditioned(
    steps_per_epoch=16_000,
    hidden=(64, 64),
    passes=8,
    batch=500,
    actor_lr=1e-3,
    critic_lr=1e-3,
    critic_l2=1e-4,
    rsi="bounded",
    rsi_ema=0.99,
    window=96,
)
"""Small networks, and epochs of some tens of episodes, for a CPU: a frontier in a minute."""

ACCELERATOR = Conditioned(
    steps_per_epoch=100_000,
    batch=4_000,
    rsi="bounded",
    rsi_ema=0.99,
    precision="tf32",
)
"""The published networks and passes, in epochs of some hundred episodes."""
