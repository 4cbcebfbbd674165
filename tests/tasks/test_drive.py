"""The GPU's kernel of the robot's free step, interpreted, against the loop that it stands in
for.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tasks import ptx_machine

from saddle.accelerate import gate, gpu_kernel
from saddle.accelerate.compiler.branch import Branch
from saddle.tasks.point import body, drive


@pytest.mark.parametrize("count", [1, drive.WORLDS, 300])
def test_the_kernel_is_the_loop(count):
    worlds = jax.random.uniform(jax.random.key(count), (count, 8), minval=-2, maxval=2)
    expected, found = drive.free_step(worlds), drive.in_kernel(worlds)
    np.testing.assert_allclose(found[:, :6], expected[:, :6], atol=1e-5)
    np.testing.assert_allclose(
        found[:, 6:], expected[:, 6:], rtol=1e-5, atol=1e-2
    )  # rad/s^2 by the thousand


def test_on_a_gpu_worlds_of_any_batch_share_the_kernel(monkeypatch):
    calls = []
    kernel = drive.in_kernel
    monkeypatch.setattr(
        drive, "in_kernel", lambda worlds: calls.append(worlds.shape) or kernel(worlds)
    )

    def step(world: jax.Array) -> jax.Array:
        agent, acceleration = drive.step(body.unpack(world[:6]), world[6], world[7])
        return jnp.stack([*agent.q, *agent.v, *acceleration])

    worlds = jax.random.uniform(jax.random.key(0), (3, 5, 8), minval=-1)
    expected = jax.vmap(jax.vmap(step))(worlds)
    assert not calls
    monkeypatch.setattr(gate, "answer", lambda kind: gate.Answer(True))
    np.testing.assert_allclose(jax.vmap(jax.vmap(step))(worlds), expected, rtol=1e-4, atol=1e-3)
    assert calls[-1] == (15, 8)


def test_without_triton_the_step_is_a_kernel_of_our_own_compiler():
    """Its very text, on a machine that runs PTX."""
    worlds = np.asarray(jax.random.uniform(jax.random.key(2), (5, 8), minval=-2, maxval=2))
    found = np.full((5, 9), np.nan, np.float32)
    text = gpu_kernel.program_text(Branch.of(drive.free_step, worlds, found))[1]
    order = [np.asarray(x) for x in gpu_kernel.order(jnp.ones(5, bool))]
    ptx_machine.run(text, 32 * gpu_kernel.warps(5), *order, worlds, np.zeros_like(found), found)
    expected = drive.free_step(jnp.asarray(worlds))
    np.testing.assert_allclose(found[:, :6], expected[:, :6], atol=1e-5)
    np.testing.assert_allclose(found[:, 6:], expected[:, 6:], rtol=1e-4, atol=1e-2)


def test_a_gpu_without_triton_has_that_kernel(monkeypatch):
    monkeypatch.setattr(gate, "answer", lambda kind: gate.Answer(kind == "ptx"))
    monkeypatch.setattr(gpu_kernel, "prove", lambda branch: None)

    def step(world: jax.Array) -> jax.Array:
        return drive.step(body.unpack(world[:6]), world[6], world[7])[0].q.x

    text = (
        jax.jit(jax.vmap(step))
        .trace(jnp.zeros((7, 8)))
        .lower(lowering_platforms=("cuda",))
        .as_text()
    )
    assert text.count(".visible .entry free_step(") == 1 and "xla.gpu.triton" not in text


@pytest.fixture
def _tried_again():
    """Whether the kernel works is found out in the test, and again after it."""
    drive._works.cache_clear()
    gate.forget()
    yield
    drive._works.cache_clear()
    gate.forget()


@pytest.mark.usefixtures("_tried_again")
def test_a_kernel_that_does_not_compile_is_left_to_the_loop(monkeypatch):
    def broken(worlds):
        raise RuntimeError("no such instruction\nmore of it")

    agent, throttle = body.unpack(jnp.arange(6.0)), jnp.ones(())
    expected = drive.substeps(agent, throttle, throttle)
    monkeypatch.setattr(gate, "answer", lambda kind: gate.Answer(kind == "triton"))
    monkeypatch.setattr(drive, "in_kernel", broken)
    with pytest.warns(
        UserWarning, match="the robot's free step runs without its kernel.* no such instruction$"
    ):
        found = drive.step(agent, throttle, throttle)
    again = drive.step(agent, throttle, throttle)  # without a second warning
    jax.tree.map(np.testing.assert_array_equal, (found, again), (expected, expected))
