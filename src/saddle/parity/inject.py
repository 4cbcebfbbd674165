"""Reference rows as batched states of our tasks."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saddle.parity import motion
from saddle.parity.golden import Golden
from saddle.parity.point.registry import reference_of
from saddle.tasks import State, Task

_RESULTS = {
    "obs",
    "reward",
    "cost",
    "terminated",
    "truncated",
    "acceleration",
    "goal_met",
    "violations",
    "button_cost_active",
}
"""Written by `step` before anything reads them, so that an injected state may hold zeros there."""


def inject(golden: Golden, task: Task, dtype: Any, after: bool = False) -> State:
    """The reference's states before the step (or after it) as one batched state, reals in `dtype`.

    After the step the previous distances are not recorded: that state is for `observe`, not for
    `step`.
    """
    key = jax.random.key(0)
    values = fields(golden, after)
    template = jax.eval_shape(task.reset, key)
    leaves = {}
    for field in dataclasses.fields(template):
        name = field.name
        if name == "key":
            leaves[name] = jax.random.split(key, golden.rows)
            continue
        if name not in values and name not in _RESULTS:
            raise NotImplementedError(
                f"{golden.task}: no reference value for the state's field {name!r}"
            )
        leaf = getattr(template, name)
        value = values.get(name, np.zeros(leaf.shape))
        batched = np.broadcast_to(value, (golden.rows, *leaf.shape))
        real = jnp.issubdtype(leaf.dtype, jnp.floating)
        leaves[name] = jnp.asarray(batched, dtype if real else leaf.dtype)
    return type(template)(**leaves)


def fields(golden: Golden, after: bool = False) -> dict[str, np.ndarray]:
    """Every state field the rows determine, in float64: name -> [N, ...]."""
    passed = 1 if after else 0  # env steps
    of_every_task = {
        "agent": motion.agents(golden, after),
        "steps": golden["step"].astype(np.int64) + passed,
    }
    return of_every_task | reference_of(golden).fields(golden, after)
