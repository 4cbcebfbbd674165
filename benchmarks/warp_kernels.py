"""How many kernels MuJoCo Warp launches for an env step, counted on a CPU.

    pip install warp-lang==1.18.0
    python benchmarks/warp_kernels.py [TASK ...]

Launches of no threads are left out, as a GPU never sees them. The solver's loop counts as often as
the slowest of 64 worlds under random actions needs it.
"""

import math
import sys
from collections import Counter
from unittest import mock

import jax
import jax.numpy as jnp
import warp as wp  # type: ignore[import-not-found]

from saddle.tasks import make
from saddle.tasks.velocity.bodies import BODIES

WORLDS, STEPS = 64, 20


def kernels(name: str) -> Counter[str]:
    """By name, for the last of a few steps."""
    task = make(name, engine="mjx-warp")
    step = jax.vmap(task.step)
    state = jax.vmap(task.reset)(jax.random.split(jax.random.key(0), WORLDS))
    found: Counter[str] = Counter()

    def counted(launch):
        def wrapper(kernel, *args, **options):
            dim = options.get("dim", args[0] if args else 0)
            found[kernel.key] += math.prod([dim] if isinstance(dim, int) else dim) > 0
            return launch(kernel, *args, **options)

        return wrapper

    with (
        mock.patch.object(wp, "launch", counted(wp.launch)),
        mock.patch.object(wp, "launch_tiled", counted(wp.launch_tiled)),
    ):
        for key in jax.random.split(jax.random.key(1), STEPS):
            found.clear()
            actions = jax.random.uniform(key, (WORLDS, task.spec.action_dim), jnp.float32, -1, 1)
            state = jax.block_until_ready(step(state, actions))
    return found


if __name__ == "__main__":
    for name in sys.argv[1:] or BODIES:
        found = kernels(name)
        print(f"{name}: {found.total()} kernels, most often {found.most_common(3)}", flush=True)
