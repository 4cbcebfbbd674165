"""What is made twice from one study is the same to the last bit, in whatever order Polars' threads
finish. Each is made several times, since a sum in another order is often the same.
"""

import json

import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot
from report.made import store

from saddle import plot
from saddle.analysis import Options
from saddle.analysis.dials import spread_out
from saddle.analysis.simulate import BEND, simulate
from saddle.report.curves import training_curves
from saddle.report.page.data import study_data
from saddle.study.store import open_study

TIMES = 12


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    runs, metrics = simulate([BEND], np.random.default_rng(0), seeds=5, epochs=40)
    return open_study(store(tmp_path_factory.mktemp("made") / "bend", runs, metrics))


def different(make, times=TIMES) -> int:
    """How many different values it made."""
    return len({make() for _ in range(times)})


def bits(*arrays) -> bytes:
    return b"".join(np.ascontiguousarray(array, float).tobytes() for array in arrays)


def test_training_curves(study):
    def make():
        curves = training_curves(study.runs, study.scan_metrics())
        return repr(curves.to_dicts())

    assert different(make) == 1


def test_a_drawing_of_training(study):
    def make():
        axes = plot.training(study, "cost")
        means = [line.get_ydata() for line in axes.lines]
        bands = [band.get_paths()[0].vertices for band in axes.collections]
        pyplot.close("all")
        return bits(*means, *bands)

    pyplot.switch_backend("Agg")
    assert different(make) == 1


def test_the_data_of_a_page(study):
    def make():
        return json.dumps(study_data(study, Options(replicates=100)))

    assert different(make, times=3) == 1


def test_the_order_of_a_dials_curves():
    runs, metrics = simulate([BEND], np.random.default_rng(0), seeds=4, epochs=30, compare=False)
    strata: dict = {"dial_episodes": 5, "dial_episodes_1": 5}
    for stratum, lam in (("", 0.5), ("_1", 2.0)):
        strata |= {
            f"dial_lambda{stratum}": pl.lit(lam),
            f"dial_return{stratum}": "return",
            f"dial_cost{stratum}": "cost",
        }
    dials = metrics.lazy().with_columns(**strata)

    def make():
        _, curves = spread_out(runs, dials)
        return repr(curves.select("run", "epoch").collect().rows())

    assert different(make) == 1
