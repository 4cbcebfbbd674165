"""Training with kernels off (SADDLE_KERNELS=off) goes where training with kernels goes."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners.toys import Toy, begin, spec

from saddle.accelerate import cpu_kernel
from saddle.config import Member
from saddle.learners import PPO
from saddle.multipliers import Fixed
from saddle.population import Population
from saddle.tasks.point import button_world, world
from saddle.tasks.point.shared import agent_at_rest
from saddle.tasks.rare import patch_rare
from saddle.tasks.task import State, TaskSpec, pytree

WORLDS = 8
# Of each world; after some more, rounding has grown into another motion
# (docs/explanation/architecture.md)
STEPS = 3
BESIDE = 0.21  # m between the robot and the button: they touch


@pytree
class AtButtonState(State):
    """State plus the robot [6]."""

    agent: jax.Array


@dataclass(frozen=True)
class AtButton(Toy):
    """Button1's robot and one button, the least that touches: all other contacts take longer to
    compile plainly.
    """

    spec: TaskSpec = spec("AtButton", 6, STEPS, actions=2)

    def reset(self, key):
        agent = agent_at_rest(jnp.zeros(2), jax.random.uniform(key, maxval=0.3))
        return AtButtonState(**begin(self.spec, key, agent), agent=agent)

    def step(self, state, action):
        button = jnp.array([[BESIDE, 0.0]])
        free = (*world.free(state.agent, action), jnp.zeros(1, bool))
        x = (state.agent, button, action)
        touch = jnp.ones((), bool)
        agent, _, pressed = patch_rare(button_world.button_contacts, touch, x, free, kernel=True)
        return self._after(
            state, obs=agent, agent=agent, reward=agent[0], cost=pressed.astype(jnp.float32)
        )


@pytest.fixture
def kernels(monkeypatch):
    """The names of the kernels that programs are traced with from now on."""
    traced = set()
    patch = cpu_kernel.patch

    def seen(rare, *args):
        traced.add(rare.__name__)
        return patch(rare, *args)

    monkeypatch.setattr(cpu_kernel, "patch", seen)
    return traced


def trained():
    """Metrics of two epochs, and the policy after them."""
    settings = {"hidden": (8, 8), "passes": 2, "batch": 12, "window": 10}
    ppo = PPO(steps_per_epoch=WORLDS * STEPS, worlds=WORLDS, **settings)
    population = Population(AtButton(), ppo, [Member(0, Fixed(1.0), (25.0,))], 2 * WORLDS * STEPS)
    state, first = population.epoch(population.init())
    state, second = population.epoch(state)
    return first, second, population.policy(state, 0)


def test_a_training_without_kernels_is_the_one_with_them(monkeypatch, kernels):
    with_kernels = trained()
    assert "button_contacts" in kernels
    kernels.clear()
    monkeypatch.setenv("SADDLE_KERNELS", "off")
    without = trained()
    assert not kernels
    assert with_kernels[1]["cost"].max() > 0, "nothing was touched"
    for ours, plain in zip(with_kernels, without, strict=True):
        assert ours.keys() == plain.keys()
        for name, value in ours.items():
            np.testing.assert_allclose(value, plain[name], rtol=1e-2, atol=1e-3, err_msg=name)
