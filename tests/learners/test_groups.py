"""Groups that take a pass together: enough places, and no cheaper way."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.learners.ppo import groups


def cost(size: int, members: int) -> float:
    return (size + groups.START) * (1.0 if size == members else groups.GATHERING)


@given(st.integers(1, 600))
def test_everyone_has_a_place_and_few_places_are_empty(members):
    sizes = groups.sizes("gpu", members)
    plan = groups.plan(sizes, members)
    active = np.arange(members + 1)
    places = plan @ np.array(sizes)
    assert (places >= active).all()
    assert places[0] == 0
    assert (places - active < max(sizes)).all(), "no group is empty"
    assert plan[members].tolist() == [-(-members // sizes[0]), *[0] * (len(sizes) - 1)]


@given(st.sets(st.integers(1, 9), min_size=1, max_size=3), st.integers(1, 12))
def test_no_other_groups_are_cheaper(sizes, members):
    sizes = tuple(sorted(sizes, reverse=True))
    plan = groups.plan(sizes, members)
    costs = np.array([cost(size, members) for size in sizes])
    several = [range(members // size + 2) for size in sizes]
    for active in range(members + 1):
        others = [c for c in itertools.product(*several) if np.dot(c, sizes) >= active]
        cheapest = min(np.dot(c, costs) for c in others)
        assert plan[active] @ costs == pytest.approx(cheapest)


def test_a_gpu_takes_all_members_in_place_and_the_last_ones_in_small_groups():
    sizes = groups.sizes("gpu", 250)
    plan = groups.plan(sizes, 250)
    assert sizes == (250, 125, 50, 20)
    assert plan[250].tolist() == [1, 0, 0, 0]
    assert plan[1].tolist() == [0, 0, 0, 1]
    assert plan[130].tolist() == [0, 1, 0, 1]


def test_a_population_that_does_not_fit_is_cut_evenly():
    assert groups.sizes("gpu", 310)[0] == 155
    assert groups.sizes("gpu", 20) == (20,)
    assert groups.sizes("cpu", 20) == (1,)
