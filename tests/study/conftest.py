"""The helpers of these tests, importable here and in the processes that they start."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def driver_env(monkeypatch):
    """Environment of processes that import the fake learner, and the Saddle that this one has."""
    folders = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
