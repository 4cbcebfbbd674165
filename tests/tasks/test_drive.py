"""The GPU's kernel of the robot's free step, interpreted, against the loop that it stands in for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saddle.tasks.point import body, drive


@pytest.mark.parametrize("count", [1, drive.WORLDS, 300])
def test_the_kernel_is_the_loop(count):
    worlds = jax.random.uniform(jax.random.key(count), (count, 8), minval=-2, maxval=2)
    agent, acceleration = drive.substeps(body.unpack(worlds), worlds[:, 6], worlds[:, 7])
    expected = jnp.stack([*agent.q, *agent.v, *acceleration], axis=1)
    found = drive.in_kernel(worlds)
    np.testing.assert_allclose(found[:, :6], expected[:, :6], atol=1e-5)
    np.testing.assert_allclose(found[:, 6:], expected[:, 6:], rtol=1e-5, atol=1e-2)  # rad/s^2 by the thousand


def test_on_a_gpu_worlds_of_any_batch_share_the_kernel(monkeypatch):
    calls = []
    kernel = drive.in_kernel
    monkeypatch.setattr(drive, "in_kernel", lambda worlds: calls.append(worlds.shape) or kernel(worlds))

    def step(world: jax.Array) -> jax.Array:
        agent, acceleration = drive.step(body.unpack(world[:6]), world[6], world[7])
        return jnp.stack([*agent.q, *agent.v, *acceleration])

    worlds = jax.random.uniform(jax.random.key(0), (3, 5, 8), minval=-1)
    expected = jax.vmap(jax.vmap(step))(worlds)
    assert not calls
    on_gpu = iter(["gpu"])
    monkeypatch.setattr(drive.jax, "default_backend", lambda: next(on_gpu, "cpu"))
    np.testing.assert_allclose(jax.vmap(jax.vmap(step))(worlds), expected, rtol=1e-4, atol=1e-3)
    assert calls[-1] == (15, 8)
