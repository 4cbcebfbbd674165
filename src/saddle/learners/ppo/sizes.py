"""Settings of PPO by the machine that they are for. Without JAX."""

from saddle.learners.ppo.settings import PPO

LAPTOP = PPO(
    steps_per_epoch=4_000,
    hidden=(64, 64),
    passes=4,
    batch=250,
    actor_lr=1e-3,
    critic_lr=1e-3,
    critic_l2=1e-4,
    rsi="bounded",
    window=24,
)
"""Small networks and short epochs, for a CPU: a frontier in minutes. Not the published settings."""

ACCELERATOR = PPO(layout="wide", precision="bf16", rsi="bounded")
"""The published settings in the layout and precision that a GPU is fastest with, but for the bound
on beta: without one, tasks that cost nothing for long are hardly learned.
"""
