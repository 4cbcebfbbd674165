"""The contact solver: its line search where the answer is known, and its minimum, which no start
changes.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.tasks.point import body
from saddle.tasks.point.body import Planar
from saddle.tasks.point.physics import contact, line_search, rigid, scenes, solver
from saddle.tasks.point.physics.boxes import Points
from saddle.tasks.point.physics.problem import Groups, Problem, Unknown, strains
from saddle.tasks.point.physics.rigid import Motion
from saddle.tasks.point.physics.vec import Vec, quaternion_axes


def _still(worlds: int) -> Motion:
    """Of no bodies."""
    zero = jnp.zeros((0, worlds))
    return Motion(Vec(zero, zero, zero), Vec(zero, zero, zero))


@pytest.mark.parametrize("noise", [0.0, 1e-9, -1e-9])
@pytest.mark.parametrize("turned", [0.0, 1.0])
def test_a_newton_step_that_is_exact_is_taken_whole(monkeypatch, noise, turned):
    """At its end the slope is 0, or what rounding in many contacts makes of that: too little to
    move the step.
    """
    planar = lambda *numbers: Planar(*(jnp.full(1, number, jnp.float32) for number in numbers))
    none = _still(1)
    mass = [[none.linear.x] * (i + 1) for i in range(6)]
    problem = Problem(
        jnp.zeros(1), planar(3, -1, 0), mass, none, none.linear, Groups(), jnp.zeros((), bool)
    )
    z, direction = Unknown(planar(1, 1, 0), none), Unknown(planar(2, -2, 0), none)
    of_contacts = []

    def slope(p, s, ds, step):
        of_contacts.append(step)
        return jnp.stack([jnp.full(1, noise), jnp.zeros(1), jnp.full(1, turned)])

    monkeypatch.setattr(line_search, "_slope", slope)
    found, exact = line_search.search(problem, z, direction, Groups())
    assert of_contacts, "the noise was not part of it"
    np.testing.assert_array_equal(jnp.stack(found.robot)[:, 0], [3, -1, 0])
    assert bool(exact[0]) == (turned == 0)


def _box_on_the_floor(depths: jax.Array, pull: jax.Array) -> Problem:
    """A push box whose four corners are so deep [4] in the floor, a robot in its side, both pulled
    at [3]. Float64.
    """
    column, robot = (
        lambda x: jnp.asarray(x, jnp.float64).reshape(-1, 1, 1),
        lambda *x: Planar(*(v[None] for v in x)),
    )
    kind, corners = scenes.PUSH_BOX, np.array([(-0.2, -0.2), (-0.2, 0.2), (0.2, -0.2), (0.2, 0.2)])
    vec = lambda *x: Vec(*(jnp.asarray(v, jnp.float64).reshape(1, 1) for v in x))
    centre, distance = vec(0.35, 0, 0.2), -column(depths)
    points = Vec(column(0.35 + corners[:, 0]), column(corners[:, 1]), 0.5 * distance)
    up, ahead = Vec(*column([0, 0, 1])[:, None]), Vec(*column([1, 0, 0])[:, None])
    floor = contact.on_floor(
        Points(distance < 0, distance, points, up), centre, kind.inverse_weight
    )
    gap = column([-1e-4])
    side = Points(gap < 0, gap, Vec(*column([0.1, 0.05, 0.1])[:, None]), ahead)
    bodies = contact.contacts(side, centre, kind.inverse_weight + 1.0, contact.TWIST, contact.ROLL)
    one, zero = vec(1, 0, 0).x, vec(0, 0, 0).x
    mass = rigid.mass_matrix(kind, quaternion_axes(one, zero, zero, zero))
    falling = Motion(vec(pull[0], pull[1], -9.81), vec(0, 0, pull[2]))
    origin, still = centre - vec(0, 0, body.HEIGHT), jnp.zeros(1)
    contacts = Groups(robot=bodies, floor=floor)
    return Problem(
        still,
        robot(*(10 * pull)),
        mass,
        contact.times(mass, falling),
        origin,
        contacts,
        jnp.zeros((), bool),
    )


@jax.jit
def _solved(depths: jax.Array, pull: jax.Array, start: jax.Array) -> tuple[Unknown, Unknown]:
    """The minimum, and the gradient there. start [9]."""
    parts = [v.reshape(1, 1) for v in start]
    problem = _box_on_the_floor(depths, pull)
    first = Unknown(Planar(*(v[0] for v in parts[:3])), Motion(Vec(*parts[3:6]), Vec(*parts[6:])))
    found = solver.solve(problem, first)
    return found, solver._newton(problem, found, strains(problem, found))[0]


def _numbers(count: int) -> st.SearchStrategy:
    return st.lists(st.floats(-1, 1, width=32), min_size=count, max_size=count).map(np.array)


@given(_numbers(4), _numbers(3), _numbers(9))
def test_the_minimum_is_the_same_from_any_start(depths, pull, start):
    """Corners in and out of the floor, a robot that pushes, pulls or turns the box, starts near and
    far.
    """
    with jax.enable_x64(True):
        (near, gradient), (far, _) = (
            _solved(1e-5 * depths, pull, s) for s in (start, 30 * start + 1)
        )
        flat = lambda tree: np.concatenate([np.ravel(v) for v in jax.tree.leaves(tree)])
        np.testing.assert_allclose(flat(near), flat(far), rtol=1e-7, atol=1e-6)
        np.testing.assert_allclose(flat(gradient), 0, atol=1e-9)
