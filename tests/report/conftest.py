"""A study of two tasks and two algorithms, analysed once."""

import numpy as np
import polars as pl
import pytest

from saddle.analysis import Options, analyze
from saddle.analysis.simulate import BEND, LINE, simulate
from saddle.report.curves import training_curves


@pytest.fixture(scope="session")
def frames():
    """Runs and metrics."""
    runs, metrics = simulate([BEND, LINE], np.random.default_rng(0), seeds=4, epochs=40)
    more, curves = simulate([BEND], np.random.default_rng(1), seeds=3, epochs=40, compare=False)
    other = pl.col("run").str.replace("r", "sac")
    more = more.with_columns(other, algorithm=pl.lit("sac"))
    return pl.concat([runs, more]), pl.concat([metrics, curves.with_columns(other)])


@pytest.fixture(scope="session")
def findings(frames):
    """What they show."""
    runs, metrics = frames
    return analyze(runs, metrics, Options(replicates=150))


@pytest.fixture(scope="session")
def curves(frames):
    """Their training curves."""
    return training_curves(*frames)
