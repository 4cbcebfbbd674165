"""The helpers of these tests, importable here and in the processes that they start."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def driver_env(monkeypatch):
    """Environment of processes that import the fake learner."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
