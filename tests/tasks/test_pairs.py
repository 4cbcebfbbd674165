"""Bodies against each other: the dense solve against LAPACK, and forces against the relative
motions they act on.
"""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from saddle.tasks.point.physics import pairs
from saddle.tasks.point.physics.rigid import Motion
from saddle.tasks.point.physics.vec import Vec

SIZE = 9
eliminate = jax.jit(pairs.eliminate)


@given(st.integers(0, 10**6), st.floats(0, 6))
@settings(max_examples=50)
def test_elimination_solves(seed, spread):
    """The residual is small beside the terms it is made of, however unlike the unknowns' scales
    are.
    """
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, SIZE, SIZE)) * 10.0 ** rng.uniform(
        -spread / 2, spread / 2, (3, SIZE, 1)
    )
    matrix = (root @ root.transpose(0, 2, 1) + 1e-6 * np.eye(SIZE)).astype(np.float32)
    right = rng.normal(size=(3, SIZE)).astype(np.float32)
    x = np.asarray(eliminate(matrix, right), float)
    terms = np.abs(matrix.astype(float)) @ np.abs(x)[..., None]
    residual = matrix.astype(float) @ x[..., None] - right[..., None]
    assert np.max(np.abs(residual) / (terms + np.abs(right[..., None]))) < 1e-4


def test_elimination_of_a_well_conditioned_system_is_lapacks():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, SIZE, SIZE))
    matrix, right = root @ root.transpose(0, 2, 1) + 5 * np.eye(SIZE), rng.normal(size=(3, SIZE))
    ours = eliminate(matrix.astype(np.float32), right.astype(np.float32))
    np.testing.assert_allclose(
        ours, np.linalg.solve(matrix, right[..., None])[..., 0], rtol=1e-4, atol=1e-6
    )


def test_scattered_forces_do_the_work_of_the_pairs():
    """Power of the forces on bodies = power of the pairs' forces in the relative motions, for any
    motion.
    """
    keys = jax.random.split(jax.random.key(0), 5)
    vec = lambda key, count: Vec(*jax.random.normal(key, (3, count, 2)))
    arm, z = vec(keys[0], 4), Motion(vec(keys[1], 4), vec(keys[2], 4))
    push = Motion(vec(keys[3], 6), vec(keys[4], 6))
    power = lambda a, b: jnp.sum(a.linear.dot(b.linear) + a.angular.dot(b.angular), axis=0)
    on_bodies = power(pairs.scatter(push, arm), z)
    np.testing.assert_allclose(on_bodies, power(push, pairs.relative(z, arm)), rtol=1e-4, atol=1e-4)
