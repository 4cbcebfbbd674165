"""Studies of tasks with several constraints: one is looked at, and the notes say which."""

import json

import numpy as np
import polars as pl
import pytest

from saddle.analysis import Options, analyze
from saddle.analysis.constraints import notes
from saddle.analysis.simulate import BEND, LINE, simulate


def made():
    """Two tasks; the first has a second constraint, whose cost is three times that of the first."""
    runs, metrics = simulate([BEND, LINE], np.random.default_rng(0), seeds=3, epochs=20)
    several = runs["task"] == runs["task"][0]
    own = pl.col("run").is_in(runs.filter(several)["run"].to_list())
    metrics = metrics.with_columns(cost_1=pl.when(own).then(3 * pl.col("cost")))
    return runs, metrics


def test_only_tasks_that_have_several_say_so():
    first, second = analyze(*made(), Options(replicates=100)).tasks
    assert first.notes[0] == (
        "Looked at the first of 2 constraints: constraint 0. Costs, limits, lambda*, violations "
        "and what is best are "
        "those of this one; not looked at: constraint 1 (--constraint 1)."
    )
    assert not any("constraint" in note for note in second.notes)


def test_a_sweep_without_limits_has_a_second_constraint_too():
    runs, metrics = made()
    swept = runs.filter(stage="sweep")
    names = json.dumps({"constraints": ["near", "far"]})
    (found,) = analyze(
        swept.with_columns(params=pl.lit(names)), metrics, Options(replicates=100, constraint=1)
    ).tasks
    plain = analyze(swept, metrics, Options(replicates=100)).tasks[0]
    assert found.notes[0].startswith("Looked at the second of 2 constraints: far.")
    ours, theirs = found.groups[0].cost.value, plain.groups[0].cost.value
    assert theirs is not None and ours == pytest.approx(3 * theirs, rel=1e-5)


def test_many_constraints_are_counted():
    (note,) = notes(6, [], 5)
    assert note.startswith("Looked at the 6th of 6 constraints: constraint 5.")
    assert "constraint 4 (--constraint 4)" in note
    assert notes(1, ["near"], 0) == []
