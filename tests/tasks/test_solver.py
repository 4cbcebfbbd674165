"""The contact solver's line search, where the answer is known."""

import jax.numpy as jnp
import numpy as np
import pytest

from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import solver
from saddle.tasks.point.physics.solver import Problem, Unknown


@pytest.mark.parametrize("noise", [0.0, 1e-9, -1e-9])
def test_a_newton_step_that_is_exact_is_taken_whole(monkeypatch, noise):
    """At its end the slope is 0, or what rounding in many contacts makes of that: too little to move the step."""
    planar = lambda *numbers: Planar(*(jnp.full(1, number, jnp.float32) for number in numbers))
    problem = Problem(jnp.zeros(1), planar(3, -1, 0), *[None] * 5, robot_slots=0, pairs=None)  # type: ignore[arg-type]
    z = Unknown(planar(1, 1, 0), None)  # type: ignore[arg-type]
    strains = solver._strains(problem, z)
    direction = Unknown(planar(2, -2, 0), None)  # type: ignore[arg-type]
    of_contacts = []

    def slope(p, s, ds, step):
        of_contacts.append(step)
        return jnp.stack([jnp.full(1, noise), jnp.zeros(1)])

    monkeypatch.setattr(solver, "_slope", slope)
    found = solver._line_search(problem, z, direction, strains).robot
    assert of_contacts, "the noise was not part of it"
    np.testing.assert_array_equal(jnp.stack(found)[:, 0], [3, -1, 0])
