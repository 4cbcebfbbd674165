"""Settings of SAC by the machine that they are for. Without JAX."""

from saddle.learners.sac.settings import SAC

LAPTOP = SAC(
    layout="wide",
    hidden=(64, 64),
    batch=128,
    updates=4,
    actor_lr=3e-4,
    alpha=1e-3,
    replay=160_000,
    random_steps=4_000,
    rsi="bounded",
    window=24,
)
"""Small networks with more updates and a faster actor, for a CPU: a frontier in minutes. Not the
published settings.
"""

FAST = SAC(
    layout="wide",
    cycle=256,
    steps_per_epoch=20_480,
    batch=2048,
    layer_norm=True,
    actor_lr=3e-4,
    critic_lr=3e-4,
    polyak=0.02,
    tune_alpha=True,
    replay=500_000,
    replay_type="bf16",
    random_steps=10_240,
    rsi="bounded",
    window=100,
)
"""Many worlds and large batches, eight transitions replayed for each step, for a GPU. Not the
published settings.
"""
