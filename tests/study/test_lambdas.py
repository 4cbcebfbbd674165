"""Which multipliers come next: beyond the ends where a limit lies there, else where most is left
out.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saddle.study.lambdas import LEAST, MOST, PILOT, Outcomes, next_lambdas


def outcomes(cost, ret, lambdas=PILOT):
    """Those of a task whose cost and return at lambda are known."""
    at = np.array(lambdas)
    return Outcomes(at, cost(at), ret(at))


def hyperbola(at):
    return 40 / (1 + at)


def cliff(at):
    """80 below lambda 2, 5 above."""
    return np.where(at < 2, 80.0, 5.0) - 0.01 * at


numbers = st.floats(-1e3, 1e3)
sweeps = st.lists(st.tuples(st.floats(1e-2, 1e2), numbers, numbers), min_size=2, max_size=12)


@given(sweeps, st.lists(st.floats(0, 1e3), max_size=3), st.integers(0, 6))
def test_what_comes_next_is_new_and_within_reach(rows, limits, count):
    ordered = sorted({f"{row[0]:.3g}": row for row in rows}.values())
    lambdas, costs, returns = (np.array(column) for column in zip(*ordered, strict=True))
    if len(lambdas) < 2:
        return
    found = next_lambdas(Outcomes(lambdas, costs, returns), limits, count)
    assert len(found) <= count
    assert list(found) == sorted(set(found))
    assert all(LEAST <= value <= MOST for value in found)
    assert all(np.min(np.abs(np.log(value / lambdas))) > 1e-3 for value in found)


@given(st.floats(1.5, 35), st.integers(3, 7))
def test_a_limit_is_closed_in(limit, count):
    """Each multiplier more brings the two around lambda* closer, until little is left between."""
    found = outcomes(hyperbola, lambda at: -at)
    star = 40 / limit - 1
    for _ in range(2):
        lambdas = np.sort([*found.lambdas, *next_lambdas(found, (limit,), count)])
        found = outcomes(hyperbola, lambda at: -at, lambdas)
    if not lambdas[0] < star < lambdas[-1]:
        assert limit > hyperbola(0.1) or limit < hyperbola(10)
        return
    above = lambdas[lambdas > star].min()
    below = lambdas[lambdas <= star].max()
    assert above / below < 10 ** (1 / 2)


def test_a_cliff_gets_the_multipliers():
    found = outcomes(cliff, lambda at: -np.log(at))
    for _ in range(2):
        lambdas = np.sort([*found.lambdas, *next_lambdas(found, (), 3)])
        found = outcomes(cliff, lambda at: -np.log(at), lambdas)
    assert np.sum((lambdas > 1) & (lambdas < 4)) >= 2


@pytest.mark.parametrize(
    ("limits", "beyond"),
    [((1.0,), 10.0), ((39.0,), None), ((10.0,), None), ((1.0, 10.0), 10.0)],
)
def test_the_sweep_gets_wider_where_a_limit_lies_beyond(limits, beyond):
    """Costs of 36.4 to 3.6: limit 1 needs more than 10; 39 is nearly free, and costs hardly rise
    below 0.1.
    """
    found = next_lambdas(outcomes(hyperbola, lambda at: -at), limits, 3)
    assert (max(found) > 10) == (beyond is not None)


def test_a_sweep_whose_costs_fall_no_more_is_not_made_wider():
    short = outcomes(cliff, lambda at: -np.log(at))
    assert max(next_lambdas(short, (1.0,), 3)) > 10
    long = outcomes(cliff, lambda at: -np.log(at), (0.1, 1.0, 10.0, 31.6))
    assert max(next_lambdas(long, (1.0,), 3)) < 31.6


def test_nothing_comes_next_where_all_outcomes_are_alike():
    flat = outcomes(np.zeros_like, np.zeros_like)
    assert next_lambdas(flat, (), 3) == ()
