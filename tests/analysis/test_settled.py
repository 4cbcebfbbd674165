"""A note where training was still under way, and none where it had come to rest."""

import numpy as np
import polars as pl
import pytest

from saddle.analysis import Options, analyze, settled
from saddle.analysis.simulate import BEND, simulate


def notes(slope_return=0.0, slope_cost=0.0, noise=0.0):
    """Of a simulated sweep whose curves also move by so much an epoch."""
    draw = np.random.default_rng(0)
    runs, metrics = simulate([BEND], draw, seeds=3, epochs=60)
    metrics = metrics.with_columns(
        pl.col("return") + slope_return * pl.col("epoch") + noise * draw.normal(size=len(metrics)),
        pl.col("cost") + slope_cost * pl.col("epoch"),
    )
    (task,) = analyze(runs, metrics, Options(replicates=100)).tasks
    return [note for note in task.notes if "under way" in note]


def test_curves_at_rest_have_no_note():
    assert notes() == []
    assert notes(noise=1.0) == []


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        ({"slope_return": 0.5}, "mean return rose by"),
        ({"slope_return": -0.5}, "mean return fell by"),
        ({"slope_cost": -0.5}, "mean cost fell by"),
        ({"slope_return": 0.5, "slope_cost": 0.5}, "and the mean cost rose by"),
    ],
)
def test_what_still_moves_is_named(moves, words):
    (note,) = notes(**moves)
    assert words in note


def test_the_change_is_that_of_the_last_tenth():
    """Half a unit an epoch, over six epochs against the six before, is three."""
    (note,) = notes(slope_return=0.5)
    assert float(note.partition("rose by ")[2].partition(",")[0]) == pytest.approx(3, abs=0.5)


def test_strata_of_one_policy_are_one_witness():
    """Three policies of nine strata: what their strata share is noise of three, not of 27."""
    shared = np.repeat([1.0, 2.0, -0.5], 9)
    swept = pl.DataFrame(
        {
            "trained": np.repeat(["a", "b", "c"], 9),
            "lambda": np.tile(np.geomspace(0.1, 10, 9), 3),
            "return": np.tile(np.linspace(30, 1, 9), 3),
            "cost": np.tile(np.linspace(90, 1, 9), 3),
            "return_gain": shared,
            "cost_gain": np.zeros(27),
        }
    )
    assert settled.still_moving(swept) == []
    (note,) = settled.still_moving(swept.with_columns(trained=pl.col("lambda").cast(pl.String)))
    assert "mean return rose" in note
