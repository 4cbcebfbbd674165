"""How rules kept their limits while they trained, against the definitions written out in NumPy."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saddle.analysis import Options, analyze
from saddle.analysis.over_seeds import median
from saddle.analysis.over_training import BAND, over_training
from saddle.analysis.simulate import BEND, row_of, simulate
from saddle.study.columns import RUNS

LIMIT = 10.0


def told(costs, window=None, limit=LIMIT, **more):
    """What is told of one run with these costs of epochs, and means of the window."""
    columns = {"run": ["r"] * len(costs), "epoch": range(len(costs)), "cost": costs}
    if window is not None:
        columns["window_cost"] = window
    runs = pl.DataFrame({"run": ["r"], "limit": [limit]})
    found = over_training(runs, pl.LazyFrame(columns | more, strict=False), 0, 0.5)
    return found.row(0, named=True)


def test_a_run_by_hand():
    costs = [30.0, 12.0, 8.0, float("nan"), 14.0, 11.0, 9.0, 10.0]
    window = [30.0, 20.0, 9.0, 9.0, 13.0, 12.0, 10.0, 9.5]
    logged = {
        "episodes": [4, 4, 4, 0, 4, 4, 4, 4],
        "episodes_above": [4, 3, 1, 0, 3, 2, 1, 2],
        "window_cvar": [50.0, 40.0, 20.0, 20.0, 18.0, 16.0, 15.0, 15.0],
    }
    found = told(costs, window, **logged)
    assert found["epochs_above"] == pytest.approx(4 / 7)  # 30, 12, 14 and 11, of seven with a cost
    assert found["excess"] == pytest.approx(20 + 2 + 4 + 1)
    assert found["shares_above"] == pytest.approx(16 / 28)
    assert found["settled_after"] == 5  # 13 is the last that is not within 8 and 12
    assert found["overshoot"] == pytest.approx(3)  # 13, after 9
    assert found["tail_cost"] == pytest.approx((18 + 16 + 15 + 15) / 4)
    line = np.polyval(np.polyfit(range(4), window[4:], 1), range(4))
    assert found["oscillation"] == pytest.approx(np.sqrt(((window[4:] - line) ** 2).sum() / 3))


def test_what_the_metrics_do_not_tell_is_null():
    found = told([30.0, 20.0, 15.0])
    assert found["shares_above"] is None and found["tail_cost"] is None
    assert found["overshoot"] is None  # never within
    assert found["settled_after"] is None
    assert told([float("nan")] * 3)["epochs_above"] is None
    assert told([0.0, 0.0], limit=0.0)["settled_after"] is None  # no share of 0 makes a band


def test_a_run_that_settled_at_once_and_one_that_left_again():
    assert told([10.0, 11.0, 9.0])["settled_after"] == 0
    assert told([10.0, 11.0, 30.0])["settled_after"] is None


CURVES = st.lists(st.floats(0, 40), min_size=4, max_size=12)


@settings(max_examples=20)
@given(CURVES)
def test_the_definitions_in_numpy(curve):
    costs = np.array(curve)
    found = told(costs)
    assert found["epochs_above"] == pytest.approx((costs > LIMIT).mean())
    assert found["excess"] == pytest.approx(np.maximum(costs - LIMIT, 0).sum())
    outside = np.flatnonzero(np.abs(costs - LIMIT) > BAND * LIMIT)
    settled = outside[-1] + 1 if len(outside) else 0
    assert found["settled_after"] == (settled if settled < len(costs) else None)
    within = np.flatnonzero(costs <= LIMIT)
    if len(within):
        assert found["overshoot"] == pytest.approx(max((costs[within[0] :] - LIMIT).max(), 0))
    else:
        assert found["overshoot"] is None
    late = np.arange(len(costs))[2 * np.arange(len(costs)) >= len(costs)]
    slope = np.polyfit(late, costs[late], 1)
    rest = costs[late] - np.polyval(slope, late)
    wanted = np.sqrt((rest**2).sum() / (len(late) - 1))
    assert found["oscillation"] == pytest.approx(wanted, abs=1e-5)


def test_the_median_with_its_order_statistics():
    ten = median(np.arange(10.0), 0.95)
    assert (ten.value, ten.lo, ten.hi) == (4.5, 1.0, 8.0)  # the second and the ninth: 97.9 %
    assert median(np.arange(5.0), 0.95).lo is None
    late = median(np.array([3.0, 4, 5, 6, np.inf, np.inf, np.inf]), 0.95)
    assert (late.value, late.lo, late.hi) == (6.0, 3.0, None)
    assert median(np.array([3.0, np.inf, np.inf]), 0.95).value is None


def test_a_study_says_it_of_every_cell_and_says_what_it_lacks():
    runs, metrics = simulate([BEND], np.random.default_rng(0), seeds=3, epochs=20)
    (task,) = analyze(runs, metrics, Options(replicates=100)).tasks
    assert task.comparison
    for cell in task.comparison:
        known = cell.over_training
        assert known is not None and known.epochs_above.value is not None
        assert known.episodes_above.value is None and known.tail_cost.value is None
    assert any("stored without episodes_above and window_cvar" in note for note in task.notes)
    more = metrics.with_columns(
        episodes=pl.lit(5, pl.Int32), episodes_above=pl.lit(1, pl.Int32), window_cvar=pl.lit(7.0)
    )
    (task,) = analyze(runs, more, Options(replicates=100)).tasks
    known = task.comparison[0].over_training
    assert known is not None
    assert known.episodes_above.value == pytest.approx(0.2)
    assert known.tail_cost.value == pytest.approx(7)
    assert not any("stored without" in note for note in task.notes)


def test_of_several_constraints_each_has_its_own():
    rows = []
    for seed in range(2):
        rows.append(row_of("Two-v0", "compare", "ga", None, 10.0, seed) | {"run": f"r{seed}"})
    runs = pl.DataFrame(rows, schema=RUNS).with_columns(limit_1=pl.lit(5.0), steps=pl.lit(40))
    epochs = pl.DataFrame({"epoch": [0, 1], "env_steps": [20, 40]})
    costs = {"return": 1.0, "cost": 20.0, "cost_1": 4.0, "window_cost": 20.0, "window_cost_1": 4.0}
    metrics = runs.select("run").join(epochs, how="cross")
    metrics = metrics.with_columns(pl.lit(value).alias(name) for name, value in costs.items())
    first, second = analyze(runs, metrics, Options(replicates=100)).tasks
    shares = []
    for part in (first, second):
        known = part.comparison[0].over_training
        assert known is not None
        shares.append(known.epochs_above.value)
    assert shares == [1.0, 0.0]
