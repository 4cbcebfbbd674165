"""Shapes that are told are checked: in tests, wherever arrays pass a seam."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError
from shapes import ShapeError

from saddle.collect.rollout import Decision, by_member, by_time
from saddle.multipliers import Fixed
from saddle.multipliers.stacked import Multiplier, Rules
from saddle.tasks import make
from saddle.tasks.host import HostStep
from saddle.tasks.task import State


def a_state(**changes):
    fields = {
        "obs": jnp.zeros(4),
        "reward": jnp.zeros(()),
        "cost": jnp.zeros(1),
        "terminated": jnp.zeros((), bool),
        "truncated": jnp.zeros((), bool),
        "steps": jnp.zeros((), jnp.int32),
        "key": jax.random.key(0),
    }
    return State(**fields | changes)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("obs", jnp.zeros((3, 4))),
        ("reward", jnp.zeros(1)),
        ("cost", jnp.zeros(())),
        ("terminated", jnp.zeros(())),
        ("steps", jnp.zeros(())),
    ],
)
def test_a_state_with_another_shape_or_type(field, value):
    a_state()
    with pytest.raises(ShapeError, match=r"State\.\w+ is "):
        a_state(**{field: value})


def test_the_state_of_a_task_is_checked_too():
    class_of_states = type(make("SafetyPointCircle1-v0").reset(jax.random.key(0)))
    fields = dict.fromkeys(class_of_states.__dataclass_fields__)
    with pytest.raises(ShapeError, match=r"CircleState.cost is float32\[\]"):
        class_of_states(**fields | {"reward": jnp.zeros(()), "cost": jnp.zeros(())})


def test_a_batch_of_states_is_one():
    states = jax.vmap(lambda obs: a_state(obs=obs))(jnp.zeros((5, 4)))
    assert states.obs.shape == (5, 4) and states.cost.shape == (5, 1)


def test_worlds_of_a_host_that_disagree():
    flags = np.zeros(3, bool)
    seen, numbers = np.zeros((3, 2), np.float32), np.zeros(3, np.float32)
    HostStep(seen, seen, numbers, numbers[:, None], flags, flags)
    with pytest.raises(ShapeError, match=r"HostStep.cost is float32\[3\]"):
        HostStep(seen, seen, numbers, numbers, flags, flags)
    with pytest.raises(ShapeError, match=r"HostStep.terminated is float32"):
        HostStep(seen, seen, numbers, numbers[:, None], numbers, flags)
    with pytest.raises(ShapeError, match=r"HostStep.final_obs is float32\[2, 2\]"):
        HostStep(seen, seen[:2], numbers, numbers[:, None], flags, flags)


def test_functions_look_at_their_arguments():
    x = jnp.arange(24.0).reshape(2, 3, 4)
    assert by_time(by_member(x), 2).shape == (2, 3, 4)
    with pytest.raises(TypeCheckError):
        by_member(x[0])
    with pytest.raises(ShapeError, match=r"Decision.action is bool"):
        Decision(x > 0, None)


def test_a_rule_is_told_of_every_constraint():
    rules = Rules([Fixed()])
    numbers = jax.tree.map(lambda column: column[0], rules.numbers)
    state = rules.init(numbers, 2)
    two = jnp.ones(2)
    assert isinstance(rules.update(state, numbers, two, two), Multiplier)
    with pytest.raises(TypeCheckError):
        rules.update(state, numbers, two, jnp.ones(1))


def test_annotations_load_no_jax():
    code = "import sys, saddle.analysis, jaxtyping; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
