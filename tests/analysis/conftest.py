"""A small study that many tests read."""

import numpy as np
import pytest

from saddle.analysis import Options, analyze
from saddle.analysis.simulate import BEND, LINE, STEPS, simulate


@pytest.fixture(scope="session")
def study():
    """Runs and metrics of three simulated tasks."""
    return simulate([BEND, STEPS, LINE], np.random.default_rng(0), seeds=10)


@pytest.fixture(scope="session")
def findings(study):
    """Their analysis, with few replicates."""
    runs, metrics = study
    return analyze(runs, metrics, Options(replicates=300))
